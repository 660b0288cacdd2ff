"""beam-fnapi-native and beam-auto-native: Beam's own transforms over bounded input that ends, on FnApiRunner and on
plain DirectRunner.

Each program has a pipeline for itself, so one that its runner cannot finish ends no other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from conformance.engines.beam.native.engine import PARTS, Transform, applied, capabilities_of, panes
from conformance.engines.beam.runners import auto, fnapi
from conformance.model.engine import Capabilities, Family
from conformance.model.lateness import Lateness
from conformance.model.program import Program
from conformance.model.runs import Pack, PackRun

if TYPE_CHECKING:
    from conformance.engines.beam.pipelines.pipeline import Branch

PANES = Transform(
    panes(PARTS, "early", "either", "accumulated", "never", "beside counts", "two outputs", "grouped batches"),
    None,
    Lateness.WINDOW_EXPIRED,
)


def _capabilities(runner: Capabilities, host: str) -> Capabilities:
    return replace(capabilities_of(PANES, runner, host), plans=())


class OfPanes:
    """What both runners have in common."""

    def apply(self, branch: Branch) -> Any:
        return applied(PANES, branch)

    def run(self, pack: Pack, programs: Mapping[str, Program]) -> PackRun:
        from conformance.engines.beam.pipelines import pipeline as shared
        from conformance.engines.beam.runners import bounded

        each = [{name: program} for name, program in shared.programs_of(pack, programs).items()]
        return bounded.run(pack, each, self.finish, self.apply, native=True)  # type: ignore[attr-defined]


class FnApiPanes(OfPanes, fnapi.BeamFnApi):
    def __init__(self, variant: str) -> None:
        self.id, self.title = f"beam-fnapi-native:{variant}", f"Beam {PANES.native_operator.words}, on FnApiRunner"
        self.capabilities = _capabilities(fnapi.CAPABILITIES, "beam-fnapi-native")


class AutoPanes(OfPanes, auto.BeamAuto):
    asks = ()

    def __init__(self, variant: str) -> None:
        super().__init__()
        self.id, self.title = f"beam-auto-native:{variant}", f"Beam {PANES.native_operator.words}, on DirectRunner"
        self.capabilities = _capabilities(auto.CAPABILITIES, "beam-auto-native")


VARIANTS = {"panes": PANES.native_operator.words}
FNAPI = Family(FnApiPanes, VARIANTS, alone=False, all=True)
AUTO = Family(AutoPanes, VARIANTS, alone=False, all=True)
