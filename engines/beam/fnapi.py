"""beam-fnapi: a stateful DoFn over bounded input on FnApiRunner, which runs the same protocol as portable runners.

There is no TestStream on this runner and its bounded input is one bundle (Beam 2.77.0). So it is asked for schedules
of one bundle only: the first advance is the state before any input, the last is the end of the input, where the
watermark goes to +infinity and every timer fires.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from pathlib import Path

from conformance.engine import Capabilities, Feature, Lateness, LatenessProfile, NotDriven, unsupported
from conformance.guarantees import program_ref
from conformance.model import Emission, Pack, PackRun, StepCount, Trace
from conformance.program import Program, Windowing
from engines.beam import environment
from engines.beam.direct import STATE

CAPABILITIES = Capabilities(
    features={
        **STATE,
        Feature.SEVERAL_BUNDLES: unsupported("FnApiRunner runs a bounded input as one bundle (Beam 2.77.0)"),
        Feature.WATERMARK: unsupported(
            "FnApiRunner has no TestStream, the watermark moves at the end of the input (Beam 2.77.0)"
        ),
        Feature.RETRY: unsupported("FnApiRunner ends the pipeline at a bundle's first failure (Beam 2.77.0)"),
    },
    lateness=LatenessProfile(Lateness.NEVER, Lateness.NEVER),
    largest_pack=500,
)


class BeamFnApi:
    id = "beam-fnapi"
    title = "Beam FnApiRunner (Python, bounded)"
    capabilities = CAPABILITIES

    def check(self) -> None:
        environment.check()

    def open(self, folder: Path) -> None:
        logging.getLogger().setLevel(logging.ERROR)

    def close(self) -> None:
        pass

    def environment(self) -> dict[str, str]:
        return environment.environment("FnApiRunner")

    def evidence(self) -> dict[Feature, str]:
        from engines.beam import probes

        refused = probes.test_stream_on_fn_api_runner()
        return {
            Feature.SEVERAL_BUNDLES: refused,
            Feature.WATERMARK: refused,
            Feature.COALESCED: refused,
            Feature.PARTITIONS: probes.options_of_direct_runners(),
            Feature.RESTART: probes.options_of_direct_runners(),
            Feature.RETRY: probes.a_failing_bundle_on_fn_api_runner(),
            Feature.RESUME: probes.options_of_direct_runners(),
            Feature.LATE_COUNTER: probes.counters_on_fn_api_runner(),
        }

    def run(self, pack: Pack, programs: Mapping[str, Program]) -> PackRun:
        """One pipeline per windowing: FnApiRunner 2.77.0 fails on two stateful DoFns with timers that read one
        collection in different windows (docs/findings.md)."""
        from engines.beam.pipeline import by_windowing

        if len(pack.clock) != 3:
            raise NotDriven(
                f"a schedule of {len(pack.clock)} steps cannot be driven on bounded input; it takes one bundle"
            )
        mine = {name: programs[name] for name in sorted({program_ref(c.scenario, c.program) for c in pack.cases})}
        emissions: dict[str, list[Emission]] = {case.id: [] for case in pack.cases}
        for windowing, programs_of_it in by_windowing(mine).items():
            cases = tuple(case for case in pack.cases if program_ref(case.scenario, case.program) in programs_of_it)
            for case, emission in _run_bundle(Pack(cases), windowing, programs_of_it):
                emissions[case].append(emission)
        bundle = pack.clock[1].id
        rows = sum(1 for _ in pack.bundle(bundle))
        return PackRun(
            {case: Trace.collect(found) for case, found in emissions.items()}, (StepCount(bundle, rows, rows, None),)
        )


def _run_bundle(pack: Pack, windowing: Windowing, programs: Mapping[str, Program]) -> Iterator[tuple[str, Emission]]:
    """(case, emission) of everything that came out, in order."""
    import apache_beam as beam
    from apache_beam.runners.portability.fn_api_runner.fn_runner import FnApiRunner

    from engines.beam import pipeline as shared
    from engines.beam import sink

    _, bundle, end = (step.id for step in pack.clock)
    rows = [shared.element(case, event, bundle) for case, event in pack.bundle(bundle)]
    seen = sink.Collected()
    with sink.collecting(seen):
        pipeline = beam.Pipeline(runner=FnApiRunner())
        created = pipeline | beam.Create([(row.value, row.timestamp) for row in rows], reshuffle=False)
        elements = created | beam.MapTuple(beam.window.TimestampedValue) | shared.typed()
        elements | "see inputs" >> beam.ParDo(sink.Inputs())
        shared.run_programs(elements, windowing, programs) | "see outputs" >> beam.ParDo(sink.Outputs())
        pipeline.run().wait_until_finish()
    if seen.inputs != [row.value for row in rows]:
        raise NotDriven(f"{len(rows)} elements were to be delivered in order, {len(seen.inputs)} came in")
    for _, case, key, caused_in, output in seen.outputs:
        step = end if caused_in is None else caused_in
        yield case, Emission(key, output.value, step, output.event_time, output.error)
