"""The kill matrix: which scenario catches which mutant of the reference engine, and which pairs of mutants."""

from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from conformance.reports.page.pages import framed
from conformance.reports.text.screen import say
from conformance.reports.words import amount
from conformance.selftest.power import Power
from conformance.selftest.selftest import SelfTest
from conformance.support.grouping import grouped


def _scenarios(found: SelfTest) -> list[str]:
    return sorted({scenario for scenario, _ in found.asked})


def _broken(found: SelfTest, mutant: str, scenario: str) -> list[str]:
    return sorted(guarantee for s, guarantee in found.kills[mutant] if s == scenario)


def problems(found: SelfTest) -> list[str]:
    """The faults of the verifier, one a line."""
    lines = [f"the mutant {mutant} survives" for mutant in found.survivors]
    lines += [f"no mutant makes the guarantee {'/'.join(row)} fail" for row in found.toothless]
    lines += [f"the reference is accused: {'/'.join(c.row)} ({c.perturbation}): {c.reason}" for c in found.accusations]
    return lines


def show(found: SelfTest, console: Console, matrix: bool = True) -> None:
    """The result for the terminal, with the number of guarantees of each scenario that a mutant breaks if
    ``matrix``."""
    table = Table(title="Guarantees that each mutant breaks", title_justify="left")
    table.add_column("mutant", no_wrap=True)
    for scenario in _scenarios(found):
        table.add_column(scenario.replace("-", " "), justify="right")
    for mutant in found.kills:
        table.add_row(mutant, *(str(len(_broken(found, mutant, s)) or "") for s in _scenarios(found)))
    if matrix:
        console.print(table)
    for line in problems(found):
        say(console, line, "red")
    killed = sum(map(bool, found.kills.values()))
    pairs = sum(map(bool, found.pairs.values()))
    say(
        console,
        f"{killed} of {len(found.kills)} mutants and {pairs} of {len(found.pairs)} pairs of them caught, "
        f"{len(found.accusations)} false accusations",
    )


def show_some(found: SelfTest, console: Console) -> None:
    """The catch of some scenarios on one screen: the number of mutants that each guarantee catches, and of guarantees
    that catch each mutant."""

    def told(text: str, style: str = "") -> None:
        console.print(escape(text), style=style, highlight=False, soft_wrap=False)

    seen = len(found.kills) + len(found.let_through)
    told(f"{seen + len(found.out_of_sight)} mutants: {seen} in sight, {len(found.kills)} of them caught")
    table = Table(title="Mutants that each guarantee catches", title_justify="left")
    for heading in ("guarantee", "caught", "by it alone"):
        table.add_column(heading, justify="left" if heading == "guarantee" else "right")
    for row in sorted(found.asked):
        mine = [rows for rows in found.kills.values() if row in rows]
        table.add_row("/".join(row), str(len(mine) or "nothing"), str(sum(len(rows) == 1 for rows in mine) or ""))
    console.print(table)
    by_number = grouped((len(rows), mutant) for mutant, rows in found.kills.items())
    for number, mutants in sorted(by_number.items()):
        told(f"caught by {number} guarantee{'s' if number > 1 else ''}: {', '.join(mutants)}")
    if found.let_through:
        told(f"in sight, but no guarantee catches: {', '.join(found.let_through)}")
    for line in problems(found):
        told(line, style="red")
    pairs = sum(map(bool, found.pairs.values()))
    told(f"{pairs} of {len(found.pairs)} pairs of caught mutants caught, {len(found.accusations)} false accusations")


def caught_of(power: Power) -> str:
    """How many of the seeded bugs a run would catch, and what kind of run that is, in a sentence."""
    asked = power.asked
    kind = "a brief run" if asked.brief else "a run"
    return (
        f"{kind} ({amount(asked.wanted, 'case')} of each program on each timeline, seed {asked.seed}: "
        f"{amount(power.cases, 'case')} in {amount(power.packs, 'pack')}) would catch "
        f"{len(power.caught)} of {power.visible} seeded bugs"
    )


def show_power(power: Power, console: Console) -> None:
    """What a run on an engine would catch, which bugs it would miss, and which the engine could not show."""
    lines = [f"{power.engine}: {caught_of(power)}"]
    lines += [f"missed: {mutant}" for mutant in power.missed]
    if power.not_visible:
        lines.append(f"not visible to it ({len(power.not_visible)}): {', '.join(power.not_visible)}")
    for line in lines:
        say(console, line)


def arranged(found: SelfTest) -> dict[str, Any]:
    """The values for the template of the matrix: the guarantees by name, and the guarantee that caught each pair."""
    return {
        "scenarios": _scenarios(found),
        "rows": [(mutant, [_broken(found, mutant, s) for s in _scenarios(found)]) for mutant in found.kills],
        "pairs": [(pair.split("+"), row) for pair, row in found.pairs.items()],
        "problems": problems(found),
    }


def render(found: SelfTest) -> str:
    """The matrix as a page."""
    return framed("kills.html.j2", kills=arranged(found))
