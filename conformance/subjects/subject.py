"""A subject: a user's own query or pipeline, as a function with a schema.

    from conformance import subject

    @subject(schema="user string, page string, at timestamp", key="user", time="at", delay="10 seconds")
    def visits(rows):
        return rows.withWatermark("at", "10 seconds").groupBy(window("at", "5 minutes"), "user").count()

A subject is tested without an oracle: what may not change its answer, must not.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, ClassVar

from conformance.model.types import Int, Long, String, Timestamp
from conformance.subjects.schema import Column, InvalidSubject, columns_of, duration, misfit
from conformance.support.naming import instead

MODES = ("append", "update", "complete")
"""What a streaming query puts out: each row once, each change of an answer, or all answers each time."""

ONE = ""
"""The name of the input of a subject that has one."""


@dataclass(frozen=True)
class Input:
    """One of the inputs of a subject.

    Attributes:
        schema: as the user wrote it.
        time: its column of event time, "" for none.
    """

    columns: tuple[Column, ...]
    schema: str
    time: str = ""


@dataclass(frozen=True)
class Output:
    """The output of a subject.

    Attributes:
        mode: the output mode.
        key: the columns that tell one answer from another in update mode; none for what the engine knows of the
            function.
        ignored: columns that are not compared.
    """

    mode: str = "append"
    key: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()


@dataclass(frozen=True)
class Subject:
    """A function under test. Calling the subject calls the function.

    Attributes:
        function: from the input to the output. With several inputs, each is an argument of its name.
        name: the function's name.
        inputs: by name; the one input of a subject has the name "".
        keys: the columns that make the rows of different cases different; none where all rows belong together.
        delay: how far (ms) the watermark stays behind; None where the function has no watermark.
        durations: times (ms) that the function goes by, beside those that the engine finds in it.
        values: column -> the values to draw for it (JSON), in the place of values of its type.
        settings: settings of the engine's session.
        leave_out: question -> why it is not asked.
        engine: the engine that runs it, "" for the one whose type the function is annotated with.
        options: what the engine alone knows.
        previous: the version whose checkpoint this one goes on from; None for a subject that is asked by itself.
        other: the query that must give the same answers; None for a subject that is asked by itself.
    """

    function: Callable[..., Any]
    name: str
    inputs: Mapping[str, Input]
    keys: tuple[str, ...] = ()
    delay: int | None = None
    output: Output = Output()
    durations: tuple[int, ...] = ()
    values: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)
    leave_out: Mapping[str, str] = field(default_factory=dict)
    engine: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    previous: Subject | None = None
    other: Subject | None = None
    conformance_loads: ClassVar[bool] = True

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        return self.function(*arguments, **named)

    @property
    def summary(self) -> str:
        """The first paragraph of the function's docstring, as one line."""
        return " ".join((inspect.getdoc(self.function) or "").partition("\n\n")[0].split())

    @property
    def columns(self) -> list[Column]:
        """The columns of all inputs."""
        return [column for each in self.inputs.values() for column in each.columns]

    @property
    def times(self) -> tuple[str, ...]:
        """The columns of event time, of the inputs that have one."""
        return tuple(each.time for each in self.inputs.values() if each.time)

    @property
    def own_key(self) -> str:
        """The key column whose values can be made a case's own: the first one of texts or of whole numbers, "" for
        none."""
        for name in self.keys:
            mine = [column for column in self.columns if column.name == name]
            if all(isinstance(column.type, String | Int) and not column.narrow for column in mine):
                return name
        return ""

    def column(self, of: str, name: str) -> Column | None:
        return next((column for column in self.inputs[of].columns if column.name == name), None)


GIVEN = object()


def subject(
    *,
    schema: Any,
    key: Any = GIVEN,
    time: str | Mapping[str, str] = "",
    delay: str = "",
    output_mode: str = "append",
    output_key: str | Iterable[str] = (),
    durations: str | Iterable[str] = (),
    values: Mapping[str, Iterable[Any]] | None = None,
    settings: Mapping[str, str] | None = None,
    leave_out: str | Iterable[str] | Mapping[str, str] = (),
    engine: str = "",
    ignore: str | Iterable[str] = (),
    **options: Any,
) -> Callable[[Callable[..., Any]], Subject]:
    """Declare a function to be a subject.

    Args:
        schema: the columns of the input, in DDL or as a StructType. With several inputs: name of an argument -> its
            columns.
        key: the column, or the columns, that the function's operators go by; None where they go by none.
        time: the column of event time, a timestamp or a long (ms since the epoch). With several inputs it may differ:
            name of an argument -> its column.
        delay: the watermark's delay, such as "10 seconds"; nothing where the function sets no watermark.
        output_mode: "append", "update" or "complete".
        output_key: in update mode, the columns of the output that tell one answer from another.
        durations: times that the function goes by and that its plan does not show, such as those in a Python function.
        values: column -> the values to draw for it.
        settings: settings of the engine's session.
        leave_out: ids of questions that are not asked of this subject; or id -> why.
        engine: the engine, where the function's annotations do not tell.
        ignore: columns of the output that are not compared, such as the time at which a row was written.
        options: more of what the engine knows.

    Raises:
        InvalidSubject: the declaration cannot be used. The message says how to mend it.
    """

    def declare(function: Callable[..., Any]) -> Subject:
        name = getattr(function, "__name__", type(function).__name__)
        if not callable(function):
            raise InvalidSubject(f"@subject stands above a function, not {type(function).__name__}")
        try:
            return _declared(function, name)
        except InvalidSubject as error:
            raise InvalidSubject(f"subject {name}: {error}") from None

    def _declared(function: Callable[..., Any], name: str) -> Subject:
        schemas = _schemas(schema)
        if strange := sorted(set(time if isinstance(time, Mapping) else ()) - {*schemas}):
            raise InvalidSubject(f"time: {strange[0]!r} is no input; {instead(strange[0], sorted(schemas))}")
        if text := next((column for column, given in (values or {}).items() if isinstance(given, str)), ""):
            raise InvalidSubject(f"values: {text!r} has a text; list the values, such as [{(values or {})[text]!r}]")
        inputs = {
            of: Input(columns_of(text), text, time if isinstance(time, str) else time.get(of, ""))
            for of, text in schemas.items()
        }
        left = {leave_out: ""} if isinstance(leave_out, str) else leave_out
        found = Subject(
            function,
            name,
            inputs,
            _keys(key, inputs),
            duration(delay, "delay") if delay else None,
            Output(output_mode, _several(output_key), _several(ignore)),
            tuple(duration(text, "a duration") for text in _several(durations)),
            {column: tuple(given) for column, given in (values or {}).items()},
            dict(settings or {}),
            dict(left) if isinstance(left, Mapping) else dict.fromkeys(left, ""),
            engine,
            options,
        )
        _check(found)
        return found

    return declare


ARGUMENTS = tuple(name for name in inspect.signature(subject).parameters if name != "options")
"""What a declaration says of any subject; an engine may know more."""


def _schemas(given: Any) -> dict[str, str]:
    """Name of an input -> its schema as text. Spark's own schemas tell themselves."""
    if not isinstance(given, Mapping):
        given = {ONE: given}
    found: dict[str, str] = {}
    for of, schema in given.items():
        text = ", ".join(f"`{f.name}` {f.dataType.simpleString()}" for f in getattr(schema, "fields", ())) or schema
        if not isinstance(text, str):
            raise InvalidSubject(f"schema is a text such as 'user string, at timestamp', not {schema!r:.60}")
        found[of] = text
    return found


def _several(given: str | Iterable[str]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given)


def _keys(given: Any, inputs: Mapping[str, Input]) -> tuple[str, ...]:
    if given is GIVEN:
        raise InvalidSubject(
            "key is missing; name the column that its operators go by, or say key=None if they go by none"
        )
    keys = () if given is None else _several(given)
    for name in keys:
        for of, each in inputs.items():
            names = [column.name for column in each.columns]
            if name not in names:
                where = f"the input {of!r}" if of else "the schema"
                raise InvalidSubject(f"key {name!r} is no column of {where}; {instead(name, names, 'it has')}")
    return keys


def _check(found: Subject) -> None:
    mode = found.output.mode
    if mode not in MODES:
        raise InvalidSubject(f"unknown output_mode {mode!r}; {instead(mode, MODES)}")
    for of, each in found.inputs.items():
        name, column = each.time, found.column(of, each.time)
        if name and (column is None or not isinstance(column.type, Timestamp | Long)):
            times = [c.name for c in each.columns if isinstance(c.type, Timestamp | Long)]
            raise InvalidSubject(
                f"time {name!r} is no column of the schema that is a timestamp, or a long (ms since the epoch); "
                f"{instead(name, times, 'there are')}"
            )
    if found.delay is not None and not found.times:
        raise InvalidSubject("delay needs time: name the column of event time that the watermark goes by")
    known = {column.name for column in found.columns}
    if strange := sorted({*found.values} - known):
        raise InvalidSubject(f"values: {strange[0]!r} is no column; {instead(strange[0], sorted(known))}")
    for name, given in found.values.items():
        if not given:
            raise InvalidSubject(f"values: {name!r} has none; list at least one")
        kinds = [column.type for column in found.columns if column.name == name]
        if wrong := next((said for kind in kinds for value in given if (said := misfit(kind, value, name))), ""):
            raise InvalidSubject(f"values: {wrong}; write it as in JSON")


def next_version(previous: Subject, subject: Subject) -> Subject:
    """The subject as the version behind another one.

    Raises:
        InvalidSubject: the two are not given the same inputs.
    """
    if set(previous.inputs) != set(subject.inputs):
        raise InvalidSubject(
            f"subject {subject.name}: its inputs are {_names(subject.inputs)}, those of {previous.name} before it "
            f"{_names(previous.inputs)}; a checkpoint belongs to its inputs"
        )
    for of, each in previous.inputs.items():
        for column in each.columns:
            if subject.column(of, column.name) is None:
                raise InvalidSubject(
                    f"subject {subject.name}: its schema has no column {column.name!r}, which {previous.name} "
                    "before it reads; name it in the schema of both: rows are drawn from the later one"
                )
    return replace(subject, previous=previous)


def answering_like(subject: Subject, other: Subject) -> Subject:
    """The subject as one that another one must answer like.

    Raises:
        InvalidSubject: the two are not given the same rows.
    """
    mine, theirs = (
        {of: ({column.name: column.type for column in each.columns}, each.time) for of, each in one.inputs.items()}
        for one in (subject, other)
    )
    if mine != theirs:
        raise InvalidSubject(
            f"subject {subject.name}: its inputs, their columns or its time are not those of {other.name}, which must "
            "give the same answers to the same rows"
        )
    return replace(subject, other=other)


def taken_back(subject: Subject) -> Subject | None:
    """The version before a subject, as one that goes on behind the subject again; None where the subject reads what
    that version is not given."""
    before = subject.previous
    if before is None:
        return None
    try:
        return replace(next_version(subject, before), name=f"{before.name}, taken back from {subject.name}")
    except InvalidSubject:
        return None


def begun_by(subject: Subject, numbers: Sequence[int]) -> list[tuple[Subject, Sequence[int]]]:
    """Which version runs which of the micro-batches before a restart: the versions before a subject one after the
    other, each as many as the next one."""
    versions: list[Subject] = []
    while subject.previous:
        subject = subject.previous
        versions.insert(0, subject)
    ends = [len(numbers) * place // len(versions) for place in range(len(versions) + 1)]
    parts = [numbers[begin:end] for begin, end in pairwise(ends)]
    return [(version, part) for version, part in zip(versions, parts, strict=True) if part]


def _names(inputs: Mapping[str, Any]) -> str:
    return ", ".join(name or "one" for name in inputs)
