"""docs/model.md lists what programs and predicates can use, as the code has it."""

import re
from dataclasses import fields, is_dataclass
from pathlib import Path

import pytest

from conformance.model import (
    Arrival,
    Cell,
    Domain,
    Emission,
    Equivalence,
    Event,
    Guarantee,
    Observation,
    Program,
    Scenario,
)
from conformance.model.program import BagCell, CombiningCell, MapCell, SetCell, Timer, ValueCell

PAGE = (Path(__file__).parents[3] / "docs" / "model.md").read_text(encoding="utf-8")


def listed(name):
    """The names in the first column of the table of a class."""
    _, _, table = PAGE.partition(f"| `{name}` |")
    rows = table.splitlines()[2:]
    rows = rows[: next((n for n, row in enumerate(rows) if not row.startswith("|")), len(rows))]
    return [found for row in rows for found in re.findall(r"`(\w+)", row.split("|")[1])]


def public(kind):
    """The public names that instances have, without methods of the class that no table lists."""
    own = {name for name in vars(kind) if not name.startswith("_")}
    return own | ({field.name for field in fields(kind)} if is_dataclass(kind) else set())


OTHERS = {
    Program: {"on_event", "on_timer", "on_initial", "read_from_outside", "waits", "has_key", "typed_key", "key_name"},
    Emission: {"to_json"},
    Guarantee: {"about_plans", "about", "is_about", "opposite", "is_opposite"},
    Scenario: {"id", "askable"},
}
"""What is there for the harness, or told beside the table."""


@pytest.mark.parametrize("kind", [Program, Event, Timer, Observation, Arrival, Emission, Domain, Guarantee, Scenario])
def test_the_page_lists_what_there_is(kind):
    assert sorted(listed(kind.__name__)) == sorted(public(kind) - OTHERS.get(kind, set()))


def test_the_page_lists_each_kind_of_cell_with_its_calls():
    kinds = zip(Cell, (ValueCell, BagCell, MapCell, SetCell, CombiningCell), strict=True)
    assert listed("Cell") == [cell.name for cell in Cell]
    for cell, protocol in kinds:
        (row,) = re.findall(rf"^\| `{cell.name}` \| (.*) \|$", PAGE, re.MULTILINE)
        calls = {name for name in vars(protocol) if not name.startswith("_")}
        assert set(re.findall(r"`(\w+)\(", row)) == calls


def test_the_page_names_each_equivalence():
    (line,) = [line for line in PAGE.splitlines() if line.startswith("`Equivalence` is")]
    assert re.findall(r"`([A-Z_]+)`", line) == [one.name for one in Equivalence]
