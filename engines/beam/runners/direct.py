"""beam-direct: a stateful DoFn under TestStream on the bundle-based DirectRunner, which is what ``DirectRunner`` picks
for streaming pipelines (Beam 2.77.0).

Every ``add_elements`` is one bundle, and the pipeline drains before the next event of the stream, so an advance of the
watermark settles by itself. A tick of processing time before each step, and ``PairWithTiming``, tell in which step an
output came out and prove that the watermark stood where the schedule wants it.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from conformance.engines.beam.pipelines import framework as beam
from conformance.engines.beam.pipelines.collecting import collected, emission
from conformance.engines.beam.plans import around, plans
from conformance.engines.beam.refused import refusals
from conformance.engines.beam.runners import beside, environment
from conformance.engines.failing import SENTINEL, untouched
from conformance.engines.planned import twins
from conformance.engines.typed_keys import types_in_use
from conformance.model.engine import Capabilities, NotDriven
from conformance.model.feature import NATIVE, ON_A_CHECKPOINT, Feature, emulated, unsupported
from conformance.model.lateness import Lateness, LatenessProfile
from conformance.model.program import Program
from conformance.model.runs import Pack, PackRun
from conformance.model.schedule import Advance, Deliver, FailOnce, NoData, Wait
from conformance.model.trace import DRAIN, Emission

if TYPE_CHECKING:
    from conformance.engines.beam.pipelines.pipeline import Branch
    from conformance.engines.beam.refused.refusals import Build

STATE = {
    Feature.VALUE: NATIVE,
    Feature.UNTYPED: NATIVE,
    Feature.NULL: emulated("a value in a tuple of one, since read() gives None for an empty cell, too"),
    Feature.BAG: NATIVE,
    Feature.SET: NATIVE,
    Feature.COMBINING: NATIVE,
    Feature.EMISSIONS: NATIVE,
    Feature.OUTPUT_TIME: NATIVE,
    Feature.TYPED: NATIVE,
    Feature.CONTAINERS: NATIVE,
    Feature.MISFITS: unsupported("a coder fails when a bundle is committed, and ends the pipeline (Beam 2.77.0)"),
    Feature.TYPED_KEYS: NATIVE,
    Feature.NULL_KEYS: NATIVE,
    Feature.MAP: emulated("map in a value cell"),
    Feature.EVENT_TIMERS: NATIVE,
    Feature.FIXED_WINDOWS: NATIVE,
    Feature.INSPECTION: unsupported("nothing outside a Beam pipeline reads its state (Beam 2.77.0)"),
    Feature.ROW_COUNT: unsupported("no metric of a Beam pipeline counts what its state holds (Beam 2.77.0)"),
    Feature.INITIAL_STATE: unsupported("a Beam pipeline starts without state (Beam 2.77.0)"),
    Feature.TTL: unsupported("Beam 2.77.0 has no time to live of state but its window's end"),
    Feature.PROCESSING_TIME: unsupported("no TestStream here, or none whose clock the adapter drives (Beam 2.77.0)"),
    Feature.PROCESSING_TIMERS: emulated("the adapter tells the DoFn TestStream's time, which it cannot read"),
    **dict.fromkeys(
        (
            Feature.RESTART,
            Feature.RESUME,
            Feature.SINK_FAILURE,
            Feature.CRASH,
            *ON_A_CHECKPOINT,
        ),
        unsupported("Beam Python 2.77.0: its local runners keep no checkpoint that a pipeline could resume from"),
    ),
    Feature.CURRENT_TIME: unsupported(
        "Beam 2.77.0 has no expression for the current time, only the clocks of its workers"
    ),
    Feature.COALESCED: unsupported("Beam 2.77.0 fires what is due as soon as the watermark moves"),
    Feature.NO_DATA: unsupported(
        "no TestStream here, or one whose steps the adapter knows by their heartbeats (Beam 2.77.0)"
    ),
    Feature.PARTITIONS: unsupported("Beam Python 2.77.0: its local runners keep state in one place"),
    Feature.LATE_COUNTER: unsupported("Beam Python 2.77.0 has no metric of elements dropped as late"),
}

CAPABILITIES = Capabilities(
    features={**STATE, Feature.SEVERAL_BUNDLES: NATIVE, Feature.WATERMARK: NATIVE, Feature.RETRY: NATIVE}
    | {Feature.PROCESSING_TIME: NATIVE, Feature.MISFITS: NATIVE, Feature.NO_DATA: NATIVE},
    lateness=LatenessProfile(Lateness.NEVER, Lateness.NEVER),
    largest_pack=500,
    plans=twins(plans.PLANS),
    plans_together=4,
    quick=True,
    common=True,
)

HEARTBEAT = ("", "", "")
"""The key of the element that follows every step with data, to be timed; it reaches no program."""

TICK = 1
"""Milliseconds of processing time before each step, which tell the steps apart."""


def moments(pack: Pack) -> dict[int, int]:
    """Step -> the processing time (ms) at which it is made."""
    lasts = (TICK + (step.ms if isinstance(step, Wait) else 0) for step in around.driven(pack))
    return dict(zip((step.id for step in around.driven(pack)), itertools.accumulate(lasts), strict=True))


class BeamDirect(environment.OfBeam):
    id = "beam-direct"
    title = "Beam DirectRunner (Python, bundle-based)"
    runner = "BundleBasedDirectRunner"
    capabilities = CAPABILITIES
    plans = plans.PLANS
    compares = tuple(refusals.COMPARED)
    apart = False
    """Whether each program has a branch of the pipeline for itself, in which nothing is ours: a failure of the pipeline
    is an answer then."""

    def evidence(self) -> dict[Feature, str]:
        from conformance.engines.beam.runners import answers

        return {
            **answers.of_local_runners(answers.bundle_based()),
            Feature.LATE_COUNTER: answers.counters_after_a_late_element(answers.bundle_based()),
            Feature.COALESCED: answers.an_advance_before_a_bundle(answers.bundle_based()),
        }

    def finish(self, build: Build) -> None:
        from conformance.engines.beam.runners import answers

        pipeline = beam.Pipeline(**answers.bundle_based())
        build(pipeline)
        pipeline.run(test_runner_api=False).wait_until_finish()

    def run(self, pack: Pack, programs: Mapping[str, Program]) -> PackRun:
        from apache_beam.options.pipeline_options import PipelineOptions
        from apache_beam.runners.direct.direct_runner import BundleBasedDirectRunner
        from apache_beam.testing.test_stream import PairWithTiming

        from conformance.engines.beam.pipelines import dofn, sink
        from conformance.engines.beam.pipelines import pipeline as shared

        plan = around.of(pack, self.plans)
        dofn.attempts.failed.clear()
        dofn.moments.clear()
        dofn.moments.update(moments(pack))
        mine = shared.programs_of(pack, programs)
        seen = sink.Collected()
        with sink.collecting(seen):
            # Without --streaming, Beam 2.77.0 runs another, batch GroupByKey under TestStream.
            options = PipelineOptions(["--streaming", *plan.options])
            pipeline = beam.Pipeline(runner=BundleBasedDirectRunner(), options=options)
            elements = pipeline | "schedule" >> _stream(pack) | shared.typed()
            elements | "time inputs" >> PairWithTiming() | "see inputs" >> beam.ParDo(sink.Inputs())
            for branch in shared.branches(plan.before(elements), mine, types_in_use(pack, programs), self.apart):
                timed = plan.behind(self.apply(branch)) | f"time {branch.name}" >> PairWithTiming()
                timed | f"see {branch.name}" >> beam.ParDo(sink.Outputs())
            try:
                with beside.another(self.finish, plan.beside):
                    pipeline.run(test_runner_api=False).wait_until_finish()
            except Exception as error:
                return around.failed(pack, plan, error, self.apart)
        steps = _prove(pack, seen.of(sink.Kind.INPUT))
        found = _collect(pack, programs, seen.of(sink.Kind.OUTPUT), steps)
        return replace(found, untouched=untouched(pack, dofn.attempts.failed.values()))

    def apply(self, branch: Branch) -> Any:
        """What comes out of a branch."""
        return branch.run_programs()


def _stream(pack: Pack) -> Any:
    """The TestStream of a pack: a tick, the step, and a heartbeat, for each step."""
    from apache_beam.coders import FastPrimitivesCoder
    from apache_beam.testing.test_stream import TestStream
    from apache_beam.transforms.window import TimestampedValue
    from apache_beam.utils.timestamp import Timestamp

    from conformance.engines.beam.pipelines.pipeline import element, sentinel

    stream = TestStream(coder=FastPrimitivesCoder())
    watermark, now, fails = 0, 0, False
    made = moments(pack)
    quiet = _without_heartbeat(pack)
    for step in around.driven(pack):
        stream.advance_processing_time((made[step.id] - now) / 1000)
        now = made[step.id]
        if isinstance(step, Advance):
            watermark = step.watermark
            stream.advance_watermark_to(Timestamp(micros=watermark * 1000))
        elif isinstance(step, FailOnce):
            fails = True
        elif isinstance(step, Deliver):
            rows = [element(case, event, step.id) for case, event in pack.bundle(step.id)]
            if fails:
                rows.append(sentinel(step.id, watermark))
            if rows:
                stream.add_elements(rows)
            fails = False
        elif isinstance(step, NoData):
            stream.add_elements([])
        if step.id not in quiet:
            stream.add_elements([TimestampedValue((HEARTBEAT, step.id), Timestamp(micros=watermark * 1000))])
    return stream


def _without_heartbeat(pack: Pack) -> set[int]:
    """The steps (ids) that no heartbeat follows: those without data, and an advance right before one."""
    return {
        step.id
        for step, after in itertools.zip_longest(pack.timeline, pack.timeline[1:])
        if isinstance(step, NoData) or (isinstance(step, Advance) and isinstance(after, NoData))
    }


def _moment(timing: Any) -> int:
    return round(float(timing.processing_time.micros) / 1000)


def _prove(pack: Pack, inputs: list[tuple[Any, Any]]) -> dict[int, int]:
    """Compare what went in, as the runner timed it, with the schedule; returns the moments of its steps.

    Raises:
        NotDriven: a step had another watermark or another number of elements, or was not reached in its turn.
    """
    steps = {moment: step for step, moment in moments(pack).items()}
    timed: dict[int, list[tuple[Any, int]]] = {moment: [] for moment in steps}
    for element, timing in inputs:
        moment = _moment(timing)
        if moment not in timed:
            raise NotDriven(f"an element came in at {moment} ms of processing time, which is no step's")
        timed[moment].append((element, timing.watermark.micros // 1000))
    watermark, quiet = None, _without_heartbeat(pack)
    for moment, timeline_step in zip(steps, around.driven(pack), strict=True):
        step = timeline_step.id
        watermark = timeline_step.watermark if isinstance(timeline_step, Advance) else watermark
        wanted = [(case.id, event.id) for case, event in pack.bundle(step)]
        events = [element for element, _ in timed[moment] if element[0] != HEARTBEAT and element[0][0] != SENTINEL]
        rows = [(element[0][1], element[1][1]) for element in events]
        beats = [element[1] for element, _ in timed[moment] if element[0] == HEARTBEAT]
        if rows != wanted:
            raise NotDriven(f"step {step} took in {len(rows)} elements, the schedule has {len(wanted)}")
        if beats != ([] if step in quiet else [step]):
            raise NotDriven(f"step {step} had the heartbeats {beats}")
        if marks := {mark for _, mark in timed[moment]} - {watermark}:
            raise NotDriven(f"step {step} ran at watermark {min(marks)}, not {watermark}")
    return steps


def _collect(
    pack: Pack, programs: Mapping[str, Program], outputs: list[tuple[Any, int]], steps: dict[int, int]
) -> PackRun:
    """Traces from the timed outputs. An output belongs to the step of its moment: that of the event that caused it, or
    a later one where the runner held it back.

    Raises:
        NotDriven: an output came before the step of its event.
    """
    last = max(steps)
    end = max(step.watermark for step in pack.timeline if isinstance(step, Advance))
    emissions: dict[str, list[Emission]] = {case.id: [] for case in pack.cases}
    for ((name, case, key, caused_in, output), timing), time in outputs:
        moment = _moment(timing)
        ended = moment == last and timing.watermark.micros // 1000 > end
        step = DRAIN if ended else steps[moment]
        if caused_in is not None and step != DRAIN and step < caused_in:
            raise NotDriven(f"an element of step {caused_in} gave its output in step {step}")
        emissions[case].append(emission(programs[name], key, output, step, time))
    return collected(pack, emissions)
