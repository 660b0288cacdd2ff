"""What a user's function makes of its inputs, and what its pipeline goes by, without running it."""

from __future__ import annotations

import inspect
import re
import traceback
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conformance.subjects.schema import InvalidSubject

if TYPE_CHECKING:
    from conformance.subjects.subject import Subject

MAIN = "main"
"""What the main output of ``with_outputs`` is called where the user gives it no name."""

LINE = re.compile(r'File "([^"\n]+)", line (\d+)')
LACKS = re.compile(r'^unsupported feature "(.*?)"(?: set with value|$)', re.MULTILINE)
STALLED = "exceptions must derive from BaseException"
"""What Python says where the bundle-based DirectRunner means to tell of a pipeline that stalls (Beam 2.77.0)."""

STALLS = "the bundle-based DirectRunner stalls: rows are held back, such as by a trigger that nothing fires at the end"

LEFT = re.compile(r"Transform node AppliedPTransform\(([^/,]+).* was not replaced as expected", re.DOTALL)
"""What Beam says where the bundle-based DirectRunner has no way to run a part of a transform (2.77.0): a splittable
DoFn, for example."""

RAISED = re.compile(r"^(?:\w+\.)*(\w*(?:Error|Exception|Interrupt|Exit)\b.*)$", re.MULTILINE)


def built(subject: Subject, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """What the function makes of its inputs, by name. Raises InvalidSubject."""
    from apache_beam import PCollection, PTransform

    try:
        made = subject.function(*inputs.values()) if "" in inputs else subject.function(**inputs)
    except Exception as error:
        raise InvalidSubject(f"subject {subject.name}: the function raised {cause(subject, error)}") from None
    outputs = outputs_of(made)
    for output in outputs.values():
        if not isinstance(output, PCollection):
            apply = "; apply it to the argument with |" if isinstance(output, PTransform) else ""
            raise InvalidSubject(
                f"subject {subject.name}: the function gave a {type(output).__name__}, not a PCollection, or "
                f"several by name{apply}"
            )
    if not any(_comes_from(output, {*inputs.values()}) for output in outputs.values()):
        raise InvalidSubject(
            f"subject {subject.name}: nothing of its output comes from its input; what it reads itself, it should take "
            "as an argument"
        )
    return outputs


def _comes_from(output: Any, inputs: set[Any]) -> bool:
    """Whether a PCollection is made of any of some others."""
    seen, ahead = set(), [output]
    while ahead:
        value = ahead.pop()
        if value in inputs:
            return True
        if value not in seen and (producer := getattr(value, "producer", None)):
            ahead += [*producer.inputs, *(side.pvalue for side in producer.side_inputs)]
        seen.add(value)
    return False


def outputs_of(made: Any) -> dict[str, Any]:
    """What a function made, by name: a PCollection alone has the name ""."""
    from apache_beam.pvalue import DoOutputsTuple

    if isinstance(made, DoOutputsTuple):
        return {made._main_tag or MAIN: made[made._main_tag], **{tag: made[tag] for tag in made._tags}}
    return dict(made) if isinstance(made, Mapping) else {"": made}


def durations(pipeline: Any) -> Iterable[int]:
    """The sizes, periods, gaps and lateness (ms) of the windows in a pipeline, and for how long it leaves out
    duplicates."""
    from apache_beam.pipeline import PipelineVisitor

    found: set[int] = set()

    class Visitor(PipelineVisitor):
        def visit_value(self, value: Any, producer: Any) -> None:
            windows = value.windowing.windowfn
            found.add(value.windowing.allowed_lateness.micros // 1_000)
            for name in ("size", "period", "gap_size"):
                if (length := getattr(windows, name, None)) is not None:
                    found.add(int(float(length) * 1_000))

        def enter_composite_transform(self, node: Any) -> None:
            if (length := getattr(node.transform, "event_time_duration", None)) is not None:
                found.add(int(float(length) * 1_000))

    pipeline.visit(Visitor())
    return sorted(found - {0})


def by_the_clock(pipeline: Any) -> bool:
    """Whether a DoFn of a pipeline has a timer in processing time, or a trigger goes by it. Beam's own that declare a
    timer and never set it have none."""
    from apache_beam import ParDo
    from apache_beam.pipeline import PipelineVisitor
    from apache_beam.transforms.timeutil import TimeDomain
    from apache_beam.transforms.userstate import get_dofn_specs

    found: list[bool] = []
    unset: list[Any] = []

    class Visitor(PipelineVisitor):
        def enter_composite_transform(self, node: Any) -> None:
            if _never_set(node.transform):
                unset.append(node)

        def leave_composite_transform(self, node: Any) -> None:
            if unset and unset[-1] is node:
                unset.pop()

        def visit_transform(self, node: Any) -> None:
            if isinstance(node.transform, ParDo) and not unset:
                timers = get_dofn_specs(node.transform.fn)[1]
                found.extend(timer.time_domain == TimeDomain.REAL_TIME for timer in timers)

        def visit_value(self, value: Any, producer: Any) -> None:
            found.append(_waits(value.windowing.triggerfn))

    pipeline.visit(Visitor())
    return any(found)


def _waits(trigger: Any) -> bool:
    """Whether a trigger, or one in it, waits in processing time."""
    from apache_beam.transforms.trigger import AfterProcessingTime

    parts = [getattr(trigger, name, None) for name in ("early", "late", "underlying")]
    parts += getattr(trigger, "triggers", ())
    return isinstance(trigger, AfterProcessingTime) or any(_waits(part) for part in parts if part is not None)


def beside_windows(pipeline: Any) -> bool:
    """Whether a side input of a pipeline is in windows."""
    from apache_beam.pipeline import PipelineVisitor
    from apache_beam.transforms.window import GlobalWindows

    found: list[bool] = []

    class Visitor(PipelineVisitor):
        def visit_transform(self, node: Any) -> None:
            found.extend(side.pvalue.windowing.windowfn != GlobalWindows() for side in node.side_inputs)

    pipeline.visit(Visitor())
    return any(found)


def _never_set(transform: Any) -> bool:
    """Whether one of Beam's transforms has no time of the clock to wait for."""
    from apache_beam import GroupIntoBatches
    from apache_beam.transforms.deduplicate import DeduplicatePerKey

    if isinstance(transform, GroupIntoBatches):
        return not transform.params.max_buffering_duration_secs
    return isinstance(transform, DeduplicatePerKey) and transform.processing_time_duration is None


def lacking(error: BaseException) -> bool:
    """Whether a runner says that it has no such thing: Prism tells so when it is given the pipeline (2.77.0)."""
    return any(said.search(_words(error)) for said in (LACKS, LEFT))


def _words(error: BaseException) -> str:
    """What an exception says; one of a call to a runner's process says it in its details."""
    details = getattr(error, "details", None)
    return str((details() if callable(details) else "") or error).strip()


def cause(subject: Subject, error: BaseException) -> str:
    """What a function or a run failed with: the exception's type, its words, and the line in the user's file."""
    text = _words(error)
    if found := LACKS.search(text):
        return found[1]
    if found := LEFT.search(text):
        return f"the bundle-based DirectRunner does not run {found[1]}"
    if text == STALLED:
        return STALLS
    words = f"{type(error).__name__}: {(text.splitlines() or [''])[0]}".removesuffix(": ")
    if "Traceback (most recent call last)" in text:  # a runner's words about an exception of a worker
        words = next(reversed(RAISED.findall(text)), words)
    return words[:400] + _line(subject, error, text)


def _line(subject: Subject, error: BaseException, text: str) -> str:
    """The last line of the user's file that an exception came through, in brackets; "" for none."""
    try:
        file = inspect.getsourcefile(inspect.unwrap(subject.function))
    except TypeError:
        return ""
    lines = [(frame.filename, frame.lineno) for frame in traceback.extract_tb(error.__traceback__)]
    lines += [(name, int(line)) for name, line in LINE.findall(text)]
    mine = [line for name, line in lines if file and Path(name) == Path(file)]
    return f" ({Path(file or '').name}, line {mine[-1]})" if mine else ""
