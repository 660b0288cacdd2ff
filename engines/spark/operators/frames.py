"""Rows as pandas frames, and neutral programs behind applyInPandasWithState. Imported where Spark's Python workers
run."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from conformance.engines.spark.operators.groups_operator import GroupsOperator
from conformance.engines.spark.operators.operator import MORE, Failure, In, Key, Out, task_attempt
from conformance.engines.spark.state.typed_keys import NONE, Columns, taken
from conformance.model.keys import TypedKey
from conformance.model.program import Program
from conformance.model.types import Struct


def plain(key: Any, typed: Columns = NONE) -> Key:
    """A grouping key with numpy's integer of the window made Python's, and a dictionary, which is what pandas has for a
    struct, made a tuple."""
    program, case, user_key, window = taken(key, typed)
    if isinstance(user_key, TypedKey) and isinstance(user_key.type, Struct) and isinstance(user_key.value, dict):
        user_key = TypedKey(user_key.type, tuple(user_key.value.values()))
    return program, case, user_key, int(window)


def inputs(given: Iterable[Any]) -> Iterator[In]:
    """The rows of pandas frames, in order."""
    for frame in given:
        columns = (frame[name].tolist() for name in ("step", "id", "value", "event_time", "partition"))
        for step, id_, value, time, partition in zip(*columns, strict=True):
            yield In(step, id_, value, round(time.timestamp() * 1000), partition)


def frames(outputs: Iterable[Out], more: bool = False) -> Iterator[Any]:
    """One pandas frame with these rows, and with ``more`` the column MORE; none where there are none. Its columns are
    of objects, so that whole numbers stay so beside missing ones. A frame of nullable types takes 100 times as long to
    make, and most calls put out one row."""
    if rows := list(outputs):
        import numpy as np  # not at the top: a query's driver imports this, too, and needs no pandas
        import pandas as pd

        table = np.empty((len(rows), len(Out._fields)), dtype=object)
        table[:] = rows
        frame = pd.DataFrame(table, columns=list(Out._fields), dtype=object)
        yield frame.assign(**{MORE: None}) if more else frame


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


def state_function(
    programs: Mapping[str, Program], failure: Failure | None, typed: Columns = NONE, more: bool = False
) -> Any:
    """The function for ``applyInPandasWithState``. Each task has a copy of it."""
    operator = GroupsOperator(programs, failure, task_attempt)

    def call(key: Any, given: Iterable[Any], group: Any) -> Iterator[Any]:
        yield from frames(operator.on_call(plain(key, typed), inputs(given), group), more)

    return call
