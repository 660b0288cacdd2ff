"""DoFns that a plan puts before a transform, behind it or beside it. Those before and behind put out what they are
given."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import apache_beam as beam
from apache_beam.coders import VarIntCoder
from apache_beam.io.restriction_trackers import OffsetRange, OffsetRestrictionTracker
from apache_beam.transforms.core import RestrictionProvider
from apache_beam.transforms.userstate import ReadModifyWriteStateSpec

COUNT = beam.DoFn.StateParam(ReadModifyWriteStateSpec("count", VarIntCoder()))


class Passing(beam.DoFn):
    """Stateful: counts the elements of a key, and puts out their values."""

    def process(self, element: tuple[str, Any], count: Any = COUNT) -> Iterator[Any]:
        count.write((count.read() or 0) + 1)
        yield element[1]


class Counting(beam.DoFn):
    """Stateful: puts out how many elements of its key an element is."""

    def process(self, element: tuple[str, Any], count: Any = COUNT) -> Iterator[int]:
        number = (count.read() or 0) + 1
        count.write(number)
        yield number


class OneOffset(RestrictionProvider):
    """Each element is one offset."""

    def initial_restriction(self, element: Any) -> OffsetRange:
        return OffsetRange(0, 1)

    def create_tracker(self, restriction: OffsetRange) -> OffsetRestrictionTracker:
        return OffsetRestrictionTracker(restriction)

    def restriction_size(self, element: Any, restriction: OffsetRange) -> int:
        return int(restriction.size())


CLAIMED = beam.DoFn.RestrictionParam(OneOffset())


class Splittable(beam.DoFn):
    """Splittable: claims the one offset of an element, and puts the element out."""

    def process(self, element: Any, tracker: Any = CLAIMED) -> Iterator[Any]:
        if tracker.try_claim(0):
            yield element
