"""beam-auto: a stateful DoFn over bounded input on plain ``DirectRunner``, as users write it.

DirectRunner chooses a runner: Prism first, FnApiRunner for pipelines that Prism is not trusted with, such as those with
combining state (Beam 2.77.0).

Each program has a pipeline of its own, because the choice goes by the whole pipeline. The class of the result tells
which runner it was.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conformance.engines.beam.plans import around, plans
from conformance.engines.beam.refused import refusals
from conformance.engines.beam.runners import environment, prism_binary, prism_server
from conformance.engines.beam.runners.direct import STATE
from conformance.engines.planned import twins
from conformance.model.engine import CannotRun, Capabilities
from conformance.model.feature import Feature, unsupported
from conformance.model.lateness import Lateness, LatenessProfile
from conformance.model.program import Program
from conformance.model.runs import Pack, PackRun

if TYPE_CHECKING:
    from conformance.engines.beam.refused.refusals import Build

CAPABILITIES = Capabilities(
    features={
        **STATE,
        Feature.SEVERAL_BUNDLES: unsupported("DirectRunner runs a bounded input as one bundle (Beam 2.77.0)"),
        Feature.WATERMARK: unsupported(
            "DirectRunner takes the bundle-based runner for a TestStream, which is the engine beam-direct (Beam 2.77.0)"
        ),
        Feature.RETRY: unsupported("Prism and FnApiRunner end the job at a bundle's first failure (Beam 2.77.0)"),
    },
    lateness=LatenessProfile(Lateness.NEVER, Lateness.NEVER),
    largest_pack=500,
    each=1,
    plans=twins(plans.OF_AUTO),
    plans_together=4,
)

NO_PRISM = "no-binary-of-prism"
"""A place without a binary of Prism. Beam 2.77.0 gives up on it at once; where no place is named, it downloads a
binary."""


class BeamAuto(prism_server.OnPrism):
    id = "beam-auto"
    title = "Beam DirectRunner (Python, bounded)"
    runner = "DirectRunner"
    capabilities = CAPABILITIES
    asks = refusals.OF_PRISM

    def open(self, folder: Path) -> None:
        super().open(folder)
        try:
            self._server = prism_server.PrismServer(prism_binary.obtain())
        except CannotRun as missing:
            logging.getLogger().error("without Prism: %s", missing)

    def environment(self) -> dict[str, str]:
        return super().environment() | ({} if self._server else {"prism": "no binary"})

    def evidence(self) -> dict[Feature, str]:
        from conformance.engines.beam.runners import answers

        options = self._options()
        return self._within(lambda: answers.of_direct_runner(options))

    def run(self, pack: Pack, programs: Mapping[str, Program]) -> PackRun:
        from conformance.engines.beam.pipelines import pipeline as shared
        from conformance.engines.beam.runners import bounded

        mine = shared.programs_of(pack, programs)
        groups = [{name: program} for name, program in mine.items()]
        return bounded.run(pack, groups, self.finish, plan=around.of(pack, plans.OF_AUTO))

    def finish(self, build: Build, options: Sequence[str] = ()) -> str:
        import apache_beam as beam
        from apache_beam.options.pipeline_options import PipelineOptions
        from apache_beam.runners.direct.direct_runner import DirectRunner

        pipeline = beam.Pipeline(runner=DirectRunner(), options=PipelineOptions([*self._options(), *options]))
        build(pipeline)
        results: list[Any] = []

        def run() -> None:
            results.append(pipeline.run())
            results[0].wait_until_finish()

        self._within(run)
        return f"ran on {environment.ran_on(results[0])}"

    def _options(self) -> list[str]:
        return self._server.options() if self._server else [f"--prism_location={NO_PRISM}"]

    def _within(self, call: Callable[[], Any]) -> Any:
        return self._server.within(call) if self._server else call()
