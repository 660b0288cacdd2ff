"""The self-test of some scenarios: it asks only what they could notice."""

import io

import pytest
from rich.console import Console

from conformance.model import Cell, Domain, Guarantees, Program, Scenario
from conformance.plugins.registry import load_scenarios
from conformance.reports.page import kills
from conformance.selftest.selftest import SelfTest, Want, selftest

CAUGHT, LET_THROUGH, OUT_OF_SIGHT = "state-lost-after-a-bundle", "bundle-reversed", "timers-never-fire"


class RunningMaximum(Program):
    cells = {"highest": Cell.VALUE}

    def on_event(self, event, state, timers, emit):
        highest = max(event.value, state.highest.get(event.value))
        state.highest.set(highest)
        emit({"highest": highest})


of_maximum = Guarantees("maximum")


@of_maximum("the maximum never falls")
def never_falls(run):
    for key in run.arrivals_by_key:
        seen = [e.value["highest"] for e in run.of_key(key)]
        yield seen == sorted(seen) or f"the maximum of key {key} fell: {seen}"


@of_maximum("anything goes")
def whatever_comes_out(run):
    yield True


MAXIMUM = Scenario(
    name="running maximum",
    summary="Emit the highest value so far.",
    programs={"maximum": RunningMaximum()},
    domain={"maximum": Domain(offsets=(1, 500), values=(1, 2, 3))},
    guarantees=tuple(of_maximum),
)


@pytest.fixture(scope="module")
def found():
    return selftest([MAXIMUM], [CAUGHT, LET_THROUGH, OUT_OF_SIGHT], wanted=2, seeds=2, want=Want.IN_SIGHT)


def test_a_mutant_counts_if_a_guarantee_minds_what_it_does(found):
    """In another order the maximum does not fall either, and the program sets no timer."""
    complete = "no-output-is-lost-doubled-or-under-another-key"
    assert found.kills == {CAUGHT: {("running-maximum", "the-maximum-never-falls"), ("running-maximum", complete)}}
    assert found.let_through == (LET_THROUGH,)
    assert found.out_of_sight == (OUT_OF_SIGHT,)
    assert found.survivors == []


def test_a_guarantee_that_catches_nothing_is_a_hole(found):
    around = "the-query-around-it-does-not-change-the-output"  # none of these mutants heeds the plan
    assert found.toothless == [("running-maximum", "anything-goes"), ("running-maximum", around)]
    assert not found.passed


def test_all_scenarios_together_must_catch_every_mutant():
    found = selftest([MAXIMUM], [CAUGHT, LET_THROUGH, OUT_OF_SIGHT], wanted=2, seeds=2)
    assert {LET_THROUGH, OUT_OF_SIGHT} < set(found.survivors)


def test_a_mutant_that_only_the_row_counts_show_is_in_sight():
    scenarios = load_scenarios(["late-data"])
    assert (
        "drops-counted-twice"
        in selftest(scenarios, ["drops-counted-twice"], wanted=2, seeds=2, want=Want.IN_SIGHT).kills
    )


def test_the_screen_says_what_each_guarantee_catches(found):
    console = Console(file=io.StringIO(), record=True, width=160)
    kills.show_some(found, console)
    lines = [" ".join(line.replace("│", " ").split()) for line in console.export_text().splitlines()]
    for line in (
        "3 mutants: 2 in sight, 1 of them caught",
        "running-maximum/anything-goes nothing",
        "running-maximum/the-maximum-never-falls 1",
        f"caught by 2 guarantees: {CAUGHT}",
        f"in sight, but no guarantee catches: {LET_THROUGH}",
        "no mutant makes the guarantee running-maximum/anything-goes fail",
    ):
        assert line in lines


def test_what_was_set_aside_is_read_back(found, tmp_path):
    found.write(tmp_path / "found.json")
    assert SelfTest.read(tmp_path / "found.json") == found
