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
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conformance.engines.beam.pipelines import framework as beam
from conformance.engines.beam.runners import environment, prism_binary
from conformance.engines.beam.subjects import late, looking
from conformance.engines.beam.subjects.script import FNAPI, PRISM, script
from conformance.engines.beam.subjects.through import unchanged
from conformance.engines.beam.subjects.waiting import ended
from conformance.model.engine import CannotRun
from conformance.model.types import Timestamp, changed
from conformance.model.values import Json
from conformance.subjects import questions
from conformance.subjects.answers import Ran
from conformance.subjects.driver import Facts
from conformance.subjects.questions import Asked, NotAsked, Question, Run
from conformance.subjects.schema import InvalidSubject, millis
from conformance.subjects.setup import PLAIN, Given, Setup
from conformance.subjects.subject import ONE

if TYPE_CHECKING:
    from packaging.version import Version

    from conformance.subjects.questions import Pair
    from conformance.subjects.subject import Subject

BY_THE_CLOCK = dict.fromkeys(("bounded", "fnapi", "prism"), "its timers or triggers go by the clock")
"""The questions that a subject with timers or triggers in processing time is not asked: there the clock decides when
they fire."""

HANGS = "the bundle-based DirectRunner fails, or does not end, where a bundle without rows has a side input in windows"
"""Why a pipeline with such side inputs is not asked about empty bundles, which a filter before it makes, too (Beam
2.77.0)."""

HOUR = 3_600


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
    questions.OTHERS,
    questions.EMPTY,
    replace(questions.THROUGH, means="Transforms before it that change no element change nothing."),
    questions.TIME,
    replace(
        questions.LATE,
        means="Rows whose windows have expired, by their end and the allowed lateness, change nothing.",
        make=late.make,
        judge=late.judge,
    ),
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
    parallel = 1
    heavy = False
    guide = Path(__file__).with_name("guide.py")
    roots = staticmethod(prism_binary.roots)
    before = None
    missed = ""
    options = ("windowing", "element", "output")
    foreign: tuple[str, ...] = ()
    questions: tuple[Question, ...] = QUESTIONS

    def __init__(self) -> None:
        self._prism: Any = None
        self._by_the_clock: set[str] = set()

    def beside(self, version: Version) -> tuple[str, ...]:
        return ()

    @property
    def version(self) -> str:
        return f"Beam {beam.__version__}"

    def check(self) -> None:
        environment.check()

    def open(self, folder: Path, modules: Sequence[Any]) -> None:
        logging.getLogger().setLevel(logging.ERROR)

    def close(self) -> None:
        if self._prism:
            self._prism.close()

    def look(self, subject: Subject) -> Facts:
        from apache_beam.testing.test_stream import TestStream

        from conformance.engines.beam.subjects.sink import output_key

        pipeline = beam.Pipeline()
        # Of an input without an end Beam refuses more: a grouping in the global window, for example.
        inputs = {of: pipeline | f"input {of}" >> TestStream() for of in subject.inputs}
        windowed = {of: _windowed(subject, of, elements) for of, elements in inputs.items()}
        outputs = looking.built(subject, windowed)
        self._by_the_clock.discard(subject.name)
        refused = {}
        if looking.by_the_clock(pipeline):
            self._by_the_clock.add(subject.name)
            refused.update(BY_THE_CLOCK)
        if looking.beside_windows(pipeline):
            refused.update(empty=HANGS, plan=HANGS, late=HANGS)
        if why := late.places(pipeline, windowed, outputs)[1]:
            refused["late"] = why
        return Facts(
            durations=tuple(looking.durations(pipeline)),
            output_key=output_key(subject),
            refused=refused,
        )

    def run(self, subject: Subject, given: Given, setup: Setup) -> Ran:
        try:
            taken = self._taken(subject, given, setup)
            expire = self._expiring(subject, given, setup.passed) if setup.passed else None
        except InvalidSubject as unusable:
            return Ran(error=str(unusable))
        except CannotRun as missing:  # there is no Prism to be had: the pipeline did nothing wrong
            return Ran(error=str(missing), hindered=True)
        except Exception as error:
            return Ran(error=looking.cause(subject, error), refused=looking.lacking(error))
        if taken.refused:
            raise InvalidSubject(f"subject {subject.name}: {taken.refused[0]}")
        dropped = None if expire is None else len(expire)
        return Ran({0: tuple(taken.rows)}, dropped, stateful=any(row["states"] for row in expire or ()))

    def _expiring(self, subject: Subject, given: Given, passed: int) -> Sequence[Mapping[str, Any]]:
        """How the late rows of a run come to the first transforms that must drop them: a row for each of them; none if
        one may be in time."""
        rows = {of: [row for batch in given for row in batch.get(of, ())] for of in subject.inputs}
        if not all(rows.values()):
            return ()
        behind = {of: [row for row in rows[of] if _timed(subject, of, row).timestamp < passed / 1_000] for of in rows}
        found = self._taken(subject, [behind], PLAIN, observed=True).rows
        return found if all(row["expires"] < passed for row in found) else ()

    def _taken(self, subject: Subject, given: Given, setup: Setup, observed: bool = False) -> Any:
        """What a run puts out; or, if ``observed``, what comes to the first transforms that must drop late rows."""
        from apache_beam.options.pipeline_options import PipelineOptions
        from apache_beam.runners.direct.direct_runner import BundleBasedDirectRunner
        from apache_beam.runners.portability.fn_api_runner.fn_runner import FnApiRunner
        from apache_beam.runners.portability.prism_runner import PrismRunner

        from conformance.engines.beam.subjects import sink as subject_sink

        wait: Callable[[Callable[[], Any]], Any] = ended
        options = [] if setup.bounded else ["--streaming"]
        runner: Any = BundleBasedDirectRunner()
        if setup.where == FNAPI:
            runner, wait = FnApiRunner(), lambda call: call()
        elif setup.where == PRISM:
            server = self._server()
            runner, wait, options = PrismRunner(), server.within, [*options, *server.options()]
        with subject_sink.taking() as taken:
            pipeline = beam.Pipeline(runner=runner, options=PipelineOptions(options))
            inputs = _inputs(subject, pipeline, given, setup, subject.name in self._by_the_clock)
            outputs = looking.built(subject, inputs)
            if observed:
                for number, (come, states) in enumerate(late.places(pipeline, inputs, outputs)[0].items()):
                    lateness = come.windowing.allowed_lateness.micros // 1_000
                    come | f"expire {number}" >> beam.ParDo(subject_sink.Expires(lateness, states))
            else:
                key, read = subject_sink.key_of_pairs(subject), subject.options.get("output")
                for name, output in outputs.items():
                    output | f"take {name}" >> beam.ParDo(subject_sink.Take(name, key, read))
            wait(lambda: pipeline.run().wait_until_finish())
        return taken

    def script(self, subject: Subject, pair: Pair, title: str, file: Path, out: Path) -> str:
        return script(subject, pair, title, file, out, (self.version, subject.name in self._by_the_clock))

    def _server(self) -> Any:
        from conformance.engines.beam.runners import prism_server

        if self._prism is None:
            self._prism = prism_server.PrismServer(prism_binary.obtain())
        return self._prism


def _inputs(subject: Subject, pipeline: Any, given: Given, setup: Setup, clock: bool) -> dict[str, Any]:
    """The inputs of a subject, in the windows that it asks for. ``clock``: timers in processing time fire at the
    end."""
    from apache_beam.transforms.window import TimestampedValue

    # Prism does not end a TestStream of several outputs (Beam 2.77.0).
    made = None if setup.bounded else pipeline | "rows" >> _stream(subject, given, setup.where != PRISM, clock)
    found: dict[str, Any] = {}
    for of in subject.inputs:
        if made is None:
            rows = [_timed(subject, of, row) for batch in given for row in batch.get(of, ())]
            pairs = [(row.value, row.timestamp) for row in rows]
            created = pipeline | f"rows {of}" >> beam.Create(pairs, reshuffle=False)
            mine = created | f"at {of}" >> beam.MapTuple(TimestampedValue)
        else:
            mine = made[of] if isinstance(made, dict) else made | f"rows {of}" >> beam.Filter(partial(_is_of, of))
        elements = mine | f"element {of}" >> beam.Map(partial(_element, subject))
        elements = unchanged(elements, of) if setup.through else elements
        found[of] = _windowed(subject, of, elements)
    return found


def _windowed(subject: Subject, of: str, elements: Any) -> Any:
    """An input in the windows that its subject asks for. Raises InvalidSubject."""
    windowing = subject.options.get("windowing")
    if windowing is None:
        return elements
    try:
        into = windowing if isinstance(windowing, beam.PTransform) else beam.WindowInto(windowing)
        return elements | f"windows {of}" >> into
    except Exception as error:
        said = f"the input cannot be put into windowing: {looking.cause(subject, error)}"
        raise InvalidSubject(f"subject {subject.name}: {said}") from None


def _timed(subject: Subject, of: str, row: Json) -> Any:
    """A row of an input, with its name and its event time."""
    from apache_beam.transforms.window import TimestampedValue
    from apache_beam.utils.timestamp import Timestamp as Moment

    time_of = subject.inputs[of].time
    at = row[time_of] if time_of else 0
    return TimestampedValue((of, row), Moment(micros=(at if isinstance(at, int) else millis(at)) * 1_000))


def _is_of(of: str, pair: tuple[str, Json]) -> bool:
    return pair[0] == of


def _stream(subject: Subject, given: Given, tagged: bool, clock: bool) -> Any:
    """One TestStream with the rows of all inputs: a runner mixes what several have.

    Each micro-batch is a bundle of each input that has rows in it. ``tagged``: an input has an output of its own, whose
    watermark follows its latest row by the delay. Else one watermark does so for the input that is furthest behind. It
    ends behind all. ``clock``: before the end an hour from now comes in processing time, where all timers have fired
    that are set from now on."""
    from apache_beam.testing.test_stream import TestStream
    from apache_beam.utils.timestamp import MIN_TIMESTAMP, Duration

    tags = {of: of if tagged and of != ONE else None for of in subject.inputs}
    stream = TestStream(output_tags=set(filter(None, tags.values())))
    there = {of for batch in given for of, rows in batch.items() if rows}
    latest = dict.fromkeys(tags, MIN_TIMESTAMP)
    reached = dict.fromkeys(tags.values(), MIN_TIMESTAMP)
    for batch in given:
        for of, tag in tags.items():
            rows = [_timed(subject, of, row) for row in batch.get(of, ())]
            if rows or not any(batch.values()):
                stream = stream.add_elements(rows, tag)
            latest[of] = max([latest[of], *(row.timestamp for row in rows)])
            last = latest[of] if tag else min((latest[each] for each in there), default=MIN_TIMESTAMP)
            if subject.delay is None or last == MIN_TIMESTAMP:
                continue
            if (behind := last - Duration(micros=subject.delay * 1_000)) > reached[tag]:
                stream, reached[tag] = stream.advance_watermark_to(behind, tag), behind
    if clock:
        stream = stream.advance_processing_time(int(time.time()) + HOUR)
    for tag in reached:
        stream = stream.advance_watermark_to_infinity(tag)
    return stream


def _element(subject: Subject, pair: tuple[str, dict[str, Json]]) -> Any:
    """The element of a row and the name of its input: moments are Python's own."""
    from datetime import datetime

    def read(kind: Any, value: Any) -> Any:
        if isinstance(kind, Timestamp) and isinstance(value, str):
            return datetime.fromisoformat(value.replace("Z", "+00:00"))
        return value

    of, row = pair
    found = {column.name: changed(column.type, row[column.name], read) for column in subject.inputs[of].columns}
    make = subject.options.get("element")
    return make(found) if make else found


DRIVER = BeamSubjects()
