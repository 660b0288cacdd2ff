"""The kill matrix: which scenario catches which mutant of the reference engine, and whether pairs of them are caught."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from conformance.selftest import SelfTest
from reports.pages import framed


def _scenarios(found: SelfTest) -> list[str]:
    return sorted({scenario for scenario, _ in found.asked})


def _broken(found: SelfTest, mutant: str, scenario: str) -> list[str]:
    return sorted(guarantee for s, guarantee in found.kills[mutant] if s == scenario)


def problems(found: SelfTest) -> list[str]:
    """What is wrong with the verifier, one line each."""
    lines = [f"the mutant {mutant} survives" for mutant in found.survivors]
    lines += [f"nothing makes the guarantee {'/'.join(row)} fail" for row in found.toothless]
    lines += [f"the reference is accused: {'/'.join(c.row)} ({c.perturbation}): {c.reason}" for c in found.accusations]
    return lines


def show(found: SelfTest, console: Console) -> None:
    """The matrix in the terminal: how many guarantees of each scenario a mutant breaks."""
    table = Table(title="Guarantees that each mutant breaks", title_justify="left")
    table.add_column("mutant", no_wrap=True)
    for scenario in _scenarios(found):
        table.add_column(scenario.replace("-", " "), justify="right")
    for mutant in found.kills:
        table.add_row(mutant, *(str(len(_broken(found, mutant, s)) or "") for s in _scenarios(found)))
    console.print(table)
    for line in problems(found):
        console.print(escape(line), style="red", highlight=False, soft_wrap=True)
    killed = sum(map(bool, found.kills.values()))
    pairs = sum(map(bool, found.pairs.values()))
    console.print(
        f"{killed} of {len(found.kills)} mutants and {pairs} of {len(found.pairs)} pairs of them caught, "
        f"{len(found.accusations)} false accusations",
        highlight=False,
    )


def arranged(found: SelfTest) -> dict[str, Any]:
    """What the template of the matrix takes: the guarantees by name, and what caught each pair."""
    return {
        "scenarios": _scenarios(found),
        "rows": [(mutant, [_broken(found, mutant, s) for s in _scenarios(found)]) for mutant in found.kills],
        "pairs": [(pair.split("+"), row) for pair, row in found.pairs.items()],
        "problems": problems(found),
    }


def render(found: SelfTest) -> str:
    """The matrix as a page."""
    return framed("kills.html.j2", kills=arranged(found))
