"""The process that subjects are asked in: ``python -m conformance.subjects.processes.worker REQUEST``, a file of JSON.

It tells what happens on standard output, a JSON object a line. The output of an engine itself goes to standard error.
"""

import json
import os
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from conformance.execution.environments import cache_folder
from conformance.model.engine import CannotRun
from conformance.model.values import Json
from conformance.plugins import loading
from conformance.plugins.points import InvalidPlugin
from conformance.subjects.asking import Failing, ask
from conformance.subjects.driver import Driver
from conformance.subjects.failing import read, write
from conformance.subjects.found import chosen, driver_of, drivers, paired, subjects_in
from conformance.subjects.processes.elsewhere import Beginner, Place
from conformance.subjects.questions import SAME, Pair
from conformance.subjects.rows import Row, rows_in, sample_rows, written
from conformance.subjects.setup import OTHER
from conformance.subjects.subject import ARGUMENTS, Subject, answering_like, next_version, taken_back
from conformance.subjects.verdicts import Finding, Options, Report
from conformance.support.grouping import grouped
from conformance.support.output import private_stdout
from conformance.support.plain import Plain

LOADS = 180
"""The seconds that users' files may take to be imported, with an engine that they need meanwhile."""


@dataclass(frozen=True)
class Request(Plain):
    """What a worker is asked to do.

    Attributes:
        file: the user's file.
        subjects: the names of its subjects, none for all.
        questions: the ids of questions, none for all.
        seed: what cases are drawn with.
        budget: seconds for all subjects together, 0 for one round of each.
        sample: a file of the user's rows, "" for none.
        out: the folder that scripts go to, and pairs that fail.
        again: what failed in the last run into this folder is asked first.
        where: how the user named the file.
        next_file: the file of the version behind, "" for none. Then ``file`` has the version before.
        next_subject: the name of its subject, "" for one of the same name, or the only one.
        alike: the subject of ``next_file`` is no version behind, but must give the same answers.
        begun: where the version before runs; None for the same process.
    """

    file: str
    subjects: tuple[str, ...] = ()
    questions: tuple[str, ...] = ()
    seed: int = 1
    budget: float = 0
    sample: str = ""
    out: str = ""
    again: bool = False
    where: str = ""
    next_file: str = ""
    next_subject: str = ""
    alike: bool = False
    begun: Place | None = None

    @property
    def tested(self) -> str:
        """The file whose subjects are tested, and imported by scripts: that of the version behind, if there is one."""
        return self.file if self.alike else self.next_file or self.file

    @property
    def reports(self) -> int:
        """How many reports a subject has at most."""
        return 2 if self.next_file and not self.alike else 1


def work(request: Request, tell: Callable[[Json], None]) -> None:
    """Ask all subjects of a request, and tell their reports. A line that says why nothing can be asked is told as
    ``unusable``, or as ``cannot`` where an engine cannot run."""
    in_utc()
    try:
        known = drivers()
        loading.ask_for([request.file, *([request.next_file] if request.next_file else [])])
        found, folders = loaded(known)
        first, *others = found.modules.values()
        mine = chosen(subjects_in(first), request.subjects, request.where or request.file)
        if request.next_file:
            # Both may be in one file.
            there = subjects_in(others[0] if others else first)
            pair = answering_like if request.alike else next_version
            mine = paired(mine, there, request.next_subject, request.next_file, pair)
        by_engine = grouped((driver_of(subject, known), subject) for subject in mine)
        for name, subjects in by_engine.items():
            _check(known[name], subjects, request)
        for second in (subject.other for subject in mine if subject.other):
            _check(known[driver_of(second, known)], [second], request)
    except InvalidPlugin as error:
        tell({"unusable": str(error)})
        return
    except CannotRun as error:
        tell({"cannot": str(error)})
        return
    clock = Shares(request.budget, len(mine) * request.reports)
    for name, subjects in by_engine.items():
        folder = folders.get(name) or Path(tempfile.mkdtemp(prefix="subjects-"))
        driver = known[name]
        beside = {driver_of(each.other, known) for each in subjects if each.other} - {name}
        opened = [driver, *(known[other] for other in sorted(beside))]
        try:
            for each in opened:
                each.check()
                each.open(folder, found.by_value)
            if request.begun:
                driver.before = Beginner(replace(request.begun, driver=name, file=request.file))
        except CannotRun as error:
            tell({"cannot": f"{', '.join(subject.name for subject in subjects)}: left out: {error}"})
            clock.left -= len(subjects)
            continue
        try:
            for subject in subjects:
                name = subject.name
                try:
                    other = known[driver_of(subject.other, known)] if subject.other else driver
                    report = _report(driver, subject, request, clock.next(), tell, None if other is driver else other)
                    tell({"report": report.to_json()})
                    back = None if report.error or report.violated or request.begun else taken_back(subject)
                    if back:
                        tell({"report": _report(driver, back, request, clock.next(), tell).to_json()})
                    else:
                        clock.left -= request.reports - 1
                except CannotRun:
                    raise
                except Exception as error:  # a bug: the others are asked all the same
                    traceback.print_exc()
                    tell({"cannot": f"{name}: not asked to its end: {type(error).__name__}: {error}; see the log"})
        except CannotRun as error:
            tell({"cannot": f"{name}: {error}"})
        finally:
            if driver.before:
                driver.before.close()
                driver.before = None
            for each in opened:
                each.close()
            shutil.rmtree(folder, ignore_errors=True)


def loaded(known: Mapping[str, Driver]) -> tuple[loading.Loaded, dict[str, Path]]:
    """The user's files, and the folder of each engine that was started because they need it while they are loaded.
    Raises InvalidPlugin, and CannotRun for such an engine."""

    def stop(*_: Any) -> None:
        sys.exit(f"it has not ended after {LOADS} seconds; put what runs a job under if __name__ == '__main__'")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(LOADS)
    try:
        return _loaded(known)
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def _loaded(known: Mapping[str, Driver]) -> tuple[loading.Loaded, dict[str, Path]]:
    try:
        return loading.loaded_modules(), {}
    except InvalidPlugin as error:
        needed = [name for name, driver in known.items() if driver.missed and driver.missed in str(error)]
        if not needed:
            raise
    folder = Path(tempfile.mkdtemp(prefix="subjects-"))
    known[needed[0]].check()
    known[needed[0]].open(folder, ())
    return loading.loaded_modules(), {needed[0]: folder}


def in_utc() -> None:
    """Times without a zone are in UTC, wherever the machine is."""
    os.environ["TZ"] = "UTC"
    time.tzset()


def _check(driver: Driver, subjects: Sequence[Subject], request: Request) -> None:
    """Raises InvalidSubject for what the engine of some subjects does not know."""
    from conformance.subjects.schema import InvalidSubject
    from conformance.support.naming import instead, unknown

    known = [question.id for question in driver.questions]
    if request.reports > 1 and not any(question.versions for question in driver.questions):
        raise InvalidSubject(
            f"{driver.version}: nothing comes behind a restart: no checkpoint is kept that a next version could go "
            "on from"
        )
    for name in request.questions:
        if name not in known:
            raise InvalidSubject(unknown("question", name, known))
    for subject in subjects:
        for name in subject.leave_out:
            if name not in known:
                raise InvalidSubject(f"subject {subject.name}: leave_out: {unknown('question', name, known)}")
        for name in subject.options:
            if name not in driver.options:
                there = instead(name, (*ARGUMENTS, *driver.options), "there are")
                raise InvalidSubject(f"subject {subject.name}: unknown argument {name!r}; {there}")


class Shares:
    """The seconds of each subject: an equal share of what is left of a budget."""

    def __init__(self, budget: float, subjects: int) -> None:
        self.budget, self.left, self._begun = budget, subjects, time.monotonic()

    def next(self) -> float | None:
        """The seconds of the next subject, None without a budget."""
        if not self.budget:
            return None
        self.left -= 1
        return max(0.0, self.budget - (time.monotonic() - self._begun)) / (self.left + 1)


def _report(
    driver: Driver,
    subject: Subject,
    request: Request,
    budget: float | None,
    tell: Callable[[Json], None],
    other: Driver | None = None,
) -> Report:
    tell({"say": f"{subject.name} on {driver.version}"})
    try:
        sample = _sample(subject, request.sample)
    except InvalidPlugin as error:
        return Report(subject.name, driver.version, seed=request.seed, error=str(error))
    out = Path(request.out) if request.out else None
    known = read(out, subject) if out and request.again else {}
    options = Options(request.questions, request.seed, budget, sample, known)

    def named(report: Report, failing: Mapping[str, Failing]) -> Report:
        if subject.other:
            there = f"{subject.other.name} on {other.version}" if other else subject.other.name
            report = replace(report, version=f"{report.version}, beside {there}")
        if request.begun:
            report = replace(report, version=f"{report.version}, begun on {request.begun.release}")
        return _with_scripts(driver, subject, request, replace(report, summary=subject.summary), failing)

    report, failing = ask(
        driver,
        subject,
        options,
        lambda line: tell({"say": f"{subject.name}: {line}"}),
        lambda report, failing: tell({"so far": named(report, failing).to_json()}),
        other,
    )
    if out and request.again and not report.error:
        asked = {finding.question for finding in report.findings if finding.cases}
        left = {question: pair for question, pair in known.items() if question not in asked}
        left |= {question: pair for question, (pair, _) in failing.items()}
        write(
            out,
            subject,
            {question.id: left[question.id] for question in (*driver.questions, SAME) if question.id in left},
        )
    return named(report, failing)


def _sample(subject: Subject, file: str) -> tuple[Row, ...]:
    if not file:
        return ()
    try:
        with open(file, encoding="utf-8") as lines:
            return tuple(sample_rows(subject, lines, file))
    except UnicodeDecodeError as error:
        from conformance.subjects.schema import InvalidSubject

        raise InvalidSubject(f"{file}: not UTF-8: {error.reason} at byte {error.start}") from None


def _with_scripts(
    driver: Driver, subject: Subject, request: Request, report: Report, failing: Mapping[str, Failing]
) -> Report:
    """The report with a file for each violation."""
    if not request.out:
        return report
    findings: list[Finding] = []
    for finding in report.findings:
        if finding.question in failing:
            pair, why = failing[finding.question]
            out = Path(request.out) / f"{subject.name}-{finding.question}.py"
            out.parent.mkdir(parents=True, exist_ok=True)
            title = f"{subject.name}: {why}"
            if pair.varied.setup.by == OTHER:
                _write_rows(subject, pair, out.with_suffix(".jsonl"))
                finding = replace(finding, why=f"{finding.why}; --sample {out.with_suffix('.jsonl')} has the rows")
            elif script := driver.script(subject, pair, title, Path(request.tested), out):
                out.write_text(script, encoding="utf-8")
                finding = replace(finding, script=str(out))
        findings.append(finding)
    return replace(report, findings=tuple(findings))


def _write_rows(subject: Subject, pair: Pair, out: Path) -> None:
    """Writes the rows of a pair as sample rows."""
    rows = [row for row in rows_in(pair.plain.delivery) if not row.closing]
    lines = [{**written(subject, row), **({"_input": row.input} if row.input else {})} for row in rows]
    out.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


def main(arguments: Sequence[str]) -> None:
    events = private_stdout()
    # Hypothesis keeps a table of characters, by default in the folder that it is called in.
    os.environ.setdefault("HYPOTHESIS_STORAGE_DIRECTORY", str(cache_folder() / "hypothesis"))

    def tell(event: Json) -> None:
        events.write(json.dumps(event) + "\n")
        events.flush()

    work(Request.from_json(json.loads(Path(arguments[0]).read_text(encoding="utf-8"))), tell)


if __name__ == "__main__":
    main(sys.argv[1:])
