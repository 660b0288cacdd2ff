"""What Spark's analyzer says of a subject's function: its output, the times that it goes by, and what tells its answers
apart."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any
from zoneinfo import available_timezones

from conformance.engines.spark.runtime import session
from conformance.subjects.answers import ONE_ANSWER
from conformance.subjects.driver import Facts
from conformance.subjects.schema import UNITS, InvalidSubject

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from conformance.subjects.subject import Subject

WORDS = re.compile(rf"\b(\d+)\s+({'|'.join(UNITS)})s?\b", re.IGNORECASE)
MICROS = re.compile(r"[%+-] (\d{4,})\)")
CONVERSION = "precisetimestampconversion"
ZONE = re.compile(r"[A-Z][A-Za-z_]+(?:/[A-Z][A-Za-z_-]+)+")
INTERVAL = re.compile(r"INTERVAL '(-?)([\d:. ]+)' ([A-Z]+)(?: TO [A-Z]+)?")

PROCESSORS = (
    "TransformWithState",
    "FlatMapGroupsWithState",
    "FlatMapGroupsInPandasWithState",
    "ApplyInPandasWithState",
)
"""Operators that call a user's function with state, as plans name them (Spark 4.3.0)."""


def facts_of(subject: Subject, output: DataFrame, folder: str) -> Facts:
    """What a function's DataFrame is. Raises InvalidSubject where it reads a stream that is not in the folder of its
    inputs."""
    plan = output._jdf.queryExecution().analyzed()
    text = plan.toString()
    nodes = [*_nodes(plan)]
    for leaf in (node for node in nodes if not node.children().size() and node.isStreaming()):
        if folder not in leaf.toString():
            raise InvalidSubject(
                f"subject {subject.name}: it reads a stream itself ({leaf.toString():.60}); take it as an argument, "
                "with its columns in schema"
            )
    names = [node.nodeName() for node in nodes]
    processor = next((name for name in names if name.startswith(PROCESSORS)), "")
    refused = {}
    if processor:
        refused["bounded"] = f"a batch query fires no timer of {processor}"
    key = _output_key(subject, output, nodes, processor)
    timeless = "EventTimeWatermark" not in names
    return Facts(
        tuple(output.columns), tuple(durations(text)), key, refused, _delay(nodes), _timed(nodes), zones(text), timeless
    )


def check_accepted(subject: Subject, output: DataFrame) -> None:
    """Raises InvalidSubject where Spark refuses the query in its output mode, such as for state without a bound."""
    if not output.isStreaming:
        raise InvalidSubject(
            f"subject {subject.name}: the function's output is no stream; make it of the DataFrame that it is given"
        )
    plan = output._jdf.queryExecution().analyzed()
    checker = output.sparkSession._jvm.org.apache.spark.sql.catalyst.analysis.UnsupportedOperationChecker
    modes = output.sparkSession._jvm.org.apache.spark.sql.streaming.OutputMode
    try:
        checker.checkForStreaming(plan, getattr(modes, subject.output.mode.capitalize())())
    except Exception as error:
        raise InvalidSubject(
            f"subject {subject.name}: Spark refuses the query in {subject.output.mode} mode: {session.cause(error)}"
        ) from None


def goes_by_the_clock(output: DataFrame) -> bool:
    """Whether an operator of a function's DataFrame may have timers, or state that expires, in processing time."""
    modes = {"TransformWithState": "timeMode", "FlatMapGroups": "timeout"}
    nodes = [*_nodes(output._jdf.queryExecution().analyzed())]
    return any(
        getattr(node, mode)().toString().startswith("ProcessingTime")
        for node in nodes
        for name, mode in modes.items()
        if node.nodeName().startswith(PROCESSORS) and node.nodeName().startswith(name)
    )


def _delay(nodes: list[Any]) -> int | None:
    """How far (ms) the watermark stays behind, the furthest of several; None without one, or with one by months."""
    found = []
    for node in nodes:
        if node.nodeName() == "EventTimeWatermark":
            text = node.delay().toString()
            parts = WORDS.findall(text)
            if "month" in text or "year" in text:
                return None
            found.append(sum(int(number) * UNITS[unit.lower()] for number, unit in parts))
    return max(found, default=None)


def _timed(nodes: list[Any]) -> tuple[str, ...]:
    """The columns of inputs that watermarks go by. What the function has computed is none of them."""
    read = {each.exprId().id() for node in nodes if not node.children().size() for each in _each(node.output())}
    marks = [node.eventTime() for node in nodes if node.nodeName() == "EventTimeWatermark"]
    return tuple(each.name() for each in marks if each.exprId().id() in read)


def durations(plan: str) -> list[int]:
    """The times (ms) in the text of an analyzed plan: of windows, of gaps, of intervals, of watermarks."""
    found = {int(number) * UNITS[unit.lower()] for number, unit in WORDS.findall(plan)}
    for line in plan.splitlines():
        if CONVERSION in line:
            found |= {int(number) // 1_000 for number in MICROS.findall(line)}
    for _, text, unit in INTERVAL.findall(plan):
        found.add(_interval(text, unit.lower()))
    return sorted(found - {0})


def zones(plan: str) -> tuple[str, ...]:
    """The time zones in the text of an analyzed plan: the session's, of expressions that go by local times, and those
    that functions name."""
    return tuple(sorted({*ZONE.findall(plan)} & available_timezones()))


def _interval(text: str, unit: str) -> int:
    """The ms of an interval as Spark writes it, such as '01' HOUR, '0 00:10:00' DAY TO SECOND or '01:30' MINUTE TO
    SECOND."""
    *days, rest = text.split()
    units = ("hour", "minute", "second")
    if unit == "day" and not days:
        return int(float(rest) * UNITS["day"]) if ":" not in rest else 0
    start = 0 if days or unit not in units else units.index(unit)
    parts = zip(rest.split(":"), units[start:], strict=False)
    return sum(int(d) * UNITS["day"] for d in days) + round(sum(float(n) * UNITS[u] for n, u in parts if n))


def _nodes(plan: Any) -> Iterator[Any]:
    yield plan
    for child in _each(plan.children()):
        yield from _nodes(child)


def _output_key(subject: Subject, output: DataFrame, nodes: list[Any], processor: str) -> tuple[str, ...] | None:
    """The columns that tell one answer from another in update mode: those of the last grouping that the output has,
    those of the key where a processor makes the output, and none where nothing is updated. None where these columns
    are not in the output."""
    if subject.output.mode != "update":
        return ()
    grouping = next((node for node in nodes if node.nodeName() == "Aggregate"), None)
    if grouping is None:
        keys = tuple(key for key in subject.keys if key in output.columns)
        return (keys or None) if processor else ()
    expressions = _each(grouping.groupingExpressions())
    if not expressions:
        return ONE_ANSWER
    names = [_name_of(expression, grouping, nodes) for expression in expressions]
    return tuple(names) if set(names) <= set(output.columns) else None


def _name_of(expression: Any, grouping: Any, nodes: list[Any]) -> str:
    """What the output calls an expression that rows are grouped by; "" where it does not have it."""
    ids = set()
    for named in _each(grouping.aggregateExpressions()):
        if _inner(named).semanticEquals(expression):
            ids.add(named.exprId().id())
    for node in reversed(nodes[: nodes.index(grouping)]):
        if node.nodeName() == "Project":
            ids |= {
                named.exprId().id()
                for named in _each(node.projectList())
                if _inner(named).nodeName() == "AttributeReference" and _inner(named).exprId().id() in ids
            }
    return next((each.name() for each in _each(nodes[0].output()) if each.exprId().id() in ids), "")


def _inner(named: Any) -> Any:
    """The expression that has a name."""
    return named.child() if named.nodeName() == "Alias" else named


def _each(sequence: Any) -> list[Any]:
    return [sequence.apply(number) for number in range(sequence.size())]
