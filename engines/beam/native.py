"""beam-native: Beam's own transforms in the place of programs, on the bundle-based DirectRunner as beam-direct drives and proves it.

Nothing in these transforms is ours, so nothing can be made to fail after they wrote state. ``Distinct`` is not among them: its output
does not say which of several equal elements came out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from conformance.engine import (
    Capabilities,
    Family,
    Feature,
    Idiom,
    Lateness,
    LatenessProfile,
    unsupported,
)
from conformance.program import Program, Windowing
from engines.beam.direct import CAPABILITIES, BeamDirect

HORIZON = 10
"""For how long (s) the program of dedup within watermark knows an id."""

GAP = 10
"""The gap (s) of the sessions of session timeout."""

SIZE = 10
"""The size (s) of the windows of windowed counting, sliding windows and batching per key."""

SLIDE = 5
"""How long (s) after one of the sliding windows the next one begins."""

ALLOWED = 5
"""The lateness (s) that the second program of windowed counting allows."""

BATCH = 3
"""The size of the batches of batching per key."""

NO_PROGRAM = unsupported("a transform of Beam's own (2.77.0) runs no program")

FEATURES = {
    **CAPABILITIES.features,
    **dict.fromkeys(
        (Feature.VALUE, Feature.BAG, Feature.MAP, Feature.SET, Feature.COMBINING, Feature.EVENT_TIMERS), NO_PROGRAM
    ),
    Feature.RETRY: unsupported(
        "the transform is Beam's own (2.77.0): nothing in it can be made to fail after it wrote state"
    ),
}


def count(elements: Any) -> Any:
    import apache_beam as beam
    from apache_beam.transforms import trigger, window

    from engines.beam import native_outputs as outputs

    every_element = beam.WindowInto(
        window.GlobalWindows(),
        trigger=trigger.Repeatedly(trigger.AfterCount(1)),
        accumulation_mode=trigger.AccumulationMode.ACCUMULATING,
    )
    return elements | every_element | beam.combiners.Count.PerKey() | beam.ParDo(outputs.Counts())


def deduplicate(elements: Any) -> Any:
    import apache_beam as beam
    from apache_beam.transforms.deduplicate import DeduplicatePerKey

    from engines.beam import native_outputs as outputs

    return elements | DeduplicatePerKey(event_time_duration=HORIZON) | beam.ParDo(outputs.Accepted())


def sessions(elements: Any) -> Any:
    import apache_beam as beam
    from apache_beam.transforms import window

    from engines.beam import native_outputs as outputs

    return elements | beam.WindowInto(window.Sessions(GAP)) | beam.GroupByKey() | beam.ParDo(outputs.Sessions())


def windows(elements: Any) -> Any:
    from apache_beam.transforms import window

    return _counts(elements, window.FixedWindows(SIZE))


def sliding_windows(elements: Any) -> Any:
    from apache_beam.transforms import window

    return _counts(elements, window.SlidingWindows(SIZE, SLIDE))


def _counts(elements: Any, windows: Any) -> Any:
    import apache_beam as beam

    from engines.beam import native_outputs as outputs

    return elements | beam.WindowInto(windows) | beam.combiners.Count.PerKey() | beam.ParDo(outputs.WindowCounts())


def revised(elements: Any) -> Any:
    import apache_beam as beam
    from apache_beam.transforms import trigger, window

    from engines.beam import native_outputs as outputs

    late_too = beam.WindowInto(
        window.FixedWindows(SIZE),
        trigger=trigger.AfterWatermark(late=trigger.AfterCount(1)),
        accumulation_mode=trigger.AccumulationMode.ACCUMULATING,
        allowed_lateness=ALLOWED,
    )
    return elements | late_too | beam.combiners.Count.PerKey() | beam.ParDo(outputs.WindowCounts())


def batches(elements: Any) -> Any:
    import apache_beam as beam
    from apache_beam.transforms import window

    from engines.beam import native_outputs as outputs

    batched = elements | beam.WindowInto(window.FixedWindows(SIZE)) | beam.GroupIntoBatches(BATCH)
    return batched | beam.ParDo(outputs.Batches())


@dataclass(frozen=True)
class Transform:
    """An idiom as Beam runs it. ``lateness`` is what it is documented to refuse."""

    idiom: Idiom
    apply: Callable[[Any], Any]
    lateness: Lateness = Lateness.NEVER


TRANSFORMS = {
    "count": Transform(
        Idiom("per-key-counting/count", "Count.PerKey(), fired at every element, accumulating"),
        count,
    ),
    "deduplicate": Transform(
        Idiom(
            "dedup-within-watermark/dedup",
            "DeduplicatePerKey(event_time_duration)",
            {"state-for-an-old-id-goes-away-when-its-horizon-has-passed": "nothing comes out when it forgets an id"},
        ),
        deduplicate,
    ),
    "sessions": Transform(
        Idiom(
            "session-timeout/sessions",
            "Sessions and GroupByKey()",
            {"a-timer-that-was-cleared-does-not-fire": "it has no timers to see"},
        ),
        sessions,
        Lateness.WINDOW_EXPIRED,
    ),
    "windows": Transform(
        Idiom("windowed-counting/windows", "FixedWindows and Count.PerKey()"), windows, Lateness.WINDOW_EXPIRED
    ),
    "sliding-windows": Transform(
        Idiom("sliding-windows/windows", "SlidingWindows and Count.PerKey()"),
        sliding_windows,
        Lateness.WINDOW_EXPIRED,
    ),
    "late-windows": Transform(
        Idiom("windowed-counting/revised", "FixedWindows with allowed lateness and Count.PerKey()"),
        revised,
        Lateness.WINDOW_EXPIRED,
    ),
    "batches": Transform(Idiom("batching-per-key/batches", "GroupIntoBatches()"), batches),
}
"""By variant."""


class BeamNative(BeamDirect):
    def __init__(self, variant: str) -> None:
        self._transform = transform = TRANSFORMS[variant]
        self.id, self.title = f"beam-native:{variant}", f"Beam {transform.idiom.words}"
        self.capabilities = Capabilities(
            FEATURES,
            LatenessProfile(transform.lateness, transform.lateness),
            largest_pack=CAPABILITIES.largest_pack,
            host="beam-native",
            idiom=transform.idiom,
        )

    def apply(self, elements: Any, windowing: Windowing, programs: Mapping[str, Program]) -> Any:
        from engines.beam import pipeline

        return self._transform.apply(pipeline.elements_of(elements, windowing, programs))


FAMILY = Family(
    BeamNative, {variant: transform.idiom.words for variant, transform in TRANSFORMS.items()}, alone=False, all=True
)
