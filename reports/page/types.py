"""The tables of types: what becomes of a typed value, and of a typed key, on each engine, in a word.

A word is the verdict of a cell; what a violated cell says decides between the words.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from conformance.judgement.cell import Folded, Verdict
from conformance.plugins.registry import load_scenarios
from conformance.reports.grid import NATIVE, Column, Grid

WORDS = {
    "✓": "every value came back equal and of its type, or every key was kept apart and shared as it should be; what "
    "does not fit was refused, or kept as it was written",
    "(✓)": "as above, and a perturbation that the guarantee promises was not exercised",
    "refused": "the engine refuses a value that fits",
    "changed": "another value, another type or another key came back",
    "stored": "a value that does not fit was taken",
    "unreadable": "the value was taken, and a read of it fails",
    "merged": "different keys share their state",
    "split": "elements of equal keys do not find one state",
    "?": "not decided: no answer, or the question did not come up",
    "–": "the engine or its adapter cannot express the question",
}
"""Word -> its meaning."""

SIGNS = (
    (" refuses ", "refused"),
    (" is refused: ", "refused"),
    ("cannot be read", "unreadable"),
    (r" stored$", "stored"),
    ("not refused", "stored"),
    ("found an element of", "merged"),
    (" share the state of ", "split"),
    ("did not find", "split"),
    ("is counted up to|^no element of the key|of another key are joined", "merged"),
    ("^no count of the key|elements of the key .* came out|are not joined", "split"),
)
"""(a pattern in the reason of a violated cell, word), the first that fits."""


def word(row: Folded) -> str:
    """What the tables say of a row of the matrix."""
    if row.verdict is Verdict.HOLDS:
        return "(✓)" if row.in_part else "✓"
    if row.verdict is Verdict.VIOLATED:
        return next((said for sign, said in SIGNS if re.search(sign, row.reason)), "changed")
    return "–" if row.verdict is Verdict.UNSUPPORTED else "?"


@dataclass(frozen=True)
class Table:
    """The guarantees of one program that has typed cells or typed keys.

    Attributes:
        columns: the engines that can express one of them.
        rows: (claim, column -> (word, name of the cell in links)).
    """

    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[str, Mapping[Column, tuple[str, str]]], ...]


def tables(grid: Grid) -> Iterator[Table]:
    """The tables of all programs with types that the runs asked about. Native operators and the reference are left out:
    the first have no state of a user, the second is what the words compare with."""
    columns = [column for column in grid.columns if column.name != "reference" and column.family != NATIVE]
    for scenario in load_scenarios():
        for name, program in scenario.programs.items():
            if not (program.types or program.keys):
                continue
            claims = {(scenario.id, g.id): g.claim for g in scenario.guarantees if g.program == name}
            rows = [
                (claim, {column: found for column in columns if (found := _found(grid, row, column))})
                for row, claim in claims.items()
                if row in grid.rows
            ]
            there = tuple(c for c in columns if any(c in found and found[c][0] != "–" for _, found in rows))
            if there:
                yield Table(f"{scenario.name.capitalize()}: {name}", there, tuple(rows))


def _found(grid: Grid, row: tuple[str, str], column: Column) -> tuple[str, str] | None:
    for engine in column.engines:
        if (found := grid.folded[column.run].get((row, engine))) is not None:
            return word(found), grid.anchor(column.run, row, engine)
    return None
