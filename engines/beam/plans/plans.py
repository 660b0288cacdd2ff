"""Plans: what can stand around the transform of a pipeline without changing what the pipeline says.

A plan that may hand out the elements of a bundle in another order serves only cases with at most one element of a key
in a bundle.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any
from zlib import crc32

from conformance.engines.beam.pipelines import framework as beam
from conformance.engines.beam.plans.around import BeamPlan


def _half(element: Any, parts: int = 2) -> int:
    (program, case, key), _ = element
    return crc32(f"{program}/{case}/{key}".encode()) % parts


def _none(element: Any) -> bool:
    return len(element) < 0


def _identity(element: Any) -> Any:
    return element


def _one(element: Any) -> Iterable[Any]:
    return [element]


def _with_side(element: Any, side: Any) -> Any:
    return element


def _pair(element: Any) -> tuple[str, int]:
    return "all", 1


def _reshuffled(elements: Any) -> Any:
    from conformance.engines.beam.pipelines.pipeline import typed

    return elements | "reshuffled" >> beam.Reshuffle() | "reshuffled, typed" >> typed()


def _with_empty(elements: Any) -> Any:
    from conformance.engines.beam.pipelines.pipeline import ELEMENT

    nothing = elements.pipeline | "nothing" >> beam.Create([], reshuffle=False).with_output_types(ELEMENT)
    return (elements, nothing) | "with nothing" >> beam.Flatten()


def _with_false(elements: Any) -> Any:
    from conformance.engines.beam.pipelines.pipeline import ELEMENT

    nothing = elements | "none of them" >> beam.Filter(_none).with_output_types(ELEMENT)
    return (elements, nothing) | "with none of them" >> beam.Flatten()


def _halves(elements: Any) -> Any:
    from conformance.engines.beam.pipelines.pipeline import ELEMENT

    def half(number: int) -> Any:
        mine = beam.Filter(lambda element: _half(element) == number).with_output_types(ELEMENT)
        return elements | f"half {number}" >> mine

    return (half(0), half(1)) | "both halves" >> beam.Flatten()


def _parted(elements: Any) -> Any:
    parts = elements | "parted" >> beam.Partition(lambda element, count: _half(element, count), 3)
    return tuple(parts) | "together" >> beam.Flatten()


def _beside_side_input(elements: Any) -> Any:
    from conformance.engines.beam.pipelines.pipeline import typed

    side = elements.pipeline | "one" >> beam.Create([1], reshuffle=False)
    beside = elements | "beside one" >> beam.Map(_with_side, beam.pvalue.AsSingleton(side))
    return beside | "beside one, typed" >> typed()


def _exploded(elements: Any) -> Any:
    from conformance.engines.beam.pipelines.pipeline import typed

    return elements | "each" >> beam.FlatMap(_one) | "each, typed" >> typed()


def _windowed(elements: Any) -> Any:
    from apache_beam.transforms import window

    return elements | "windowed globally" >> beam.WindowInto(window.GlobalWindows())


def _read_twice(elements: Any) -> Any:
    _counted(elements)
    return elements


def _mapped(outputs: Any) -> Any:
    return outputs | f"mapped behind {outputs.producer.full_label}" >> beam.Map(_identity)


def _reshuffled_behind(outputs: Any) -> Any:
    from conformance.engines.beam.plans.metadata import Compared, Noted

    of = outputs.producer.full_label
    noted = outputs | f"noted {of}" >> beam.ParDo(Noted()) | f"reshuffled {of}" >> beam.Reshuffle()
    return noted | f"compared {of}" >> beam.ParDo(Compared())


def _grouped_beside(outputs: Any) -> Any:
    _counted(outputs)
    return outputs


def _of_case(output: Any) -> tuple[str, Any]:
    program, case, key, *_ = output
    return f"{program}/{case}/{key}", output


def _stateful_behind(outputs: Any) -> Any:
    from apache_beam.transforms import window

    from conformance.engines.beam.plans.dofns import Passing

    of = outputs.producer.full_label
    # Nothing is late in the global window.
    everywhere = outputs | f"windowed globally {of}" >> beam.WindowInto(window.GlobalWindows())
    keyed = everywhere | f"keyed {of}" >> beam.Map(_of_case).with_output_types(tuple[str, Any])
    return keyed | f"passed on {of}" >> beam.ParDo(Passing())


def _splittable(elements: Any) -> Any:
    from conformance.engines.beam.pipelines.pipeline import typed
    from conformance.engines.beam.plans.dofns import Splittable

    return elements | "splittable" >> beam.ParDo(Splittable()) | "splittable, typed" >> typed()


def _counted(collection: Any) -> None:
    """A second consumer, which groups all that it gets."""
    from apache_beam.transforms import trigger, window

    label = f"beside {collection.producer.full_label}"
    each = beam.WindowInto(
        window.GlobalWindows(),
        trigger=trigger.Repeatedly(trigger.AfterCount(1)),
        accumulation_mode=trigger.AccumulationMode.DISCARDING,
    )
    pairs = collection | f"pairs {label}" >> beam.Map(_pair).with_output_types(tuple[str, int])
    pairs | f"each {label}" >> each | f"grouped {label}" >> beam.GroupByKey()


PLANS: Mapping[str, BeamPlan] = {
    "flatten-empty": BeamPlan(
        "a Flatten with an empty collection", "(elements, Create([])) | Flatten() | transform", _with_empty, always=True
    ),
    "flatten-false": BeamPlan(
        "a Flatten with a branch that a filter empties",
        "(elements, elements | Filter(never)) | Flatten() | transform",
        _with_false,
        always=True,
    ),
    "diamond": BeamPlan(
        "a diamond: two filtered halves, put together",
        "(elements | Filter(half), elements | Filter(other half)) | Flatten() | transform",
        _halves,
        always=True,
        in_parts=True,
    ),
    "partition": BeamPlan(
        "three parts of a Partition, put together",
        "elements | Partition(by_key, 3) | Flatten() | transform",
        _parted,
        in_parts=True,
    ),
    "reshuffle": BeamPlan(
        "a Reshuffle before", "elements | Reshuffle() | transform", _reshuffled, scrambles=True, always=True
    ),
    "side-input": BeamPlan(
        "a Map with a side input before", "elements | Map(same, AsSingleton(one)) | transform", _beside_side_input
    ),
    "explode": BeamPlan("a FlatMap of one element before", "elements | FlatMap(each) | transform", _exploded),
    "window-global": BeamPlan(
        "put into the global window once more", "elements | WindowInto(GlobalWindows()) | transform", _windowed
    ),
    "read-twice": BeamPlan(
        "another consumer of the elements, which groups them",
        "elements | GroupByKey(); elements | transform",
        _read_twice,
    ),
    "map-behind": BeamPlan("a Map behind", "elements | transform | Map(same)", behind=_mapped),
    "reshuffle-behind": BeamPlan(
        "a Reshuffle behind, which keeps time, window and pane of an output",
        "elements | transform | Reshuffle()",
        behind=_reshuffled_behind,
        scrambles=True,
    ),
    "grouped-beside": BeamPlan(
        "another consumer of the output, which groups it",
        "out = elements | transform; out | GroupByKey()",
        behind=_grouped_beside,
    ),
    "stateful-behind": BeamPlan(
        "a stateful DoFn behind, in the global window",
        "elements | transform | WindowInto(GlobalWindows()) | Map(with its key) | ParDo(stateful)",
        behind=_stateful_behind,
        scrambles=True,
    ),
    "runtime-types": BeamPlan(
        "types checked at run time", "elements | transform # --runtime_type_check", options=("--runtime_type_check",)
    ),
    "no-type-check": BeamPlan(
        "types not checked", "elements | transform # --no_pipeline_type_check", options=("--no_pipeline_type_check",)
    ),
    "two-pipelines": BeamPlan(
        "another pipeline in the same process at the same time",
        "Thread(target=another.run).start(); elements | transform",
        beside=True,
    ),
}
"""The plans of each runner, and of Beam's own transforms on the bundle-based DirectRunner."""

SPLITTABLE: Mapping[str, BeamPlan] = {
    "splittable": BeamPlan(
        "a splittable DoFn before", "elements | ParDo(splittable) | transform", _splittable, scrambles=True
    ),
}
"""Of all but the bundle-based DirectRunner, which refuses such a DoFn in a streaming pipeline (Beam 2.77.0)."""

OF_FNAPI: Mapping[str, BeamPlan] = {
    **PLANS,
    **SPLITTABLE,
    "two-workers": BeamPlan(
        "two workers, each a thread",
        "elements | transform # --direct_running_mode=multi_threading --direct_num_workers=2",
        options=("--direct_running_mode=multi_threading", "--direct_num_workers=2"),
        scrambles=True,
    ),
}
"""FnApiRunner runs bundles side by side, if it is told to."""

FLATTENS = ("flatten-empty", "flatten-false", "diamond", "partition")
"""Prism hands out the elements of a key in another order behind a Flatten (Beam 2.77.0). Beam promises no order."""

NOT_ON_PRISM = ("side-input", "runtime-types")
"""Beside a side input the watermark of a TestStream runs ahead on Prism, so nothing can be driven; checked types do not
take the DoFn that takes the bundles of such a stream apart (Beam 2.77.0)."""

OF_AUTO = {
    name: replace(plan, scrambles=plan.scrambles or name in FLATTENS) for name, plan in {**PLANS, **SPLITTABLE}.items()
}

OF_PRISM = {name: plan for name, plan in OF_AUTO.items() if name not in NOT_ON_PRISM}
