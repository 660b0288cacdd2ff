"""Write the tables of types from the results of a run: python docs/draw_types.py RESULTS [PAGE]

RESULTS is a results.json.gz of a run of the scenarios about typed state and typed keys, PAGE docs/types.md if nothing
is said.
"""

import sys
from pathlib import Path

from conformance.reports.grid import Grid
from conformance.reports.page.types import WORDS, tables
from conformance.results.results import Results

HEAD = """\
# Types

This page says what becomes of a value that a program writes into a typed state cell, and of a typed key that rows are
grouped by.
`docs/draw_types.py` writes it from the results of a run: each word is the verdict of a cell.
The page of a run has the same tables; there each word leads to its evidence.

| word | meaning |
|---|---|
"""


def page(results):
    """The text of the page."""
    grid = Grid([results])
    found = list(tables(grid))
    engines = dict.fromkeys(engine for table in found for column in table.columns for engine in column.engines)
    parts = [HEAD + "\n".join(f"| {word} | {meaning} |" for word, meaning in WORDS.items()), ""]
    parts += [f"- `{name}`: {' '.join(results.environment[name].framework or ())}" for name in engines]
    for table in found:
        parts += ["", f"## {table.title}", ""]
        parts.append("| guarantee | " + " | ".join(f"`{column.name}`" for column in table.columns) + " |")
        parts.append("|---|" + "---|" * len(table.columns))
        for claim, row in table.rows:
            words = " | ".join(row[column][0] if column in row else "–" for column in table.columns)
            parts.append(f"| {claim} | {words} |")
    return "\n".join(parts) + "\n"


if __name__ == "__main__":
    source, *place = sys.argv[1:]
    target = Path(place[0]) if place else Path(__file__).parent / "types.md"
    target.write_text(page(Results.read(Path(source))), encoding="utf-8")
    print(f"wrote {target}")
