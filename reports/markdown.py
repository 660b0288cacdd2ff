"""summary.md: for a pull request or a CI job's page."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from conformance.baseline import Baseline
from conformance.changes import Changes, changes
from conformance.results import Cell, Results, Verdict
from reports.words import (
    OTHER_CASES,
    SYMBOLS,
    agreed,
    cells_changed,
    change_in_words,
    changed_claim,
    claim,
    counted,
    differing,
    labels,
    not_run,
    replay_command,
    replayed,
)


def render(runs: Sequence[Results]) -> str:
    """What changed between the runs, oldest first; then the last one: what was violated, then the whole matrix."""
    results = runs[-1]
    folded = results.folded()
    run = results.run
    lines = ["# Conformance", ""]
    for old, new in pairwise(zip(runs, labels(runs), strict=True)):
        between = changes(Baseline.of(old[0]), Baseline.of(new[0]))
        lines += changed([old[0], new[0]], between, old[1], new[1])
    if run["partial"]:
        lines += ["**Partial: the run was cut short.**", ""]
    lines += [
        f"{run['cases']} cases on {run['clocks']} clocks, seed {run['seed']}, harness {run['harness']}.",
        "",
        "| engine | " + " | ".join(verdict.value for verdict in SYMBOLS) + " | versions |",
        "|---|" + "--:|" * len(SYMBOLS) + "---|",
    ]
    for engine in results.engines:
        numbers = counted(by_engine[engine] for by_engine in folded.values() if engine in by_engine)
        versions = ", ".join(f"{k} {v}" for k, v in results.environment[engine]["versions"].items() if "." not in k)
        lines.append(f"| {engine} | " + " | ".join(str(n) for n in numbers.values()) + f" | {plain(versions)} |")
    lines += ["", *(f"- {engine} did not run to its end: {plain(why)}" for engine, why in not_run(results))]
    against = [(row, e, c) for row, cells in folded.items() for e, c in cells.items() if c.verdict is Verdict.VIOLATED]
    lines += ["", "## Violated", ""] if against else []
    for row, engine, cell in against:
        lines += [f"- **{engine}**: {plain(claim(results, row))}", f"  - {plain(cell.reason)}"]
        lines += [f"  - `{replay_command(cell.witness)}`"] if cell.witness else []
    lines += ["", *(f"- {plain(line)}" for line in replayed(results))] if results.replays else []
    columns = results.columns
    lines += ["", "## All guarantees", "", "| guarantee | " + " | ".join(columns) + " |"]
    lines += ["|---|" + "---|" * len(columns)]
    for row, by_engine in folded.items():
        shown = [
            "<br>".join(_verdict(results, by_engine[engine]) for engine in engines if engine in by_engine)
            for engines in columns.values()
        ]
        name = results.scenarios[row[0]]["name"]
        lines.append(f"| {plain(name)}: {plain(claim(results, row))} | " + " | ".join(shown) + " |")
    lines += _agreements(results)
    return "\n".join(lines) + "\n"


def changed(runs: Sequence[Results], between: Changes, old: str, new: str) -> list[str]:
    """What changed from a run to the next, by kind. The texts of claims come from the runs."""
    lines = [f"## {plain(old)} → {plain(new)}", ""]
    if not between.same_cases:
        lines += [OTHER_CASES, ""]
    for label, engines in ((old, between.gone), (new, between.added)):
        lines += [f"Only in {plain(label)}: {plain(', '.join(engines))}", ""] if engines else []
    for kind, found in between.found.items():
        lines += [f"**{cells_changed(found)} {kind.value}**", ""]
        told = (f"- **{plain(c.engine)}**: {plain(changed_claim(runs, c))}: {plain(change_in_words(c))}" for c in found)
        lines += [*told, ""]
    return lines if between.found else [*lines, "Nothing changed.", ""]


def _agreements(results: Results) -> list[str]:
    """A table of those that are not identical on every case; nothing where nothing was compared."""
    compared = [agreement for agreement in results.agreements if agreement["cases"]]
    differ = [agreement for agreement in compared if differing(agreement)]
    if not compared:
        return []
    lines = [
        "",
        "## Agreement between engines",
        "",
        f"Of {len(compared)} comparisons of two engines, or of an engine and the reference that reads *late* as it does, "
        f"{len(compared) - len(differ)} are identical on every case. That two differ accuses neither.",
    ]
    if differ:
        lines += ["", "| program | engines | agree up to | cases | not identical |", "|---|---|---|--:|--:|"]
    for agreement in differ:
        name = f"{results.scenarios[agreement['scenario']]['name']} ({agreement['program']})"
        pair = f"{plain(agreement['left'])} / {plain(agreement['right'])}"
        numbers = f"{agreement['cases']} | {differing(agreement)}"
        lines.append(f"| {plain(name)} | {pair} | {plain(agreed(agreement))} | {numbers} |")
    return lines


def plain(text: str) -> str:
    """Text that Markdown takes literally, on one line of a table."""
    for char in "\\`*_{}[]<>#|":
        text = text.replace(char, "\\" + char)
    return " ".join(text.split())


def _verdict(results: Results, cell: Cell) -> str:
    idiom = results.environment[cell.engine]["idiom"]
    counted = f" ({cell.cases})" if cell.cases else ""
    return f"{SYMBOLS[cell.verdict]} {cell.verdict.value}{counted}" + (f" {plain(idiom)}" if idiom else "")
