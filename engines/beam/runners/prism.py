"""beam-prism: a stateful DoFn under TestStream on Prism, the runner that ``DirectRunner`` tries first (Beam 2.77.0).

An element of the TestStream is a whole bundle, taken apart in the pipeline: Prism keeps the elements of one event of
the stream in no order. The stream waits until the pipeline is at rest before its next event, so an advance settles by
itself; a heartbeat after each step tells in which step something came out. A stateful DoFn with timers on both sides of
each watermark of the schedule shows where the watermark stood. What Prism makes of the bundles before a program is its
own: it hands out a key's elements in order of event time, and holds those that are later than a timer of the key.

Beside it stands a splittable DoFn that checkpoints itself once, as an unbounded source would. Without one, Prism keeps
elements from a stateful DoFn until the watermark moves on (docs/findings.md), and no bundle could be driven.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from packaging.version import Version

from conformance.engines.beam.pipelines import framework as beam
from conformance.engines.beam.pipelines.collecting import collected, emission
from conformance.engines.beam.plans import around, plans
from conformance.engines.beam.refused import refusals
from conformance.engines.beam.runners import beside, prism_binary, prism_server
from conformance.engines.beam.runners.direct import STATE
from conformance.engines.planned import twins
from conformance.model.engine import Capabilities, NotDriven
from conformance.model.feature import NATIVE, Feature, emulated, unsupported
from conformance.model.lateness import Lateness, LatenessProfile
from conformance.model.program import Program
from conformance.model.runs import Pack, PackRun
from conformance.model.schedule import Advance, Step
from conformance.model.trace import DRAIN, Emission

if TYPE_CHECKING:
    from conformance.engines.beam.pipelines.pipeline import Branch
    from conformance.engines.beam.pipelines.sink import Collected, Kind
    from conformance.engines.beam.refused.refusals import Build

CAPABILITIES = Capabilities(
    features={
        **STATE,
        Feature.SEVERAL_BUNDLES: emulated("beside a source that checkpoints itself"),
        Feature.WATERMARK: NATIVE,
        Feature.RETRY: unsupported("Prism ends the job at a bundle's first failure (Beam 2.77.0)"),
    },
    lateness=LatenessProfile(Lateness.NEVER, Lateness.NEVER),
    largest_pack=500,
    each=1,
    plans=twins(plans.OF_PRISM),
    plans_together=4,
)


class BeamPrism(prism_server.OnPrism):
    id = "beam-prism"
    title = "Beam PrismRunner (Python, TestStream)"
    runner = "PrismRunner"
    capabilities = CAPABILITIES
    asks: tuple[str, ...] = refusals.OF_PRISM
    driven_since = Version("2.77.0")
    """Each schedule of 2.75.0 and of 2.76.0 failed, as ``before_that`` says."""
    before_that = "hands elements to a stateful DoFn in a later step than that of their bundle"

    apart = False

    def check(self) -> None:
        super().check()
        if not self.lacks():
            prism_binary.check()

    def lacks(self) -> str:
        """That no schedule can be driven on the installed release."""
        beam = version("apache-beam")
        if Version(beam).release >= self.driven_since.release:
            return ""
        return (
            f"the Prism of Beam {beam} {self.before_that}, so no schedule can be driven: that takes Beam "
            f"{self.driven_since}"
        )

    def open(self, folder: Path) -> None:
        super().open(folder)
        if not self.lacks():
            self._server = prism_server.PrismServer(prism_binary.obtain())

    def evidence(self) -> dict[Feature, str]:
        from conformance.engines.beam.runners import answers

        assert self._server
        options = ["--streaming", *self._server.options()]
        return self._server.within(lambda: answers.of_prism(options))

    def run(self, pack: Pack, programs: Mapping[str, Program]) -> PackRun:
        from apache_beam.options.pipeline_options import PipelineOptions
        from apache_beam.runners.portability.prism_runner import PrismRunner

        from conformance.engines.beam.pipelines import pipeline as shared
        from conformance.engines.beam.pipelines import sink
        from conformance.engines.beam.runners import carried

        assert self._server
        seen, plan = sink.Collected(), around.of(pack, plans.OF_PRISM)
        with sink.collecting(seen):
            options = PipelineOptions(["--streaming", *self._server.options(), *plan.options])
            pipeline = beam.Pipeline(runner=PrismRunner(), options=options)
            carried.build(pipeline, pack, shared.programs_of(pack, programs), self.apply, plan, self.apart)
            try:
                with beside.another(self.finish, plan.beside):
                    self._server.within(lambda: pipeline.run().wait_until_finish())
            except Exception as error:
                return around.failed(pack, plan, error, self.apart)
        found = _proved(pack, programs, seen)
        self.prove_handed(pack, seen)
        return found

    def prove_handed(self, pack: Pack, seen: Collected) -> None:
        """Raises NotDriven where an element did not reach its program in its step."""
        _prove_handed(pack, seen)

    def finish(self, build: Build) -> None:
        from apache_beam.options.pipeline_options import PipelineOptions
        from apache_beam.runners.portability.prism_runner import PrismRunner

        assert self._server
        pipeline = beam.Pipeline(runner=PrismRunner(), options=PipelineOptions(self._server.options()))
        build(pipeline)
        self._server.within(lambda: pipeline.run().wait_until_finish())

    def apply(self, branch: Branch) -> Any:
        """What comes out of a branch."""
        return branch.run_programs()


def _proved(pack: Pack, programs: Mapping[str, Program], seen: Collected) -> PackRun:
    """The traces, from what was seen between the heartbeats.

    Raises:
        NotDriven: a step had other elements, another watermark, or no heartbeat in its turn.
    """
    from conformance.engines.beam.pipelines.sink import Kind

    if (beats := seen.of(Kind.HEARTBEAT)) != [step.id for step in around.driven(pack)]:
        raise NotDriven(f"the schedule has {len(around.driven(pack))} steps, the heartbeats were {beats}")
    emissions: dict[str, list[Emission]] = {case.id: [] for case in pack.cases}
    before = watermark = -1
    for step, kinds in zip([*around.driven(pack), None], _between_heartbeats(seen), strict=True):
        if step:
            before, watermark = watermark, step.watermark if isinstance(step, Advance) else watermark
            _prove(pack, step, before, watermark, kinds)
        elif kinds[Kind.INPUT]:
            raise NotDriven(f"{len(kinds[Kind.INPUT])} elements came in after the last step")
        number = step.id if step else DRAIN
        for (name, case, key, _, output), time in kinds[Kind.OUTPUT]:
            emissions[case].append(emission(programs[name], key, output, number, time))
    return collected(pack, emissions)


def _between_heartbeats(seen: Collected) -> Iterator[dict[Kind, list[Any]]]:
    """What was seen up to each heartbeat, by kind; then what was seen after the last."""
    from conformance.engines.beam.pipelines.sink import Kind

    found: dict[Kind, list[Any]] = {kind: [] for kind in Kind}
    for kind, what in seen.seen:
        if kind is Kind.HEARTBEAT:
            yield found
            found = {kind: [] for kind in Kind}
        else:
            found[kind].append(what)
    yield found


def _prove(pack: Pack, step: Step, before: int, watermark: int, kinds: Mapping[Kind, list[Any]]) -> None:
    """Compare what was seen of one step with the schedule; the watermark (ms) went from ``before`` to ``watermark``."""
    from conformance.engines.beam.pipelines.sink import Kind
    from conformance.engines.beam.runners import carried

    wanted = [(case.id, event.id) for case, event in pack.bundle(step.id)]
    rows = [(element[0][1], element[1][1]) for element in kinds[Kind.INPUT]]
    if rows != wanted:
        raise NotDriven(f"step {step.id} took in {len(rows)} elements, the schedule has {len(wanted)}")
    reached, times = [t for t in carried.marks(pack) if before < t <= watermark], sorted(kinds[Kind.WATERMARK])
    if times != reached:
        raise NotDriven(f"step {step.id} did not run at watermark {watermark}: timers for {times} fired, not {reached}")


def _prove_handed(pack: Pack, seen: Collected) -> None:
    """Check that every element reached its program in its step; one that reached it twice did so by Prism. An element
    may come later where its key has set a timer: Prism holds a key's elements behind the timers that are before them in
    event time (docs/findings.md)."""
    from conformance.engines.beam.pipelines.sink import Kind

    wanted = Counter((case.id, event.id) for step in pack.timeline for case, event in pack.bundle(step.id))
    handed = Counter((element.key[1], element.event) for element in seen.of(Kind.HANDED))
    if missing := wanted - handed:
        raise NotDriven(f"programs were not handed {missing.total()} elements of the {wanted.total()} of the schedule")
    steps, with_timers = iter([*(step.id for step in around.driven(pack)), DRAIN]), set()
    now = next(steps)
    for kind, what in seen.seen:
        if kind is Kind.HEARTBEAT:
            now = next(steps)
        elif kind is Kind.TIMER_SET:
            with_timers |= {what, repr(what)}  # a key that is not a number equals no other, not even itself
        elif kind is Kind.HANDED and what.step != now:
            held = not with_timers.isdisjoint({what.key, repr(what.key)})
            if held and not DRAIN < now < what.step:
                continue
            raise NotDriven(f"an element of step {what.step} reached its program in step {now}")
