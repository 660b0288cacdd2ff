"""The subjects of a run: queries and pipelines of the kinds that a framework's guide shows, which a run asks beside its
scenarios."""

import time
from contextlib import suppress
from pathlib import Path

from conformance.execution.installed import installed_here
from conformance.judgement.cell import Verdict
from conformance.model.engine import CannotRun
from conformance.model.values import digest
from conformance.plugins.adapter import modules_digest, source_digest
from conformance.plugins.points import package_of
from conformance.plugins.source import JUDGING, harness_digest
from conformance.results.record import LEFT_OUT
from conformance.results.subject import FOLDER, AnswerRecord, SubjectRecord
from conformance.run.events import BatchBegun, EngineDone, PackDone
from conformance.run.turn import Shared
from conformance.subjects.driver import Driver
from conformance.subjects.found import drivers
from conformance.subjects.processes.process import ask_all
from conformance.subjects.processes.worker import Request
from conformance.subjects.verdicts import Finding, Report
from conformance.subjects.verdicts import Verdict as Said
from conformance.support.writing import write_whole

VERDICTS = {
    Said.HOLDS: Verdict.HOLDS,
    Said.VIOLATED: Verdict.VIOLATED,
    Said.REFUSED: Verdict.VIOLATED,
    Said.NOT_ASKED: Verdict.UNSUPPORTED,
}


class OutOfTime(Exception):
    """The run's time is over."""


class SubjectsTurn:
    """The subjects of one framework, in a process of their own. What earlier runs kept answers in their place."""

    def __init__(self, name: str, shared: Shared) -> None:
        self.id = f"{name}-subjects"
        self.hosts = (self.id,)
        self._driver: Driver = drivers()[name]
        self.heavy = self._driver.heavy
        self.records: list[SubjectRecord] = []
        self.left_out = False
        self._run = shared

    def run(self) -> None:
        """Asks the subjects, or reads what an earlier run kept of them."""
        started = time.monotonic()
        try:
            failure = self._asked()
        except (CannotRun, OSError) as error:
            failure = str(error)
        except OutOfTime:
            failure, self.left_out = LEFT_OUT, True
        if self._run.hosts.interrupted:
            return
        self._write_scripts()
        self._run.on_event(EngineDone(self.id, time.monotonic() - started, failure, available=bool(self.records)))

    def _asked(self) -> str:
        """Why not all could be asked, "" where they were. Raises CannotRun, OutOfTime."""
        run = self._run
        self._check_time()
        self._driver.check()
        name = self._kept_as() if run.kept else ""
        kept = run.kept.data(name) if run.kept and name and not run.options.traces.fresh else None
        if kept:
            with suppress(KeyError, TypeError, AttributeError, ValueError):
                self.records = [SubjectRecord.from_json(each) for each in kept]
                return ""
        failure = self._ask()
        if run.kept and name and not failure and not run.hosts.interrupted:
            run.kept.keep_data(name, [record.to_json() for record in self.records])
        return failure

    def _kept_as(self) -> str:
        """What identifies all that the answers depend on; "" where that is not known before the framework starts."""
        driver = self._driver
        ground = installed_here(driver.package, driver.foreign, driver.roots())
        if ground is None:
            return ""
        module = type(driver).__module__
        code = [harness_digest((*JUDGING, "subjects")), modules_digest([module], frozenset([package_of(module)]))]
        return f"{FOLDER}/{digest([self.id, ground, source_digest(driver.guide), code, self._run.options.seed])}"

    def _ask(self) -> str:
        options = self._run.options
        # The file is not loaded here: it imports its framework.
        subjects = self._driver.guide.read_text(encoding="utf-8").count("\n@subject(")
        self._run.on_event(BatchBegun(self.id, 0, 1, subjects))

        def seen(report: Report) -> None:
            self.records.append(self._record(report))
            self._run.on_event(PackDone(self.id))

        request = Request(str(self._driver.guide), seed=options.seed, out=str(options.out / FOLDER))
        log = options.out / "logs" / f"{self.id}.log"
        told = ask_all(request, log, self._check_time, seen=seen, started=self._run.hosts.adopt)
        return told.unusable or "; ".join(told.cannot)

    def _check_time(self, line: str = "") -> None:
        if self._run.spent():
            raise OutOfTime

    def _record(self, report: Report) -> SubjectRecord:
        versions = {self._driver.package: report.version.split()[-1]}
        answers = tuple(map(_answer, report.findings))
        if report.error:
            answers = (AnswerRecord("", Verdict.ERROR, why=report.error),)
        return SubjectRecord(self.id, report.subject, report.summary, versions, report.packed, answers)

    def _write_scripts(self) -> None:
        for record in self.records:
            for answer in record.answers:
                if path := record.script_of(answer):
                    (self._run.options.out / FOLDER).mkdir(exist_ok=True)
                    write_whole(self._run.options.out / path, answer.script)


def _answer(finding: Finding) -> AnswerRecord:
    script = Path(finding.script).read_text(encoding="utf-8") if finding.script else ""
    return AnswerRecord(
        finding.question,
        VERDICTS[finding.verdict],
        finding.means,
        finding.cases,
        finding.rows,
        finding.why,
        script,
    )
