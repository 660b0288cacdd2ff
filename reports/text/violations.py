"""What a run found broken, as its summary and its end at the terminal tell it: new, mended and known, by cause."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from conformance.confirmation.replay import FIXED
from conformance.judgement.cell import Folded, Verdict
from conformance.reports.advice import UNKNOWN_CAUSE, cause_of
from conformance.reports.words import amount, claim, shortened, some, standings
from conformance.results.results import Results
from conformance.support.grouping import grouped


@dataclass(frozen=True)
class Violations:
    """The guarantees that engines break.

    Attributes:
        new: those of which no stored witness speaks.
        known: the others.
        mended: (engine, scenario, guarantee) of those that are broken no longer -> their stored witnesses.
        outlived: the number of stored witnesses that no longer fail, of guarantees that are broken all the same.
    """

    new: list[Folded]
    known: list[Folded]
    mended: Mapping[tuple[str, str, str], list[str]]
    outlived: int


def violations(results: Results) -> Violations:
    rows = [row for found in results.folded().values() for row in found.values() if row.verdict is Verdict.VIOLATED]
    broken = {(row.engine, *row.row) for row in rows}
    places = [((r.engine, r.scenario, r.guarantee), r) for r in results.replays]
    stored = {place for place, replay in places if replay.answer != FIXED}
    fixed = grouped((place, replay.witness) for place, replay in places if replay.answer == FIXED)
    return Violations(
        [row for row in rows if (row.engine, *row.row) not in stored],
        [row for row in rows if (row.engine, *row.row) in stored],
        {place: witnesses for place, witnesses in fixed.items() if place not in broken},
        sum(len(witnesses) for place, witnesses in fixed.items() if place in broken),
    )


def by_cause(rows: Iterable[Folded]) -> Mapping[str, list[Folded]]:
    """Cause -> the rows that have it, as the project's advice knows it: the cause of most rows first, and what has none
    last."""
    found = grouped((cause_of(row.row, row.engine), row) for row in rows)
    return dict(sorted(found.items(), key=lambda entry: (entry[0] == UNKNOWN_CAUSE, -len(entry[1]))))


def counted(results: Results, found: Violations) -> str:
    """How many guarantees on engines stand where, in a line. What is violated is new or known."""
    folded = results.folded()
    rows = [row for mine in folded.values() for row in mine.values()]
    numbers = standings(rows)
    del numbers["violated"]
    told = [f"{amount(len(found.new), 'new violation')}, {len(found.known)} known"] if found.new or found.known else []
    told += [f"{number} {word.replace('-', ' ')}" for word, number in numbers.items() if number]
    of = f"{amount(len(folded), 'guarantee')}, {amount(len(results.engines), 'engine')}"
    return f"{len(rows)} guarantees on engines ({of}): {', '.join(told)}"


def named(results: Results, row: tuple[str, str]) -> str:
    """A guarantee in words, with its scenario."""
    return f"{results.scenarios[row[0]].name}: {claim(results, row)}"


def mended(results: Results, found: Violations) -> list[str]:
    """The guarantees on engines that are broken no longer, in words, with their witnesses. An engine in a release that
    was asked for may be older than the one that a witness is of: that fixed nothing. A guarantee whose texts the
    results lack is called by its ids."""

    def name(scenario: str, guarantee: str) -> str:
        there = guarantee in getattr(results.scenarios.get(scenario), "guarantees", {})
        return named(results, (scenario, guarantee)) if there else f"{scenario}/{guarantee}"

    return [
        f"{'not broken there' if '@' in engine else FIXED}: {engine}: {name(*row)} [{some(witnesses)}]"
        for (engine, *row), witnesses in found.mended.items()
    ]


def outlived(found: Violations) -> str:
    """How many stored witnesses no longer fail though their guarantees are broken, in a line; "" for none."""
    fail = "fails" if found.outlived == 1 else "fail"
    told = f"{amount(found.outlived, 'stored witness', 'es')} no longer {fail}"
    return f"{told}, of guarantees that others still show broken" if found.outlived else ""


def engines_of(rows: Iterable[Folded]) -> str:
    """The engines of some rows, those with most of them first."""
    return some([name for name, _ in Counter(row.engine for row in rows).most_common()])


def failures(results: Results, few: int = 3) -> list[str]:
    """The engines that did not run to their end, a line for each reason."""
    found = grouped((record.failure, name) for name, record in results.environment.items() if record.failure)
    lines = []
    for why, names in found.items():
        if len(names) == 1:
            lines.append(f"{names[0]} did not run to its end: {shortened(why, 400)}")
        else:
            told = f"{amount(len(names), 'engine')} did not run to their end: {shortened(why, 400)}"
            lines.append(f"{told}: {some(names, few)}")
    return lines


def of_subjects(results: Results) -> str:
    """What the subjects of a run answered, in a line; "" for a run without them."""
    answers = [(record, answer) for record in results.subjects for answer in record.answers]
    if not answers:
        return ""
    broken = [
        f"{record.subject} ({answer.question})"
        for record, answer in answers
        if answer.verdict in (Verdict.VIOLATED, Verdict.ERROR)
    ]
    held = sum(answer.verdict is Verdict.HOLDS for _, answer in answers)
    told = f"Queries and pipelines ({len(results.subjects)}): {amount(held, 'answer')} hold"
    return told + (f", {len(broken)} violated: {', '.join(broken)}" if broken else "")
