"""beam-prism-native: Beam's own transforms in the place of programs, on Prism as beam-prism drives it.

That an element reached the transform in its step is not proved: a transform does not say what it was handed. What went
in, and where the watermark stood, is proved as for programs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from packaging.version import Version

from conformance.engines.beam.native.engine import TRANSFORMS as SHARED
from conformance.engines.beam.native.engine import Transform, applied, capabilities_of, panes
from conformance.engines.beam.runners.prism import CAPABILITIES, BeamPrism
from conformance.model.engine import Family
from conformance.model.lateness import Lateness
from conformance.model.runs import Pack

if TYPE_CHECKING:
    from conformance.engines.beam.pipelines.pipeline import Branch
    from conformance.engines.beam.pipelines.sink import Collected

TRANSFORMS = SHARED | {
    "side-input": Transform(panes("a side input of the stream itself", "beside counts"), None, Lateness.WINDOW_EXPIRED)
}
"""A side input of the stream itself, in windows, makes the bundle-based runner hang under a TestStream (Beam
2.77.0)."""


class PrismNative(BeamPrism):
    asks = ()
    driven_since = Version("2.69.0")
    """In 2.65.0, 2.66.0 and 2.67.0 each schedule failed, as ``before_that`` says."""
    before_that = "fires no timer when the watermark comes to its time"

    def __init__(self, variant: str) -> None:
        super().__init__()
        self._variant = variant
        self.id = f"beam-prism-native:{variant}"
        self.title = f"Beam {TRANSFORMS[variant].native_operator.words}, on Prism"
        self.capabilities = capabilities_of(TRANSFORMS[variant], CAPABILITIES, "beam-prism-native")
        self.apart = TRANSFORMS[variant].apply is None

    def apply(self, branch: Branch) -> Any:
        return applied(TRANSFORMS[self._variant], branch)

    def prove_handed(self, pack: Pack, seen: Collected) -> None:
        """Nothing is noted that could be proved."""


FAMILY = Family(
    PrismNative,
    {variant: f"{transform.native_operator.words}, on Prism" for variant, transform in TRANSFORMS.items()},
    alone=False,
    all=True,
)
