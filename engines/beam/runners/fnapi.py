"""beam-fnapi: a stateful DoFn over bounded input on FnApiRunner, which runs the same protocol as portable runners.

There is no TestStream on this runner. The bundles of a source that checkpoints itself are either merged before they
reach a stateful DoFn, or timers fire between them, whatever watermark the source reports (Beam 2.77.0): neither is a
schedule that could be proved. So it is asked for one bundle.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from conformance.engines.beam.plans import around, plans
from conformance.engines.beam.refused import refusals
from conformance.engines.beam.runners import environment
from conformance.engines.beam.runners.direct import STATE
from conformance.engines.planned import twins
from conformance.model.engine import Capabilities
from conformance.model.feature import Feature, unsupported
from conformance.model.lateness import Lateness, LatenessProfile
from conformance.model.program import Program
from conformance.model.runs import Pack, PackRun

if TYPE_CHECKING:
    from conformance.engines.beam.pipelines.pipeline import Branch
    from conformance.engines.beam.refused.refusals import Build

CAPABILITIES = Capabilities(
    features={
        **STATE,
        Feature.SEVERAL_BUNDLES: unsupported(
            "FnApiRunner merges a source's bundles, or fires timers between them ahead of its watermark (Beam 2.77.0)"
        ),
        Feature.WATERMARK: unsupported(
            "FnApiRunner has no TestStream, and does not heed the watermark that a source reports (Beam 2.77.0)"
        ),
        Feature.RETRY: unsupported("FnApiRunner ends the pipeline at a bundle's first failure (Beam 2.77.0)"),
    },
    lateness=LatenessProfile(Lateness.NEVER, Lateness.NEVER),
    largest_pack=500,
    plans=twins(plans.OF_FNAPI),
    plans_together=4,
    quick=True,
)


class BeamFnApi(environment.OfBeam):
    id = "beam-fnapi"
    title = "Beam FnApiRunner (Python, bounded)"
    runner = "FnApiRunner"
    capabilities = CAPABILITIES
    compares = tuple(refusals.COMPARED)

    def evidence(self) -> dict[Feature, str]:
        from apache_beam.runners.portability.fn_api_runner.fn_runner import FnApiRunner

        from conformance.engines.beam.runners import answers

        refused = answers.test_stream_on_fn_api_runner()
        return {
            Feature.SEVERAL_BUNDLES: answers.a_source_of_two_bundles_on_fn_api_runner(),
            Feature.WATERMARK: refused,
            Feature.COALESCED: refused,
            Feature.PROCESSING_TIME: refused,
            Feature.NO_DATA: refused,
            Feature.RETRY: answers.a_failing_bundle({"runner": FnApiRunner()}),
            Feature.MISFITS: answers.a_text_in_a_number({"runner": FnApiRunner()}),
            **answers.of_local_runners({"runner": FnApiRunner()}),
            Feature.LATE_COUNTER: answers.counters_after_bounded_input({"runner": FnApiRunner()}),
        }

    def run(self, pack: Pack, programs: Mapping[str, Program]) -> PackRun:
        """One pipeline per windowing: FnApiRunner 2.77.0 fails on two stateful DoFns with timers that read one
        collection in different windows (docs/findings.md)."""
        from conformance.engines.beam.pipelines import pipeline as shared
        from conformance.engines.beam.runners import bounded

        groups = shared.by_windowing(shared.programs_of(pack, programs)).values()
        return bounded.run(pack, groups, self.finish, self.apply, around.of(pack, plans.OF_FNAPI))

    def finish(self, build: Build, options: Sequence[str] = ()) -> str:
        import apache_beam as beam
        from apache_beam.options.pipeline_options import PipelineOptions
        from apache_beam.runners.portability.fn_api_runner.fn_runner import FnApiRunner

        pipeline = beam.Pipeline(runner=FnApiRunner(), options=PipelineOptions(list(options)))
        build(pipeline)
        pipeline.run().wait_until_finish()
        return ""

    def apply(self, branch: Branch) -> Any:
        """What comes out of a branch."""
        return branch.run_programs()
