"""The end of a run at the terminal, on a screen: what is new, what is violated, what surprises, and where the files are."""

from __future__ import annotations

from collections import Counter

from rich.console import Console
from rich.markup import escape

from conformance.judgement.cell import Verdict
from conformance.results.baseline import Baseline
from conformance.results.changes import Kind, changes
from conformance.results.results import Results
from reports.likeness import compared_ports
from reports.notable import new_witnesses, sentence, surprising
from reports.words import amount, claim, not_run, replay_command, standings

NEW, SURPRISING, FAILED = 6, 3, 6
"""How many of each are told; the files have all."""

TOLD = (Kind.REGRESSION, Kind.FIX, Kind.OTHER_WITNESS)
"""The changes since the last run that are told. What one of the two runs did not ask or decide is none."""


def since_the_last(before: Baseline, now: Baseline) -> str:
    """What changed since the last run, by the number of rows, "" if no row that both runs asked can be compared."""
    found = changes(before, now)
    if not found.unchanged and not any(found.found.get(kind) for kind in TOLD):
        return ""
    rows = {kind: {(c.engine, c.scenario, c.about) for c in found.found.get(kind, ())} for kind in TOLD}
    told = [f"{kind.value}: {amount(len(rows[kind]), 'row')}" for kind in TOLD if rows[kind]]
    if not told and any(True for _ in found):  # of another kind
        return ""
    same = "" if found.same_cases else "; the cases are others"
    return f"Since the last run here: {', '.join(told) or 'nothing changed'}{same}"


def ending(results: Results, console: Console, changed: str = "") -> None:
    """A few lines on a run, among them what changed since another (see ``since_the_last``). ``terminal.summary`` has the whole matrix."""

    def say(text: str, style: str | None = None) -> None:
        console.print(escape(text), style=style, highlight=False, soft_wrap=True)

    folded = results.folded()
    rows = [row for found in folded.values() for row in found.values()]
    counts = {word.replace("-", " "): number for word, number in standings(rows).items() if number}
    told = ", ".join(f"{number} {word}" for word, number in counts.items())
    say(f"{amount(len(folded), 'guarantee')} on {amount(len(results.engines), 'engine')}: {told}")
    violated = Counter(row.engine for row in rows if row.verdict is Verdict.VIOLATED)
    if violated:
        say("Violated: " + ", ".join(f"{engine} {number}" for engine, number in violated.most_common()), "red")
    answers = Counter(replay.answer for replay in results.replays)
    if answers:
        say("Stored witnesses: " + ", ".join(f"{number} {answer}" for answer, number in answers.items()))
    if new := new_witnesses(results):
        say(f"New: {amount(len(new), 'violation')} that no stored witness showed")
        for cell in new[:NEW]:
            say(f"  {cell.engine}: {claim(results, cell.row)}: {cell.reason} [{cell.witness}]")
        if len(new) > NEW:
            say(f"  and {len(new) - NEW} more")
    if changed:
        say(changed)
    if found := surprising(results)[:SURPRISING]:
        say("Most surprising:")
        for row in found:
            say(f"  {sentence(results, row)}")
            say(f"    {replay_command(row.witness)}")
    if errors := [row for row in rows if row.verdict is Verdict.ERROR]:
        say(
            f"Error: the harness failed on {amount(len(errors), 'row')}; the first: {errors[0].engine}: {errors[0].reason}",
            "magenta",
        )
    failures = not_run(results)
    for engine, why in failures[:FAILED]:
        say(f"{engine} did not run to its end: {why}", "yellow")
    if len(failures) > FAILED:
        say(
            f"and {len(failures) - FAILED} more did not run: {', '.join(name for name, _ in failures[FAILED:])}",
            "yellow",
        )
    for engine in results.engines:
        mine = [row for row in rows if row.engine == engine]
        if all(row.verdict is Verdict.UNSUPPORTED for row in mine):
            say(f"{engine} cannot be asked: {mine[0].reason}")
    if results.run.shortened:
        say(f"Not a full run: {'; '.join(results.run.shortened)}.", "yellow")
    for told, agreement in compared_ports(results):
        say(told, "red" if agreement.smallest else "green")
