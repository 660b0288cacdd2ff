"""Subjects on Beam: a user's function from PCollection to PCollection, or to several of them by name, under TestStream
or over bounded input.

An element is an object of columns, or what the option ``element`` makes of it. Each micro-batch is a bundle of a
TestStream on the bundle-based DirectRunner, and the watermark follows it by the delay. The options of ``subject`` that
are Beam's own:

``windowing``
    What the input is put into before the function: a WindowInto, or a WindowFn.
``element``
    From an object of columns to an element.
``output``
    From an element of the output to an object of columns, where it is neither an object nor a pair of key and value.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conformance.engines.beam.runners import environment, prism_binary
from conformance.engines.beam.subjects.script import FNAPI, PRISM, script
from conformance.model.engine import CannotRun
from conformance.model.types import Timestamp, changed
from conformance.model.values import Json
from conformance.subjects import questions
from conformance.subjects.answers import Ran
from conformance.subjects.driver import Facts
from conformance.subjects.questions import Asked, NotAsked, Question, Run
from conformance.subjects.schema import InvalidSubject, millis
from conformance.subjects.setup import Given, Setup

if TYPE_CHECKING:
    from packaging.version import Version

    from conformance.subjects.questions import Pair
    from conformance.subjects.subject import Subject

OPTIONS = ("windowing", "element", "output")


def _on(runner: str, asked: Asked) -> Any:
    if runner == PRISM:
        try:
            prism_binary.check()
        except CannotRun as error:
            raise NotAsked(str(error)) from None
    yield Run(asked.delivery, Setup(where=runner, bounded=runner == FNAPI))


QUESTIONS = (
    questions.AGAIN,
    questions.ORDER,
    questions.SPLITS,
    questions.EMPTY,
    questions.TIME,
    replace(questions.BOUNDED, means="The same rows as bounded input give the same answer."),
    Question("fnapi", "FnApiRunner over bounded input gives the same answer.", partial(_on, FNAPI)),
    Question("prism", "Prism gives the same answer under the same TestStream.", partial(_on, PRISM)),
)


class BeamSubjects:
    """Pipelines in this process; Prism is started at the first question about it."""

    package = "apache-beam"
    annotation = "PCollection"
    batch = "bundle"
    packs = 24
    closes = False
    before = None
    foreign: tuple[str, ...] = ()
    questions: tuple[Question, ...] = QUESTIONS

    def __init__(self) -> None:
        self._prism: Any = None

    def beside(self, version: Version) -> tuple[str, ...]:
        return ()

    @property
    def version(self) -> str:
        import apache_beam

        return f"Beam {apache_beam.__version__}"

    def check(self) -> None:
        environment.check()

    def open(self, folder: Path, modules: Sequence[Any]) -> None:
        logging.getLogger().setLevel(logging.ERROR)

    def close(self) -> None:
        if self._prism:
            self._prism.close()

    def look(self, subject: Subject) -> Facts:
        import apache_beam as beam

        if strange := sorted({*subject.options} - {*OPTIONS}):
            raise InvalidSubject(
                f"subject {subject.name}: unknown argument {strange[0]!r}; Beam's own are {', '.join(OPTIONS)}"
            )
        pipeline = beam.Pipeline()
        _built(subject, {of: pipeline | f"input {of}" >> beam.Create([]) for of in subject.inputs})
        return Facts(durations=tuple(_durations(pipeline)), output_key=(*subject.keys, "window"))

    def run(self, subject: Subject, given: Given, setup: Setup) -> Ran:
        import apache_beam as beam
        from apache_beam.options.pipeline_options import PipelineOptions
        from apache_beam.runners.direct.direct_runner import BundleBasedDirectRunner
        from apache_beam.runners.portability.fn_api_runner.fn_runner import FnApiRunner
        from apache_beam.runners.portability.prism_runner import PrismRunner

        from conformance.engines.beam.subjects import sink as subject_sink

        taken: list[dict[str, Json]] = []
        wait: Callable[[Callable[[], Any]], Any] = lambda call: call()  # noqa: E731
        options = [] if setup.bounded else ["--streaming"]
        runner: Any = BundleBasedDirectRunner()
        if setup.where == FNAPI:
            runner = FnApiRunner()
        elif setup.where == PRISM:
            server = self._server()
            runner, wait, options = PrismRunner(), server.within, [*options, *server.options()]
        try:
            with subject_sink.taking(taken):
                pipeline = beam.Pipeline(runner=runner, options=PipelineOptions(options))
                outputs = _built(subject, _inputs(subject, pipeline, given, setup.bounded))
                for name, output in outputs.items():
                    output | f"take {name}" >> beam.ParDo(
                        subject_sink.Take(name, subject.own_key, subject.options.get("output"))
                    )
                wait(lambda: pipeline.run().wait_until_finish())
        except InvalidSubject as unusable:
            return Ran(error=str(unusable))
        except Exception as error:
            return Ran(error=_cause(error))
        return Ran({0: tuple(taken)})

    def script(self, subject: Subject, pair: Pair, title: str, file: Path, out: Path) -> str:
        return script(subject, pair, title, file, out, self.version)

    def _server(self) -> Any:
        from conformance.engines.beam.runners import prism_server

        if self._prism is None:
            self._prism = prism_server.PrismServer(prism_binary.obtain())
        return self._prism


def _inputs(subject: Subject, pipeline: Any, given: Given, bounded: bool) -> dict[str, Any]:
    """The inputs of a subject, in the windows that it asks for."""
    import apache_beam as beam
    from apache_beam.transforms.window import TimestampedValue
    from apache_beam.utils.timestamp import Timestamp as Moment

    found: dict[str, Any] = {}
    for of in subject.inputs:
        time = subject.time[of]
        make = partial(_element, subject, of)

        def at(row: Mapping[str, Json], time: str = time) -> Any:
            return Moment(micros=millis(row[time]) * 1_000) if time else Moment(0)

        if bounded:
            rows = [TimestampedValue(row, at(row)) for batch in given for row in batch.get(of, ())]
            created = pipeline | f"rows {of}" >> beam.Create(
                [(row.value, row.timestamp) for row in rows], reshuffle=False
            )
            elements = created | f"at {of}" >> beam.MapTuple(TimestampedValue)
        else:
            elements = pipeline | f"rows {of}" >> _stream(
                subject, [[TimestampedValue(r, at(r)) for r in b.get(of, ())] for b in given]
            )
        elements = elements | f"element {of}" >> beam.Map(make)
        windowing = subject.options.get("windowing")
        if windowing is not None:
            into = windowing if isinstance(windowing, beam.PTransform) else beam.WindowInto(windowing)
            elements = elements | f"windows {of}" >> into
        found[of] = elements
    return found


def _stream(subject: Subject, batches: Sequence[Sequence[Any]]) -> Any:
    """A bundle for each micro-batch; the watermark follows the latest element by the delay, and ends behind all."""
    from apache_beam.testing.test_stream import TestStream
    from apache_beam.utils.timestamp import MIN_TIMESTAMP, Duration

    stream, latest, reached = TestStream(), None, MIN_TIMESTAMP
    for batch in batches:
        stream = stream.add_elements(list(batch))
        latest = (
            max((e.timestamp for e in batch), default=None)
            if latest is None
            else max([latest, *(e.timestamp for e in batch)])
        )
        if subject.delay is not None and latest is not None:
            watermark = latest - Duration(micros=subject.delay * 1_000)
            if watermark > reached:
                stream, reached = stream.advance_watermark_to(watermark), watermark
    return stream.advance_watermark_to_infinity()


def _element(subject: Subject, of: str, row: dict[str, Json]) -> Any:
    """The element of a row: moments are Python's own."""
    from datetime import datetime

    def read(kind: Any, value: Any) -> Any:
        if isinstance(kind, Timestamp) and isinstance(value, str):
            return datetime.fromisoformat(value.replace("Z", "+00:00"))
        return value

    found = {column.name: changed(column.type, row[column.name], read) for column in subject.inputs[of]}
    make = subject.options.get("element")
    return make(found) if make else found


def _built(subject: Subject, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """What the function makes of its inputs, by name. Raises InvalidSubject."""
    from apache_beam import PCollection

    try:
        made = subject.function(*inputs.values()) if "" in inputs else subject.function(**inputs)
    except Exception as error:
        raise InvalidSubject(
            f"subject {subject.name}: the function raised {type(error).__name__}: {_cause(error)}"
        ) from None
    outputs = made if isinstance(made, Mapping) else {"": made}
    for output in outputs.values():
        if not isinstance(output, PCollection):
            raise InvalidSubject(
                f"subject {subject.name}: the function gave a {type(output).__name__}, not a PCollection, or "
                "several by name"
            )
    return dict(outputs)


def _durations(pipeline: Any) -> Iterable[int]:
    """The sizes, periods and gaps (ms) of the windows in a pipeline."""
    from apache_beam.pipeline import PipelineVisitor

    found: set[int] = set()

    class Visitor(PipelineVisitor):
        def visit_value(self, value: Any, producer: Any) -> None:
            windows = value.windowing.windowfn
            for name in ("size", "period", "gap_size"):
                if (length := getattr(windows, name, None)) is not None:
                    found.add(int(float(length) * 1_000))

    pipeline.visit(Visitor())
    return sorted(found)


def _cause(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:400]


DRIVER = BeamSubjects()
