"""Subjects asked in a process of their own, in the installed release of a framework or in another one."""

import json
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from conformance.execution.environments import python_in
from conformance.execution.host import end_group
from conformance.subjects.processes.elsewhere import Place
from conformance.subjects.processes.worker import Request
from conformance.subjects.verdicts import Report, Verdict
from conformance.support.release import Release


@dataclass(frozen=True)
class Told:
    """What a process said.

    Attributes:
        reports: one for each subject that was asked.
        unusable: why the file cannot be used, "" where it can.
        cannot: a line for each engine that cannot run, and one if the process ended early.
        interrupted: the user ended it. The last report may be of some questions.
    """

    reports: tuple[Report, ...] = ()
    unusable: str = ""
    cannot: tuple[str, ...] = ()
    interrupted: bool = False

    @property
    def code(self) -> int:
        """The exit code of a command: 0 nothing is violated, 1 something is, 2 bad input, 3 an engine did not run to
        its end."""
        if self.unusable or any(report.error for report in self.reports):
            return 2
        if self.cannot or self.interrupted:
            return 3
        return 1 if any(report.violated for report in self.reports) else 0


def ask_all(
    request: Request,
    log: Path,
    say: Callable[[str], None],
    release: Release | None = None,
    begun: Release | None = None,
    seen: Callable[[Report], None] = lambda report: None,
    started: Callable[[subprocess.Popen[str]], None] = lambda process: None,
) -> Told:
    """The answers to a request, from a release of the framework. Versions before a restart run in the release
    ``begun``. The output of the engine goes to the file ``log``; ``seen`` is given each report when it is there,
    and ``started`` the process.

    Raises:
        CannotRun: the release is not available.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory(prefix="conformance-", ignore_cleanup_errors=True) as place,
        log.open("wb") as errors,
    ):
        folder = Path(place)
        if begun is not None:
            (folder / "begun").mkdir()
            python, environment = python_in(folder / "begun", begun)
            request = replace(request, begun=Place(python, environment, release=f"{begun.package} {begun.version}"))
        asked = folder / "request.json"
        asked.write_text(json.dumps(request.to_json()), encoding="utf-8")
        python, environment = python_in(folder, release)
        process = subprocess.Popen(
            [python, "-m", "conformance.subjects.processes.worker", str(asked)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            start_new_session=True,
            env=environment,
            text=True,
        )
        started(process)
        try:
            told = _listened(process, say, seen)
        finally:
            end_group(process)
        return told


def _listened(process: subprocess.Popen[str], say: Callable[[str], None], seen: Callable[[Report], None]) -> Told:
    reports: list[Report] = []
    cannot: list[str] = []
    unusable, so_far = "", None
    assert process.stdout is not None
    try:
        for line in process.stdout:
            event = json.loads(line)
            if "say" in event:
                say(event["say"])
            elif "so far" in event:
                so_far = event["so far"]
            elif "report" in event:
                reports.append(Report.from_json(event["report"]))
                so_far = None
                seen(reports[-1])
            elif "cannot" in event:
                cannot.append(event["cannot"])
            else:
                unusable = event["unusable"]
    except KeyboardInterrupt:
        if so_far:
            reports.append(_cut_short(Report.from_json(so_far)))
            seen(reports[-1])
        return Told(tuple(reports), unusable, tuple(cannot), interrupted=True)
    code = process.wait()
    if code:
        cannot.append(f"the process of the subjects ended with code {code}; the log has its output")
    return Told(tuple(reports), unusable, tuple(cannot))


def _cut_short(report: Report) -> Report:
    findings = tuple(
        replace(finding, why="interrupted") if finding.verdict is Verdict.NOT_ASKED and not finding.why else finding
        for finding in report.findings
    )
    return replace(report, findings=findings)
