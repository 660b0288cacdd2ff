"""Rows as pandas frames, and neutral programs behind applyInPandasWithState. Imported where Spark's Python workers run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from conformance.model.keys import TypedKey
from conformance.model.program import Program
from conformance.model.types import Struct
from engines.spark.groups_operator import GroupsOperator
from engines.spark.operator import Failure, In, Key, Out, task_attempt
from engines.spark.typed_keys import NONE, Columns, taken


def plain(key: Any, typed: Columns = NONE) -> Key:
    """A grouping key with numpy's integer of the window made Python's, and a dictionary, which is what pandas has for a struct, made a
    tuple."""
    program, case, user_key, window = taken(key, typed)
    if isinstance(user_key, TypedKey) and isinstance(user_key.type, Struct) and isinstance(user_key.value, dict):
        user_key = TypedKey(user_key.type, tuple(user_key.value.values()))
    return program, case, user_key, int(window)


def inputs(given: Iterable[Any]) -> Iterator[In]:
    """The rows of pandas frames, in order."""
    for frame in given:
        times = frame["event_time"].map(lambda time: time.timestamp())
        for step, id_, value, time, partition in zip(
            frame["step"], frame["id"], frame["value"], times, frame["partition"], strict=True
        ):
            yield In(int(step), id_, value, round(time * 1000), int(partition))


def frames(outputs: Iterable[Out]) -> Iterator[Any]:
    """One pandas frame with these rows; none where there are none. Whole numbers stay so beside missing ones."""
    if rows := list(outputs):
        whole = dict.fromkeys(("step", "emitted_at", "received"), "Int64")
        import pandas as pd  # not at the top: a query's driver imports this, too, and needs no pandas

        yield pd.DataFrame(rows, columns=list(Out._fields)).astype(whole)


def keeps_an_array(key: Any, given: Iterable[Any], group: Any) -> Iterator[Any]:
    """A function for ``refusals``: puts out nothing, and keeps an array."""
    group.update(([1],))
    yield from frames(())


def keeps_nothing(key: Any, given: Iterable[Any], group: Any) -> Iterator[Any]:
    """A function for ``refusals``: puts out nothing."""
    yield from frames(())


def puts_out_its_key(key: Any, given: Iterable[Any], group: Any) -> Iterator[Any]:
    """A function for ``refusals``: puts out the key."""
    import pandas as pd

    yield pd.DataFrame({"key": [key[0]]})


def state_function(programs: Mapping[str, Program], failure: Failure | None, typed: Columns = NONE) -> Any:
    """The function for ``applyInPandasWithState``. Each task has a copy of it."""
    operator = GroupsOperator(programs, failure, task_attempt)

    def call(key: Any, given: Iterable[Any], group: Any) -> Iterator[Any]:
        yield from frames(operator.on_call(plain(key, typed), inputs(given), group))

    return call
