"""summary.md: for a pull request or a CI job's page."""

import re
from collections.abc import Mapping, Sequence

from conformance.judgement.cell import Folded
from conformance.reports.text.violations import (
    by_cause,
    counted,
    engines_of,
    failures,
    mended,
    named,
    of_subjects,
    outlived,
    violations,
)
from conformance.reports.words import (
    BARS,
    OTHER_CASES,
    STANDINGS,
    STRENGTH_LEGEND,
    amount,
    change_in_words,
    changed_claim,
    labels,
    number_changed,
    replay_command,
    shortened,
    standings,
    strengths,
    witness_of,
)
from conformance.results.baseline import Baseline
from conformance.results.changes import Changes, successive
from conformance.results.report import Report
from conformance.results.results import Results

SPECIAL = re.compile(r"[\\`*_{}\[\]<>#|]")
RELEASED = re.compile(r"([\w.:+-]+@[\w.+-]*\w)")

LIMIT = 60_000
"""Characters: a comment on GitHub takes 65,536."""

MANY = 8
"""How many new violations, mended ones and causes are told."""


def render(runs: Sequence[Results]) -> str:
    """The changes between the runs, oldest first; then, of the last run, what is new, mended and still broken, by
    cause, and the engines. Where the changes are too long for a comment they are left out, and the last line says
    so."""
    if len(runs) > 1:
        runs = [run.in_short() for run in runs]
    changes, last = _changes(runs), _broken(runs[-1]) + _engines(runs[-1])
    fits = len(changes) + len(last) <= LIMIT
    closing = "" if fits else "Left out for length: what changed. The page has all.\n"
    return "# Conformance\n\n" + (changes if fits else "") + last + closing


def _changes(runs: Sequence[Results]) -> str:
    names = labels(runs)
    lines: list[str] = []
    for number, between in enumerate(successive([Baseline.of(run) for run in runs]), 1):
        before = names[0] if number == 1 else "the runs before"
        lines += changed(runs[: number + 1], between, before, names[number])
    return _joined(lines)


def _broken(results: Results) -> str:
    """What is new, mended and still broken, on a screen."""
    run, found = results.run, violations(results)
    cases = "from a file of cases" if run.seed is None else f"seed {run.seed}"
    lines = [f"**Not a full run: {plain('; '.join(results.shortened))}.**", ""] if results.shortened else []
    asked = f"{amount(run.cases, 'case')} on {amount(run.timelines, 'timeline')}, {cases}, harness {run.harness}."
    lines += [f"{counted(results, found)}. {asked}", ""]
    for title, rows, told in (("New", found.new, _each), ("Still broken", found.known, _causes)):
        if rows:
            lines += [f"## {title}: {amount(len(rows), 'guarantee')} on engines", "", *told(results, rows), ""]
        if title == "New" and found.mended:
            names = mended(results, found)
            lines += [f"## Mended: {amount(len(names), 'guarantee')} on engines", ""]
            lines += [*_few([f"- {plain(name)}" for name in names]), ""]
    closing = [line for line in (outlived(found), of_subjects(results), *failures(results)) if line]
    return _joined([*lines, *(f"- {plain(line)}" for line in closing), ""])


def _each(results: Results, rows: Sequence[Folded]) -> list[str]:
    """A line for each row, those of one cause together."""
    return _few(
        [
            f"- {plain(f'{row.engine}: {named(results, row.row)}')} ({plain(cause)}): {_shown(row)}"
            for cause, mine in by_cause(rows).items()
            for row in mine
        ]
    )


def _causes(results: Results, rows: Sequence[Folded]) -> list[str]:
    """A line for each cause."""
    lines = []
    for cause, mine in by_cause(rows).items():
        shows = next((row for row in mine if row.witness), mine[0])
        lines.append(f"- {plain(cause)}: {len(mine)}, on {plain(engines_of(mine))}: {_shown(shows)}")
    return _few(lines, "causes")


def _shown(row: Folded) -> str:
    return f"`{replay_command(row.witness)}`" if row.witness else plain(shortened(row.reason, 200))


def _few(lines: list[str], what: str = "") -> list[str]:
    more = [f"- and {len(lines) - MANY} more {what}".rstrip()] if len(lines) > MANY else []
    return [*lines[:MANY], *more]


def _engines(results: Results) -> str:
    folded = results.folded()
    lines = [
        "<details><summary>Engines</summary>",
        "",
        "| engine | "
        + " | ".join(word.replace("-", " ") for word in STANDINGS)
        + " | strength | packs run | versions |",
        "|---|" + "--:|" * (len(STANDINGS) + 2) + "---|",
    ]
    for engine in results.engines:
        rows = [by_engine[engine] for by_engine in folded.values() if engine in by_engine]
        strength = " ".join(f"{BARS[found]} {number}" for found, number in strengths(rows).items() if number)
        versions = ", ".join(f"{k} {v}" for k, v in results.environment[engine].versions.items() if "." not in k)
        record = results.environment[engine]
        packs = f"{record.packs.run} of {record.packs.drawn}" + (f" ({record.age})" if record.age else "")
        row = [engine, *map(str, standings(rows).values()), strength, packs, versions]
        lines.append("| " + " | ".join(map(plain, row)) + " |")
    return _joined([*lines, "", f"Strength of what holds, the {STRENGTH_LEGEND}.", "", "</details>"])


def _joined(lines: list[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def changed(
    runs: Sequence[Results], between: Changes, old: str, new: str, replays: Mapping[str, str] | None = None
) -> list[str]:
    """The changes from a run to the next, by kind. The texts of claims come from the runs. With ``replays``, commands
    by witness: each change with how its witness fails, and the command."""
    lines = [f"## {plain(old)} → {plain(new)}", ""]
    if not between.same_cases:
        lines += [OTHER_CASES, ""]
    for label, engines in ((old, between.gone), (new, between.added)):
        lines += [f"Only in {plain(label)}: {plain(', '.join(engines))}", ""] if engines else []
    for kind, found in between.found.items():
        lines += [f"**{number_changed(found)} {kind.value}**", ""]
        for change in found:
            told = f"{plain(changed_claim(runs, change))}: {plain(change_in_words(change))}"
            lines.append(f"- **{plain(change.engine)}**: {told}")
            if replays is not None and (witness := witness_of(runs, change)):
                lines += [f"  - {plain(witness.message)}", f"  - `{replays[witness.id]}`"]
        lines.append("")
    return lines if between.found else [*lines, "Nothing changed.", ""]


def plain(text: str) -> str:
    """Text that Markdown takes literally, on one line of a table, without mentions of users. NAME@VERSION is code, so
    that a copy of it is the name."""
    parts = RELEASED.split(text)
    parts[::2] = (SPECIAL.sub(r"\\\g<0>", part).replace("@", "@\u200b") for part in parts[::2])
    parts[1::2] = (f"`{name}`" for name in parts[1::2])
    return " ".join("".join(parts).split())


REPORT = Report(render, "summary.md")
