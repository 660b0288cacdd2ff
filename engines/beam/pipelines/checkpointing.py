"""A splittable DoFn that checkpoints itself: it puts out one bundle, defers the rest, and is called again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import apache_beam as beam
from apache_beam.io.restriction_trackers import OffsetRange, OffsetRestrictionTracker
from apache_beam.io.watermark_estimators import ManualWatermarkEstimator
from apache_beam.transforms.core import RestrictionProvider
from apache_beam.transforms.window import TimestampedValue
from apache_beam.utils.timestamp import Timestamp

Bundle = tuple[int, list[tuple[Any, int]]]
"""The watermark (s) that it reports, and values with their event times (s)."""


class _Offsets(RestrictionProvider):
    def initial_restriction(self, element: list[Bundle]) -> OffsetRange:
        return OffsetRange(0, len(element))

    def create_tracker(self, restriction: OffsetRange) -> OffsetRestrictionTracker:
        return OffsetRestrictionTracker(restriction)

    def restriction_size(self, element: list[Bundle], restriction: OffsetRange) -> int:
        return restriction.size()


class SelfCheckpointing(beam.DoFn):
    """Its element is a list of bundles."""

    @beam.DoFn.unbounded_per_element()  # type: ignore[untyped-decorator]
    def process(
        self,
        element: list[Bundle],
        tracker: Any = beam.DoFn.RestrictionParam(_Offsets()),  # noqa: B008
        watermark: Any = beam.DoFn.WatermarkEstimatorParam(ManualWatermarkEstimator.default_provider()),  # noqa: B008
    ) -> Iterator[TimestampedValue]:
        number = tracker.current_restriction().start
        if tracker.try_claim(number):
            reported, rows = element[number]
            watermark.set_watermark(Timestamp(reported))
            for value, time in rows:
                yield TimestampedValue(value, time)
            tracker.defer_remainder()
