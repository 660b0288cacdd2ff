"""What changed between two runs is told cell by cell, in both directions."""

from dataclasses import replace

import pytest
from hostile import hostile_results

from conformance.changes import Direction, changes
from conformance.results import Verdict


def with_verdicts(results, **verdicts):
    return replace(results, cells=[replace(c, verdict=verdicts.get(c.engine, c.verdict)) for c in results.cells])


@pytest.mark.parametrize(
    ("before", "after", "direction"),
    [
        (Verdict.HOLDS, Verdict.VIOLATED, Direction.BROKEN),
        (Verdict.HOLDS, Verdict.UNKNOWN, Direction.BROKEN),
        (Verdict.VIOLATED, Verdict.HOLDS, Direction.MENDED),
        (Verdict.UNKNOWN, Verdict.HOLDS, Direction.MENDED),
        (Verdict.VIOLATED, Verdict.UNSUPPORTED, Direction.OTHER),
        (Verdict.UNSUPPORTED, Verdict.VIOLATED, Direction.OTHER),
    ],
)
def test_which_way_a_verdict_changed(before, after, direction):
    old, new = (with_verdicts(hostile_results(), odd=verdict) for verdict in (before, after))
    found = changes(old, new).found
    assert {way: [(c.engine, c.before, c.after) for c in group] for way, group in found.items()} == {
        direction: [("odd", before, after)]
    }


def test_a_flip_each_way_does_not_cancel_out():
    """Under two perturbations of one guarantee, too."""
    old = hostile_results()
    old.cells += [replace(old.cells[0], perturbation="split", verdict=Verdict.HOLDS)]
    new = replace(old, cells=[*old.cells])
    new.cells[0] = replace(old.cells[0], verdict=Verdict.HOLDS)
    new.cells[-1] = replace(old.cells[-1], verdict=Verdict.VIOLATED)
    found = changes(old, new).found
    assert [(way, group[0].perturbations) for way, group in found.items()] == [
        (Direction.BROKEN, ("split",)),
        (Direction.MENDED, ("as drawn",)),
    ]


def test_cells_that_come_or_go_are_changes_and_engines_are_named():
    old = hostile_results()
    new = replace(old, cells=[c for c in old.cells if c.engine != "slow"])
    assert (changes(old, new).gone, changes(old, new).added) == (("slow",), ())
    assert (changes(new, old).gone, changes(new, old).added) == ((), ("slow",))
    more = replace(old, cells=[*old.cells, replace(old.cells[0], perturbation="split")])
    assert list(changes(old, more).found) == [Direction.ADDED]
    assert list(changes(more, old).found) == [Direction.GONE]


def test_other_cases_are_told():
    old = hostile_results()
    assert changes(old, old).same_cases
    assert not changes(old, replace(old, run={**old.run, "cases_digest": "other"})).same_cases
