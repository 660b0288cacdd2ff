"""The pipelines of ``refusals``. Each is a function from a pipeline, and ends with the transform that may be
refused."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import apache_beam as beam
from apache_beam.coders import PickleCoder, VarIntCoder
from apache_beam.coders import registry as coders
from apache_beam.testing.test_stream import TestStream
from apache_beam.transforms import trigger, userstate
from apache_beam.transforms.timeutil import TimeDomain
from apache_beam.transforms.window import FixedWindows, Sessions, SlidingWindows, TimestampedValue
from apache_beam.typehints import Tuple
from apache_beam.utils.timestamp import Timestamp

from conformance.engines.beam.plans.dofns import Splittable

PAIR = ("a", 1)


class ReturnsText(beam.DoFn):
    def process(self, element: str) -> Any:
        return element


class Counts(beam.DoFn):
    COUNT = userstate.CombiningValueStateSpec("count", sum)

    def process(self, element: Any, count: Any = beam.DoFn.StateParam(COUNT)) -> Iterator[int]:
        count.add(1)
        yield count.read()


class TwoOfOneName(beam.DoFn):
    BAG = userstate.BagStateSpec("it", VarIntCoder())
    COUNT = userstate.CombiningValueStateSpec("it", sum)

    def process(
        self, element: Any, bag: Any = beam.DoFn.StateParam(BAG), count: Any = beam.DoFn.StateParam(COUNT)
    ) -> Iterator[int]:
        bag.add(1)
        yield 1


class NoCallback(beam.DoFn):
    DUE = userstate.TimerSpec("due", TimeDomain.WATERMARK)

    def process(self, element: Any, due: Any = beam.DoFn.TimerParam(DUE)) -> Iterator[int]:
        due.set(Timestamp(1))
        yield 1


class SetToText(beam.DoFn):
    DUE = userstate.TimerSpec("due", TimeDomain.WATERMARK)

    def process(self, element: Any, due: Any = beam.DoFn.TimerParam(DUE)) -> Iterator[int]:
        due.set("soon")
        yield 1

    @userstate.on_timer(DUE)  # type: ignore[untyped-decorator]
    def fired(self) -> Iterator[int]:
        yield 2


class Pickled:
    """The type of keys whose coder is a PickleCoder. The keys themselves are numbers, which can be encoded in one way
    only."""


def _pickled_keys(pipeline: beam.Pipeline) -> Any:
    coders.register_coder(Pickled, PickleCoder)
    numbers = pipeline | beam.Create([1, 2])
    return numbers | "pairs" >> beam.Map(lambda n: (n, n)).with_output_types(Tuple[Pickled, int])


def returning_text(pipeline: beam.Pipeline) -> Any:
    return pipeline | beam.Create(["one", "two"]) | beam.ParDo(ReturnsText())


def stateful_without_key(pipeline: beam.Pipeline) -> Any:
    return pipeline | beam.Create([1, 2]) | beam.ParDo(Counts())


def stateful_in_sessions(pipeline: beam.Pipeline) -> Any:
    return pipeline | beam.Create([PAIR]) | beam.WindowInto(Sessions(5)) | beam.ParDo(Counts())


def ordered_list(pipeline: beam.Pipeline) -> Any:
    class Orders(beam.DoFn):  # Beam 2.60.0 has no such state
        ROWS = userstate.OrderedListStateSpec("rows", VarIntCoder())

        def process(self, element: Any, rows: Any = beam.DoFn.StateParam(ROWS)) -> Iterator[int]:
            rows.add((Timestamp(1), 1))
            yield len(list(rows.read()))

    return pipeline | beam.Create([PAIR]) | beam.ParDo(Orders())


def two_states_of_one_name(pipeline: beam.Pipeline) -> Any:
    return pipeline | beam.Create([PAIR]) | beam.ParDo(TwoOfOneName())


def timer_without_callback(pipeline: beam.Pipeline) -> Any:
    return pipeline | beam.Create([PAIR]) | beam.ParDo(NoCallback())


def timer_for_a_text(pipeline: beam.Pipeline) -> Any:
    return pipeline | beam.Create([PAIR]) | beam.ParDo(SetToText())


def grouped_by_pickle(pipeline: beam.Pipeline) -> Any:
    return _pickled_keys(pipeline) | beam.GroupByKey()


def stateful_by_pickle(pipeline: beam.Pipeline) -> Any:
    return _pickled_keys(pipeline) | beam.ParDo(Counts())


def trigger_that_finishes(pipeline: beam.Pipeline) -> Any:
    discarding = trigger.AccumulationMode.DISCARDING
    once = beam.WindowInto(FixedWindows(5), trigger=trigger.AfterCount(1), accumulation_mode=discarding)
    return pipeline | beam.Create([PAIR]) | once | beam.GroupByKey()


def group_without_end(pipeline: beam.Pipeline) -> Any:
    return pipeline | TestStream().add_elements([PAIR]).advance_watermark_to_infinity() | beam.GroupByKey()


def splittable(pipeline: beam.Pipeline) -> Any:
    return pipeline | beam.Create([PAIR]) | beam.ParDo(Splittable())


def windows_that_differ(pipeline: beam.Pipeline) -> Any:
    five, seven = (
        pipeline | f"of {size}" >> beam.Create([PAIR]) | f"in {size}" >> beam.WindowInto(FixedWindows(size))
        for size in (5, 7)
    )
    return (five, seven) | beam.Flatten() | beam.GroupByKey()


def windows_with_gaps(pipeline: beam.Pipeline) -> Any:
    between = pipeline | beam.Create([PAIR]) | beam.Map(lambda pair: TimestampedValue(pair, 7))
    return between.with_output_types(Tuple[str, int]) | beam.WindowInto(SlidingWindows(5, 10)) | beam.GroupByKey()


def types_that_differ(pipeline: beam.Pipeline) -> Any:
    return pipeline | beam.Create(["a"]) | beam.Map(lambda n: n + 1).with_input_types(int)


def singleton_of_two(pipeline: beam.Pipeline) -> Any:
    two = pipeline | "two" >> beam.Create([1, 2])
    return pipeline | "one" >> beam.Create([1]) | beam.Map(lambda one, side: one, beam.pvalue.AsSingleton(two))
