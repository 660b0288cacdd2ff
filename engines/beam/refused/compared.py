"""The pipelines of ``refusals`` that tell releases apart. Each is a function from a pipeline, and ends with the
transform that may be refused. What only some releases have is named within the function."""

from __future__ import annotations

import typing
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TypedDict

import apache_beam as beam
from apache_beam.transforms import trigger
from apache_beam.transforms.periodicsequence import PeriodicImpulse
from apache_beam.transforms.window import FixedWindows, SlidingWindows

from conformance.engines.beam.refused.pipelines import PAIR, Counts


class Named(TypedDict):
    """What a dictionary has."""

    name: str


@dataclass(frozen=True, kw_only=True)
class ByKeyword:
    """A key that is made by the names of its fields."""

    name: str


class SumAndMore(beam.CombineFn):
    """Adds a number to each element."""

    def create_accumulator(self, more: int) -> int:
        return 0

    def add_input(self, total: int, element: int, more: int) -> int:
        return total + element + more

    def merge_accumulators(self, totals: Iterable[int], more: int) -> int:
        return sum(totals)

    def extract_output(self, total: int, more: int) -> int:
        return total


class Nothing(beam.PTransform):
    """A transform whose expand() returns nothing."""

    def expand(self, pcoll: Any) -> None:
        pcoll | beam.Map(lambda it: it)


def _pairs(pipeline: beam.Pipeline) -> Any:
    return pipeline | beam.Create([PAIR])


def state_in_exception_handling(pipeline: beam.Pipeline) -> Any:
    return _pairs(pipeline) | beam.ParDo(Counts()).with_exception_handling()


def state_allowed_in_exception_handling(pipeline: beam.Pipeline) -> Any:
    allowed = beam.ParDo(Counts()).with_exception_handling(allow_unsafe_userstate_in_process=True)
    return _pairs(pipeline) | allowed


def fanout_in_sliding_windows(pipeline: beam.Pipeline) -> Any:
    sliding = _pairs(pipeline) | beam.WindowInto(SlidingWindows(10, 5))
    return sliding | beam.CombinePerKey(sum).with_hot_key_fanout(2)


def state_on_the_pipeline(pipeline: beam.Pipeline) -> Any:
    return pipeline | beam.ParDo(Counts())


def state_on_nothing(pipeline: beam.Pipeline) -> Any:
    return _pairs(pipeline) | Nothing() | beam.ParDo(Counts())


def types_of_tags(pipeline: beam.Pipeline) -> Any:
    return _pairs(pipeline) | beam.ParDo(Counts()).with_output_types(int, late=str)


def flatten_with(pipeline: beam.Pipeline) -> Any:
    return _pairs(pipeline) | beam.FlattenWith(pipeline | "more" >> beam.Create([PAIR]))


def flatten_of_a_list_in_a_tuple(pipeline: beam.Pipeline) -> Any:
    one, two = (pipeline | name >> beam.Create([PAIR]) for name in ("one", "two"))
    return (one, [two]) | beam.Flatten()


def texts_for_a_sequence_of_numbers(pipeline: beam.Pipeline) -> Any:
    return pipeline | beam.Create([["a"]]) | beam.Map(len).with_input_types(typing.Sequence[int])


def texts_for_a_mapping_of_numbers(pipeline: beam.Pipeline) -> Any:
    return pipeline | beam.Create([{"a": 1}]) | beam.Map(len).with_input_types(typing.Mapping[int, int])


def dictionary_for_a_typed_one(pipeline: beam.Pipeline) -> Any:
    return pipeline | beam.Create([{"name": "a"}]) | beam.Map(len).with_input_types(Named)


def counter_of_texts(pipeline: beam.Pipeline) -> Any:
    return pipeline | beam.Create([{"a": 1}]) | beam.Map(len).with_input_types(typing.Counter[str])


def trigger_behind_a_group(pipeline: beam.Pipeline) -> Any:
    early = trigger.AfterWatermark(early=trigger.AfterCount(3))
    discarding = trigger.AccumulationMode.DISCARDING
    windows = beam.WindowInto(FixedWindows(5), trigger=early, accumulation_mode=discarding)
    grouped = _pairs(pipeline) | windows | beam.GroupByKey()
    if grouped.windowing.triggerfn != early:
        raise AssertionError(grouped.windowing.triggerfn)
    return grouped


def key_by_keyword(pipeline: beam.Pipeline) -> Any:
    rows = pipeline | beam.Create([1])
    return rows | beam.Map(lambda n: (ByKeyword(name="a"), n)).with_output_types(tuple[Any, int]) | beam.GroupByKey()


def combined_with_side_input(pipeline: beam.Pipeline) -> Any:
    more = pipeline | "more" >> beam.Create([1])
    return _pairs(pipeline) | beam.CombinePerKey(SumAndMore(), beam.pvalue.AsSingleton(more))


def periodic_data(pipeline: beam.Pipeline) -> Any:
    return pipeline | PeriodicImpulse(start_timestamp=0, stop_timestamp=2, fire_interval=1, data=["a", "b"])
