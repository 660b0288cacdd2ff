"""The end of a run at the terminal, on a screen: what is new, what is violated, what surprises, and where the files
are."""

from rich.console import Console

from conformance.confirmation.replay import NOT_REPLAYED
from conformance.judgement.cell import Verdict
from conformance.reports.text import screen
from conformance.reports.text.likeness import compared_ports
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
from conformance.reports.words import amount, replay_command, shortened
from conformance.results.baseline import Baseline
from conformance.results.changes import Kind, changes
from conformance.results.results import Results

NEW, CAUSES, FAILED = 5, 5, 6
"""How many of each are told; the files have all."""

WIDTH = 300
"""The most characters of a line."""

TOLD = (Kind.REGRESSION, Kind.FIX, Kind.OTHER_WITNESS)
"""The changes since the last run that are told. What one of the two runs did not ask or decide is none."""


def since_the_last(before: Baseline, now: Baseline) -> str:
    """What changed since the last run, by the number of rows, "" if no row that both runs asked can be compared."""
    found = changes(before, now)
    if not found.unchanged and not any(found.found.get(kind) for kind in TOLD):
        return ""
    rows = {kind: {(c.engine, c.scenario, c.about) for c in found.found.get(kind, ())} for kind in TOLD}
    told = [f"{kind.value}: {amount(len(rows[kind]), 'guarantee')} on engines" for kind in TOLD if rows[kind]]
    if not told and any(True for _ in found):  # of another kind
        return ""
    same = "" if found.same_cases else "; the cases are others"
    return f"Since the last run here: {', '.join(told) or 'nothing changed'}{same}"


def ending(results: Results, console: Console, changed: str = "") -> None:
    """A screen on a run, with what changed since another one (see ``since_the_last``). ``terminal.summary`` has the
    whole matrix."""

    def say(text: str, style: str = "") -> None:
        screen.say(console, shortened(text, WIDTH), style)

    rows = [row for found in results.folded().values() for row in found.values()]
    found = violations(results)
    say(counted(results, found), "red" if found.new else "")
    if changed:
        say(changed)
    if found.new:
        say(f"New: {amount(len(found.new), 'violation')} that no stored witness showed")
        for row in found.new[:NEW]:
            say(f"  {row.engine}: {named(results, row.row)}: {row.reason}")
            say(f"    {replay_command(row.witness)}" if row.witness else "    no witness: see the reason")
        if len(found.new) > NEW:
            say(f"  and {len(found.new) - NEW} more")
    if lines := mended(results, found):
        for line in lines[:NEW]:
            say(line, "green")
        if len(lines) > NEW:
            say(f"  and {len(lines) - NEW} more")
    if found.known:
        causes = by_cause(found.known)
        say(f"Known: {amount(len(found.known), 'violation')} of {amount(len(causes), 'cause')}")
        for cause, mine in [*causes.items()][:CAUSES]:
            shown = next((f": {replay_command(row.witness)}" for row in mine if row.witness), "")
            say(f"  {len(mine)}: {cause} ({engines_of(mine)}){shown}")
        if len(causes) > CAUSES:
            say(f"  and {amount(len(causes) - CAUSES, 'more cause')}")
    for told in filter(None, (outlived(found), of_subjects(results))):
        say(told)
    if left := sum(replay.answer == NOT_REPLAYED for replay in results.replays):
        say(f"{amount(left, 'stored witness', 'es')} {NOT_REPLAYED}: no time was left")
    if errors := [row for row in rows if row.verdict is Verdict.ERROR]:
        say(f"Error: the harness failed on {len(errors)}; the first: {errors[0].engine}: {errors[0].reason}", "magenta")
    for line in failures(results)[:FAILED]:
        say(line, "yellow")
    for engine in results.engines:
        mine = [row for row in rows if row.engine == engine]
        if all(row.verdict is Verdict.UNSUPPORTED for row in mine):
            say(f"{engine} cannot be asked: {mine[0].reason}")
    if results.shortened:
        say(f"Not a full run: {'; '.join(results.shortened)}.", "yellow")
    for told, agreement in compared_ports(results):
        say(told, "red" if agreement.smallest else "green")
