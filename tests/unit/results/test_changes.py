"""What changed between two runs is told cell by cell, in both directions."""

import json
from dataclasses import replace

import pytest

from conformance.judgement.cell import Verdict
from conformance.reports.text import comparison
from conformance.results.baseline import Baseline, Scope, Standing
from conformance.results.changes import Kind, changes


def of(cells, alike=None, engines=("one",), digest="d"):
    """A baseline of cells of one engine and guarantee: perturbation -> standing."""
    return Baseline(
        "1",
        digest,
        {engine: {"spark": "4.3.0"} for engine in engines},
        {("one", "s", "g", name): standing for name, standing in cells.items()},
        {("one", "s", "p", name): tuple(found) for name, found in (alike or {}).items()},
    )


def violated(signature="# was lost"):
    return Standing(Verdict.VIOLATED, 9, "w", signature)


STANDING = {verdict: Standing(verdict, 9) for verdict in Verdict} | {Verdict.VIOLATED: violated()}


@pytest.mark.parametrize(
    ("before", "after", "kind"),
    [
        (Verdict.HOLDS, Verdict.VIOLATED, Kind.REGRESSION),
        (Verdict.VIOLATED, Verdict.HOLDS, Kind.FIX),
        (Verdict.HOLDS, Verdict.UNKNOWN, Kind.LOST),
        (Verdict.VIOLATED, Verdict.UNSUPPORTED, Kind.LOST),
        (Verdict.HOLDS, Verdict.ERROR, Kind.ERROR),
        (Verdict.UNKNOWN, Verdict.HOLDS, Kind.GAINED),
        (Verdict.UNSUPPORTED, Verdict.VIOLATED, Kind.GAINED),
        (Verdict.UNKNOWN, Verdict.UNSUPPORTED, Kind.CHANGED),
    ],
)
def test_how_a_verdict_changed(before, after, kind):
    same = {"split": STANDING[Verdict.HOLDS]}  # the API is there
    found = changes(of({"as drawn": STANDING[before], **same}), of({"as drawn": STANDING[after], **same})).found
    assert {kind: [(c.before, c.after) for c in group] for kind, group in found.items()} == {
        kind: [(before.value, after.value)]
    }


def test_a_flip_each_way_does_not_cancel_out():
    """Under two perturbations of one guarantee, too."""
    holds = STANDING[Verdict.HOLDS]
    found = changes(of({"split": holds, "merge": violated()}), of({"split": violated(), "merge": holds})).found
    assert [(kind, group[0].perturbations) for kind, group in found.items()] == [
        (Kind.REGRESSION, ("split",)),
        (Kind.FIX, ("merge",)),
    ]


def test_failing_in_another_way_is_a_change():
    found = changes(of({"split": violated()}), of({"split": violated("# came twice")})).found
    assert [(c.before, c.after) for c in found[Kind.OTHER_WITNESS]] == [("# was lost", "# came twice")]
    assert not changes(of({"split": violated()}), of({"split": violated()})).found


@pytest.mark.parametrize(
    ("before", "after", "kind"),
    [
        (["identical"], ["same multiset"], Kind.WEAKER),
        (["same multiset"], ["same sequence"], Kind.STRONGER),
        (["same multiset"], ["same final value"], Kind.CHANGED),
        (["same multiset", "same final value"], ["same final value"], Kind.WEAKER),
        (["identical"], [], Kind.WEAKER),
    ],
)
def test_equivalences_become_weaker_or_stronger(before, after, kind):
    found = changes(of({}, {"split": before}), of({}, {"split": after}))
    assert [(c.kind, c.of_program, c.about) for c in found] == [(kind, True, "p")]
    assert not changes(of({}, {"split": before}), of({}, {"split": before})).found


def test_cells_that_come_or_go_are_changes_and_engines_are_named():
    holds = STANDING[Verdict.HOLDS]
    one, two = of({"split": holds}), of({"split": holds, "merge": holds}, engines=("one", "two"))
    assert list(changes(one, two).found) == [Kind.ADDED]
    assert list(changes(two, one).found) == [Kind.REMOVED]
    assert (changes(two, one).gone, changes(two, one).added) == (("two",), ())
    assert (changes(one, two).gone, changes(one, two).added) == ((), ("two",))
    assert changes(one, two).unchanged == 1


def test_an_api_that_one_side_lacks_is_told_in_a_word():
    """Not as a change of every cell."""
    lacks, has = of({"split": STANDING[Verdict.UNSUPPORTED]}), of({"split": STANDING[Verdict.HOLDS]})
    assert (changes(lacks, has).found, changes(lacks, has).gone, changes(lacks, has).added) == ({}, (), ("one",))
    assert (changes(has, lacks).found, changes(has, lacks).gone, changes(has, lacks).added) == ({}, ("one",), ())
    assert (changes(lacks, lacks).unchanged, changes(lacks, lacks).gone) == (1, ())


def test_a_guarantee_that_only_the_new_run_has_is_named():
    holds = STANDING[Verdict.HOLDS]
    old, new = of({"split": holds}), of({"split": holds})
    new.cells["one", "s", "more", "restart"] = holds
    assert changes(old, new).new_guarantees == ("s/more",)
    assert (changes(old, new).found, changes(old, new).unchanged) == ({}, 1)


def test_other_cases_are_told():
    assert changes(of({}), of({})).same_cases
    other = changes(of({}), of({}, digest="other"))
    assert not other.same_cases
    assert "same file of cases" in next(comparison.diff_lines(other, []))


def test_a_side_that_is_partial_or_brief_is_told():
    full, brief = of({}), replace(of({}), scope=Scope(brief=True))
    between = changes(brief, replace(full, scope=Scope(partial=True)))
    assert [line.partition(":")[0] for line in comparison.sides_in_part(between)] == [
        "the old one is of a run that was brief",
        "the new one is of a run that was cut short",
    ]
    assert "the old one is of a run that was brief" in comparison.diff_markdown(between, [], "old", "new")
    assert list(comparison.sides_in_part(changes(full, full))) == []


def test_a_diff_is_a_screen_unless_all_of_it_is_asked_for():
    places = [("one", "s", f"g{number}", "split") for number in range(99)]
    old, new = (
        replace(of({}), cells=dict.fromkeys(places, standing)) for standing in (STANDING[Verdict.HOLDS], violated())
    )
    more = replace(new, cells=new.cells | {("one", "s", f"h{number}", "split"): violated() for number in range(99)})
    short, everything = (list(comparison.diff_lines(changes(old, more), [], all_)) for all_ in (False, True))
    assert (len(short), len(everything)) == (7, 102)
    assert short[-2] == "  and 96 more changes: -v"
    assert short[0] == "guarantees that only the new one has: s/h0, s/h1, s/h2 and 96 more"


def test_a_diff_in_every_form():
    holds = STANDING[Verdict.HOLDS]
    found = changes(
        of({"split": holds, "merge": holds}, {"split": ["identical"]}),
        of({"split": violated(), "merge": violated()}, {"split": ["same multiset"]}),
    )
    lines = list(comparison.diff_lines(found, []))
    assert (
        lines
        == list(comparison.diff_lines(found, [], everything=True))
        == [
            "1 guarantee on engines: no longer holds",
            "  one/s/g: s/g: holds → violated (split, merge)",
            "1 guarantee on engines: weaker equivalence",
            "  one/s/p: s (p): identical → same multiset (split)",
            "0 verdicts unchanged, one for each guarantee, engine and perturbation",
        ]
    )
    data = json.loads(comparison.diff_json(found))
    assert [(c["kind"], c.get("guarantee"), c.get("program")) for c in data["changes"]] == [
        ("regression", "g", None),
        ("weaker", None, "p"),
    ]
    text = comparison.diff_markdown(found, [], "old", "new")
    assert "## old → new" in text
    assert "**1 guarantee on engines: no longer holds**" in text
