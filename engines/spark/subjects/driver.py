"""Subjects on Spark: a user's function from DataFrame to DataFrame as a streaming query, or as a batch query.

The rows of a micro-batch are a file of JSON, or several; the sink is foreachBatch, and takes the rows of a batch once.
The queries of a run have one checkpoint. A micro-batch without rows is an empty file.
"""

from __future__ import annotations

import shutil
import tempfile
import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conformance.engines.failing import INJECTED
from conformance.engines.spark.runtime import releases, running, session
from conformance.engines.spark.subjects.anew import begun_anew
from conformance.engines.spark.subjects.facts import check_accepted, facts_of, goes_by_the_clock
from conformance.engines.spark.subjects.files import write
from conformance.engines.spark.subjects.machine import of_the_machine
from conformance.engines.spark.subjects.progress import clocked_of, operators_of, watermark_of
from conformance.engines.spark.subjects.questions import CONNECT, QUESTIONS
from conformance.engines.spark.subjects.sinks import ATTEMPT, SINKS, UNTRIED, retried, unchanged
from conformance.engines.spark.subjects.table import NOT_ASKED, OPTIONS, table_of
from conformance.model.engine import CannotRun, NotDriven
from conformance.subjects.answers import Answer, Ran, told
from conformance.subjects.driver import Facts
from conformance.subjects.processes.elsewhere import Began
from conformance.subjects.questions import Question
from conformance.subjects.schema import InvalidSubject
from conformance.subjects.setup import BEHIND, NOBODY, PLAIN, PREVIOUS, SHOWING, Given, Setup
from conformance.subjects.subject import begun_by

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from conformance.engines.spark.jobs.connected import Client
    from conformance.subjects.processes.elsewhere import Beginner
    from conformance.subjects.questions import Pair
    from conformance.subjects.subject import Subject

IDLE = 6
"""So many micro-batches without rows a query may have: with timers by processing time it asks for them for ever."""

AS_FILES = {"spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS"}
"""Through Connect, the rows of a micro-batch come as files; a time in them says its zone only so."""


class SparkSubjects:
    """One embedded session for all subjects of a process."""

    package = "pyspark"
    batch = "micro-batch"
    packs = 24
    closes = True
    parallel = 2
    heavy = True
    guide = Path(__file__).with_name("guide.py")
    roots = staticmethod(session.roots)
    missed = "SparkContext or SparkSession should be created first"
    options = OPTIONS
    foreign = releases.FOREIGN
    beside = staticmethod(releases.beside)
    annotation = "DataFrame"
    questions: tuple[Question, ...] = QUESTIONS

    def __init__(self) -> None:
        self.before: Beginner | None = None
        self._spark: Any = None
        self._client: Client | None = None
        self._one_at_a_time = threading.Lock()  # the client does one job after the other
        self._early = False
        self._by_the_clock: set[str] = set()
        self._folder = Path()
        self._modules: Sequence[Any] = ()

    @property
    def version(self) -> str:
        import pyspark

        return f"PySpark {pyspark.__version__}"

    def check(self) -> None:
        session.check()

    def open(self, folder: Path, modules: Sequence[Any]) -> None:
        from pyspark import cloudpickle

        for module in modules:  # no import finds it where Python workers run
            cloudpickle.register_pickle_by_value(module)
        self._folder, self._modules = folder, modules
        if self._spark is None:
            self._early = not modules
            self._spark = session.start(folder)

    def close(self) -> None:
        self._without_client()
        if self._spark is not None:
            session.stop()
        self._spark = None

    def look(self, subject: Subject) -> Facts:
        folder = Path(tempfile.mkdtemp(prefix="look-", dir=self._folder))
        try:
            output = self._output(subject, self._session(subject, {}), folder, streaming=True)
            facts = facts_of(subject, output, str(folder))
            if table_of(subject, folder):  # it may have other columns than the function's output
                facts = replace(facts, columns=None, output_key=(), refused={**facts.refused, **NOT_ASKED})
            check_accepted(subject, output)
            (self._by_the_clock.add if goes_by_the_clock(output) else self._by_the_clock.discard)(subject.name)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        return facts

    def run(self, subject: Subject, given: Given, setup: Setup) -> Ran:
        ran = self._ran(subject, given, setup)
        if of_the_machine(ran.error):
            ran = self._ran(subject, given, setup)
        if ran.error and (how := session.gone()):
            raise CannotRun(how)
        return replace(ran, hindered=of_the_machine(ran.error))

    def _ran(self, subject: Subject, given: Given, setup: Setup) -> Ran:
        folder = Path(tempfile.mkdtemp(prefix="subject-", dir=self._folder))
        try:
            return self.run_in(folder, subject, given, setup)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def run_in(self, folder: Path, subject: Subject, given: Given, setup: Setup) -> Ran:
        """A run in a folder, which may have a checkpoint to go on from."""
        if setup.where == CONNECT:
            return self._through_connect(subject, folder, given, replace(setup, where=""))
        spark = self._session(subject, setup.settings)
        if setup.bounded:
            return self._in_one(subject, spark, folder, given, setup)
        return self._streamed(subject, spark, folder, given, setup)

    def begin(self, subject: Subject, folder: Path, files: int, settings: Mapping[str, str]) -> Began:
        """Run a query over the input that a folder has, with a new checkpoint."""
        rows: dict[int, list[Any]] = {}
        progress: list[dict[str, Any]] = []
        made = self._session(subject, settings)
        error = self._query(subject, made, folder, Setup(files=files), (rows, progress))
        return Began(operators_of(progress), max(rows, default=-1) + 1, error)

    def script(self, subject: Subject, pair: Pair, title: str, file: Path, out: Path) -> str:
        from conformance.engines.spark.subjects.script import script

        several = subject.previous and subject.previous.previous
        if pair.varied.setup.where == CONNECT or several:  # a script has one session, and one version before
            return ""
        if subject.output.mode == "update" and not subject.output.key:
            key = self.look(subject).output_key or ()
            subject = replace(subject, output=replace(subject.output, key=key))
        seen = self.version, self._early
        return script(subject, pair, title, file, out, seen, self.before.place.release if self.before else "")

    # A run

    def _through_connect(self, subject: Subject, folder: Path, given: Given, setup: Setup) -> Ran:
        from conformance.engines.spark.jobs.connected import Client

        if setup.begun:  # by this session
            began = self._begun(subject, folder, given, range(setup.begun), setup)
            if began.error:
                return Ran(error=began.error)
            setup = replace(setup, by=NOBODY)
        with self._one_at_a_time:
            try:
                self._client = self._client or Client(self._spark)
                ran: Ran = self._client.call(_as_a_client, (subject, given, setup), folder)
            except (NotDriven, RuntimeError) as error:
                self._without_client()  # one that has ended answers nothing more
                return Ran(error=str(error))
        return ran

    def _without_client(self) -> None:
        if self._client is not None:
            self._client.close()
        self._client = None

    def _session(self, subject: Subject, settings: Mapping[str, str]) -> SparkSession:
        return session.own(self._spark, {**subject.settings, **settings})

    def _in_one(self, subject: Subject, spark: SparkSession, folder: Path, given: Given, setup: Setup) -> Ran:
        write(subject, folder, given, range(len(given)))
        try:
            output = self._output(subject, spark, folder, streaming=False, setup=setup)
            if table := table_of(subject, folder):
                table.take(output, 0)
                return Ran({0: table.rows(spark)}, whole=True)
            return Ran({0: _rows(running.collected(output))})
        except InvalidSubject as error:
            return Ran(error=str(error), refused=True)
        except Exception as error:  # what the analyzer says is said before any row is read
            lacks = type(error).__name__ in ("AnalysisException", "UnsupportedOperationException")
            return Ran(error=session.cause(error), refused=lacks)

    def _streamed(self, subject: Subject, spark: SparkSession, folder: Path, given: Given, setup: Setup) -> Ran:
        """The queries of a run, one after the other: each ends before a restart, or with a failure. The next one finds
        nothing in the memory of the user's modules."""
        rows: dict[int, list[Any]] = {}
        progress: list[dict[str, Any]] = []
        began = Began()
        # The engine's own micro-batches without data have numbers, too: one that is to fail is the first one of a
        # query.
        cuts = sorted({0, len(given), setup.begun, *setup.restarts, *(() if setup.fails is None else (setup.fails,))})
        for begin, end in pairwise(cuts):
            early = end <= setup.begun
            if early and setup.by == NOBODY:
                continue
            if early:
                began = self._begun(subject, folder, given, range(begin, end), setup)
                if began.error:
                    return Ran(error=began.error)
                continue
            write(subject, folder, given, range(begin, end), setup)
            fails = max(rows, default=-1) + 1 if begin == setup.fails else -1
            mine = begun_anew(subject, self._modules) if progress else subject
            error = self._query(mine, spark, folder, setup, (rows, progress), fails)
            if INJECTED in error:
                error = self._query(begun_anew(subject, self._modules), spark, folder, setup, (rows, progress))
            if error:
                return Ran(error=error, refused=UNTRIED in error)
        table = table_of(subject, folder)
        try:
            answer = {0: table.rows(spark)} if table else {n: _rows(r) for n, r in rows.items() if n >= began.batches}
        except Exception as error:
            return Ran(error=f"its table cannot be read: {session.cause(error)}")
        operators = [operator for report in progress for operator in report["stateOperators"]]
        last = progress[-1]["stateOperators"] if progress else []
        return Ran(
            answer,
            sum(operator["numRowsDroppedByWatermark"] for operator in operators),
            sum(operator["numRowsTotal"] for operator in last),
            bool(operators),
            before=None if self.before else began.operators,
            operators=operators_of(progress),
            watermark=watermark_of(progress),
            clocked=subject.name in self._by_the_clock and clocked_of(operators),
            whole=table is not None,
        )

    def _begun(self, subject: Subject, folder: Path, given: Given, numbers: Sequence[int], setup: Setup) -> Began:
        """Run the micro-batches before the restart, whose output is not shown. Raises InvalidSubject if a version
        before the subject fails."""
        if setup.by != PREVIOUS:
            write(subject, folder, given, numbers, setup)
            return self.begin(subject, folder, setup.files, setup.settings)
        elsewhere, began = self.before, Began()
        for before, part in begun_by(subject, numbers):
            write(subject, folder, given, part, setup)
            if elsewhere:
                began = elsewhere.begin(before.name, folder, setup.files, setup.settings)
            else:
                began = self.begin(before, folder, setup.files, setup.settings)
            if began.error:
                where = f" on {elsewhere.place.release}" if elsewhere else ""
                raise InvalidSubject(f"subject {before.name}: the query failed{where} over drawn rows: {began.error}")
        return began

    def _query(
        self,
        subject: Subject,
        spark: SparkSession,
        folder: Path,
        setup: Setup,
        taken: tuple[dict[int, list[Any]], list[dict[str, Any]]],
        fails: int = -1,
    ) -> str:
        """Run a query over all files that it has not seen; what it failed with, in a line. Rows by micro-batch and
        progress are added to those ``taken``. ``fails`` is the micro-batch that fails."""
        try:
            output = self._output(subject, spark, folder, streaming=True, setup=setup)
            there = {file.name.partition("-")[0] for file in folder.glob("input*/*.json")}
            does = SINKS[setup.sink]
            before = (lambda frame: does(retried(frame))) if setup.retries else does
            table = table_of(subject, folder)
            takes: running.Take = table.take if table else running.taken
            if table and setup.breaks != BEHIND and fails >= 0:
                takes, fails = table.failing(setup.breaks, fails), -1
            most, shows = len(there) + IDLE, setup.breaks == SHOWING
            sink = running.Sink(before, takes, fails=fails, showing=shows, most=most, goes_on=setup.goes_on)
            found, reports, failed = running.run_query(output, folder / "checkpoint", subject.output.mode, {}, sink)
        except InvalidSubject as unusable:
            return str(unusable)
        except Exception as refused:
            return session.cause(refused)
        rows, progress = taken
        rows.update(found)
        progress += reports
        if setup.retries and not all(row.pop(ATTEMPT) for batch in found.values() for row in batch):
            return UNTRIED
        return session.cause(failed) if failed else ""

    def _output(
        self, subject: Subject, spark: SparkSession, folder: Path, streaming: bool, setup: Setup = PLAIN
    ) -> DataFrame:
        """What the function makes of its inputs. Raises InvalidSubject."""
        from pyspark.sql import DataFrame

        inputs = {}
        for of, each in subject.inputs.items():
            path = folder / f"input{'-' if of else ''}{of}"
            path.mkdir(exist_ok=True)
            try:
                reader: Any = spark.readStream.option("maxFilesPerTrigger", setup.files) if streaming else spark.read
                rows = reader.schema(each.schema).json(str(path))
                inputs[of] = unchanged(rows) if setup.through else rows
            except Exception as error:
                said = f"Spark does not take the schema {each.schema!r}: {session.cause(error)}"
                raise InvalidSubject(f"subject {subject.name}: {said}") from None
        try:
            with session.ambient(spark):
                output = subject.function(*inputs.values()) if "" in inputs else subject.function(**inputs)
        except Exception as error:
            raise InvalidSubject(
                f"subject {subject.name}: the function raised {type(error).__name__}: {session.cause(error)}"
            ) from None
        if not isinstance(output, DataFrame) and type(output).__name__ != "DataFrame":
            raise InvalidSubject(
                f"subject {subject.name}: the function gave a {type(output).__name__}, not a DataFrame; return the "
                "query's output"
            )
        return output


def _rows(rows: Sequence[Any]) -> Answer:
    return tuple(told(row if isinstance(row, dict) else row.asDict()) for row in rows)


def _as_a_client(folder: Path, subject: Subject, given: Given, setup: Setup) -> Ran:
    """A run in a process that reaches Spark through Connect."""
    driver = SparkSubjects()
    driver.open(folder, ())
    try:
        return driver.run_in(folder, replace(subject, settings={**subject.settings, **AS_FILES}), given, setup)
    finally:
        driver.close()


DRIVER = SparkSubjects()
