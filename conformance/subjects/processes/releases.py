"""Releases of a framework that answer alike: the same subjects, the same cases."""

from collections.abc import Sequence

from packaging.version import InvalidVersion, Version

from conformance.subjects.answers import difference
from conformance.subjects.found import drivers
from conformance.subjects.schema import InvalidSubject
from conformance.subjects.verdicts import Finding, Report, Verdict
from conformance.support.naming import counted, instead
from conformance.support.release import Release

RELEASES = "releases"
"""The id of the question whether two releases answer alike."""

MEANS = "Both releases give the same answers to the same rows."


def release(text: str) -> Release:
    """The release that "PACKAGE==VERSION" names.

    Raises:
        InvalidSubject: no engine of subjects has such a package, or this is no version.
    """
    package, equal, number = text.partition("==")
    known = {driver.package: driver for driver in drivers().values()}
    if not equal or package not in known:
        raise InvalidSubject(
            f"{text!r}: write PACKAGE==VERSION; {instead('' if package in known else package, known, 'packages')}"
        )
    try:
        version = Version(number)
    except InvalidVersion:
        raise InvalidSubject(f"{text!r}: {number!r} is no version of {package}") from None
    driver = known[package]
    return Release(package, str(version), tuple(driver.beside(version)), tuple(driver.foreign))


def between(old: Sequence[Report], new: Sequence[Report]) -> list[Report]:
    """For each subject, whether two releases gave the same answers: to the cases as they are, and to what questions
    make of them."""
    after = {report.subject: report for report in new}
    found = []
    for before in old:
        report = after.get(before.subject)
        if report is None:
            continue
        cases = sorted({*before.answers, *report.answers}, key=int)
        differing = [
            (case, said)
            for case in cases
            if (said := difference(before.answers.get(case, ()), report.answers.get(case, ())))
        ]
        failed = [one for one in (before, report) if one.error]
        apart = _questions_apart(before, report)
        if differing and failed:
            why = f"{failed[0].version} gives no answer: {failed[0].error}"
        elif differing:
            why = f"{len(differing)} of {counted(len(cases), 'case')}: {differing[0][1].words}"
        else:
            why = "; ".join(apart) or "".join(one.error for one in failed[:1])
        asked = cases and not failed
        verdict = Verdict.VIOLATED if differing or apart else Verdict.HOLDS if asked else Verdict.NOT_ASKED
        rows = sum(len(rows) for rows in before.answers.values())
        finding = Finding(RELEASES, MEANS, verdict, len(cases), rows, why)
        found.append(Report(before.subject, f"{before.version} and {report.version}", (finding,), seed=before.seed))
    return found


def _questions_apart(old: Report, new: Report) -> list[str]:
    """The questions that are violated in one of two releases, and hold in the other for as many cases at least: with a
    budget, one release may be asked more."""
    before, found = {finding.question: finding for finding in old.findings}, []
    for after in new.findings:
        pair = {one.verdict: one for one in (before.get(after.question, after), after)}
        if (
            pair.keys() == {Verdict.HOLDS, Verdict.VIOLATED}
            and pair[Verdict.HOLDS].cases >= pair[Verdict.VIOLATED].cases
        ):
            said = before[after.question].verdict.value, after.verdict.value
            found.append(f"{after.question}: {said[0]} in {old.version}, {said[1]} in {new.version}")
    return found
