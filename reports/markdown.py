"""summary.md: for a pull request or a CI job's page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from conformance.judgement.cell import Folded, Verdict
from conformance.results.baseline import Baseline
from conformance.results.changes import Changes, successive
from conformance.results.claims import Answer, all_decisions
from conformance.results.claims import counted as counted_claims
from conformance.results.report import Report
from conformance.results.results import Results
from reports.claims import probed_on
from reports.likeness import agreed
from reports.words import (
    BARS,
    OTHER_CASES,
    STANDINGS,
    STRENGTH_LEGEND,
    cells_changed,
    change_in_words,
    changed_claim,
    claim,
    labels,
    mark,
    not_run,
    replay_command,
    replayed,
    standings,
    strengths,
    witness_of,
)

LIMIT = 60_000
"""Characters: a comment on GitHub takes 65,536."""


def render(runs: Sequence[Results]) -> str:
    """The changes between the runs, oldest first; then, of the last run, the violated guarantees and the whole matrix. Parts that
    would be too long for a comment are left out, from the end. The last line names them."""
    if len(runs) > 1:
        runs = [run.in_short() for run in runs]
    results = runs[-1]
    sections = {"what changed": _changes(runs), "engines": _engines(results), "what is violated": _violated(results)}
    sections |= {"claims": _claims(results), "all guarantees": _matrix(results), "agreement": _agreements(results)}
    left_out: list[str] = []
    while len(sections) > 1 and sum(map(len, sections.values())) > LIMIT:
        name, _ = sections.popitem()
        left_out.insert(0, name)
    closing = f"Left out for length: {', '.join(left_out)}. The page has all.\n" if left_out else ""
    return "# Conformance\n\n" + "".join(sections.values()) + closing


def _changes(runs: Sequence[Results]) -> str:
    names = labels(runs)
    lines: list[str] = []
    for number, between in enumerate(successive([Baseline.of(run) for run in runs]), 1):
        before = names[0] if number == 1 else "the runs before"
        lines += changed(runs[: number + 1], between, before, names[number])
    return _joined(lines)


def _engines(results: Results) -> str:
    run, folded = results.run, results.folded()
    cases = "from a file of cases" if run.seed is None else f"seed {run.seed}"
    lines = [f"**Not a full run: {plain('; '.join(run.shortened))}.**", ""] if run.shortened else []
    lines += [
        f"{run.cases} cases on {run.timelines} timelines, {cases}, harness {run.harness}.",
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
    lines += ["", f"Strength of what holds, the {STRENGTH_LEGEND}.", ""]
    lines += [*(f"- {plain(engine)} did not run to its end: {plain(why)}" for engine, why in not_run(results)), ""]
    return _joined([*lines, *(f"- {plain(line)}" for line in replayed(results)), ""])


def _violated(results: Results) -> str:
    """By guarantee, the engines that break it, each with the command that shows it."""
    lines: list[str] = []
    for row, by_engine in results.folded().items():
        against = {engine: cell for engine, cell in by_engine.items() if cell.verdict is Verdict.VIOLATED}
        if against:
            lines.append(f"- **{plain(results.scenarios[row[0]].name)}: {plain(claim(results, row))}**")
        for engine, cell in against.items():
            lines.append(
                f"  - {plain(engine)}: " + (f"`{replay_command(cell.witness)}`" if cell.witness else plain(cell.reason))
            )
    return _joined(["## Violated", "", *lines, ""]) if lines else ""


def _claims(results: Results) -> str:
    """The answers to documents' claims, with each contradicted claim; nothing if no claim was asked."""
    decisions = all_decisions(results)
    numbers = counted_claims(decisions)
    if not numbers[Answer.CONTRADICTED] + numbers[Answer.CONFIRMED] + numbers[Answer.UNDECIDED]:
        return ""
    lines = ["## Claimed against observed", "", f"{', '.join(f'{n} {a.value}' for a, n in numbers.items() if n)}.", ""]
    for decision in decisions:
        if decision.answer is Answer.CONTRADICTED:
            on = [found.engine for found in decision.of(Answer.CONTRADICTED)]
            against = f"on {', '.join(on)}" if on else f"by {probed_on(decision)}"
            document = decision.claim.document.title
            lines.append(f"- “{plain(decision.claim.quote)}” ({plain(document)}): contradicted {plain(against)}")
    return _joined([*lines, ""])


def _matrix(results: Results) -> str:
    columns = results.columns
    legend = ", ".join(f"{symbol} {word.replace('-', ' ')}" for word, (symbol, _) in STANDINGS.items())
    lines = ["<details><summary>All guarantees</summary>", "", f"{legend}; with the number of cases.", ""]
    lines += ["| guarantee | " + " | ".join(map(plain, columns)) + " |", "|---|" + "---|" * len(columns)]
    for row, by_engine in results.folded().items():
        shown = [
            "<br>".join(_verdict(by_engine[engine]) for engine in engines if engine in by_engine)
            for engines in columns.values()
        ]
        name = results.scenarios[row[0]].name
        lines.append(f"| {plain(name)}: {plain(claim(results, row))} | " + " | ".join(shown) + " |")
    return _joined([*lines, "", "</details>", ""])


def _verdict(row: Folded) -> str:
    return mark(row) + (f" {row.cases}" if row.cases else "")


def _joined(lines: list[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def changed(
    runs: Sequence[Results], between: Changes, old: str, new: str, replays: Mapping[str, str] | None = None
) -> list[str]:
    """The changes from a run to the next, by kind. The texts of claims come from the runs. With ``replays``, commands by witness: each
    change with how its witness fails, and the command."""
    lines = [f"## {plain(old)} → {plain(new)}", ""]
    if not between.same_cases:
        lines += [OTHER_CASES, ""]
    for label, engines in ((old, between.gone), (new, between.added)):
        lines += [f"Only in {plain(label)}: {plain(', '.join(engines))}", ""] if engines else []
    for kind, found in between.found.items():
        lines += [f"**{cells_changed(found)} {kind.value}**", ""]
        for change in found:
            told = f"{plain(changed_claim(runs, change))}: {plain(change_in_words(change))}"
            lines.append(f"- **{plain(change.engine)}**: {told}")
            if replays is not None and (witness := witness_of(runs, change)):
                lines += [f"  - {plain(witness.message)}", f"  - `{replays[witness.id]}`"]
        lines.append("")
    return lines if between.found else [*lines, "Nothing changed.", ""]


def _agreements(results: Results) -> str:
    """A table of the pairs that are not identical on every case; nothing if no pair was compared."""
    compared = [agreement for agreement in results.agreements if agreement.cases]
    differ = [agreement for agreement in compared if agreement.differing]
    if not compared:
        return ""
    lines = [
        "<details><summary>Agreement between engines</summary>",
        "",
        f"Of {len(compared)} comparisons of two engines, or of an engine and the reference that reads *late* as it does, "
        f"{len(compared) - len(differ)} are identical on every case. That two differ accuses neither.",
    ]
    if differ:
        lines += ["", "| program | engines | agree up to | cases | not identical |", "|---|---|---|--:|--:|"]
    for agreement in differ:
        name = f"{results.scenarios[agreement.scenario].name} ({agreement.program})"
        pair = f"{plain(agreement.left)} / {plain(agreement.right)}"
        numbers = f"{agreement.cases} | {agreement.differing}"
        lines.append(f"| {plain(name)} | {pair} | {plain(agreed(agreement))} | {numbers} |")
    return _joined([*lines, "", "</details>"])


def plain(text: str) -> str:
    """Text that Markdown takes literally, on one line of a table, without mentions of users."""
    for char in "\\`*_{}[]<>#|":
        text = text.replace(char, "\\" + char)
    return " ".join(text.replace("@", "@\u200b").split())


REPORT = Report(render, "summary.md")
