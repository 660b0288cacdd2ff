"""The overview of the page is computed from the cells: what differs for whom, and where each scenario stands."""

from dataclasses import replace

import pytest
from folded import H, U, V, run

from conformance.judgement.cell import Verdict
from conformance.reports.advice import Advice, known_advice
from conformance.reports.grid import Grid
from conformance.reports.page.overview import SHOWN, doings, squares


def told(results, advice=()):
    found = doings(Grid([results]), advice)
    return {d.title: [(x.cause, [e.title for e in x.engines]) for x in d.differences] for d in found}


def test_what_holds_on_one_framework_and_not_on_the_other_matters_to_who_ports():
    results = run({"beam-direct": [H, V, V], "spark-tws": [V, H, V], "reference": [H, H, H]})
    assert told(results) == {
        "Port Beam → Spark": [("not so: claim 0", ["spark-tws"])],
        "Port Spark → Beam": [("not so: claim 1", ["beam-direct"])],
    }


def test_a_framework_of_an_earlier_run_can_be_ported_from_and_to():
    """Each engine is that of the last run that has it, and its cells are that run's."""
    grid = Grid([run({"beam-direct": [H, V]}), run({"spark-tws": [H, V]}), run({"spark-tws": [V, H]})])
    found = {d.title: d for d in doings(grid, ())}
    assert [x.cause for x in found["Port Beam → Spark"].differences] == ["not so: claim 0"]
    assert [x.cause for x in found["Port Spark → Beam"].differences] == ["not so: claim 1"]
    (beam,) = found["Port Spark → Beam"].differences
    assert beam.guarantee.anchor == grid.anchor(0, ("s", "g1"), "beam-direct")


def test_a_native_operator_is_nobodys_port():
    results = run({"beam-direct": [H, H], "spark-tws": [H, V], "spark-native:x": [V, H]}, native=("spark-native:x",))
    assert told(results) == {"Port Beam → Spark": [("not so: claim 1", ["spark-tws"])]}


def test_violations_of_one_cause_are_one_difference_and_the_widest_comes_first():
    advice = Advice("a cause", ("spark-*",), ("s/g0", "s/g2"), "")
    results = run({"beam-direct": [H, H, H], "spark-a": [V, V, V], "spark-b": [V, H, V]})
    assert told(results, [advice]) == {
        "Port Beam → Spark": [("a cause", ["spark-a", "spark-b"]), ("not so: claim 1", ["spark-a"])]
    }
    (doing,) = doings(Grid([results]), [advice])
    assert doing.differences[0].rest == " and 1 other"


def test_a_tester_matters_where_it_answers_otherwise_than_its_engine():
    results = run({"spark-tws": [H, V, V, H], "spark-tws-tester": [V, H, V, U]})
    assert told(results) == {
        "Test with spark-tws-tester": [
            ("not so: claim 0", ["spark-tws-tester"]),
            ("not so: claim 1", ["spark-tws"]),
        ]
    }


def test_a_job_that_went_from_release_to_release_is_an_upgrade():
    results = run({"spark-tws@1.0+2.0": [V, H], "spark-tws@2.0": [H, H]})
    assert told(results) == {"Upgrade 1.0 → 2.0 with its checkpoints": [("not so: claim 0", ["spark-tws@1.0+2.0"])]}


def test_several_versions_side_by_side_are_an_upgrade():
    old = run({"spark-tws": [H, V]})
    environment = {"spark-tws": replace(old.environment["spark-tws"], versions={"spark": "5.0"})}
    new = replace(run({"spark-tws": [V, V]}), environment=environment)
    (doing,) = doings(Grid([old, new]), ())
    assert doing.title == "Upgrade spark 4.3.0 → spark 5.0"
    assert [d.cause for d in doing.differences] == ["claim 0"]


def test_what_a_version_did_not_decide_is_no_change_and_neither_is_one_of_the_reference():
    old, new = (
        run({"spark-tws": [V, V], "reference": [H, H]}),
        run({"spark-tws": [Verdict.UNKNOWN, H], "reference": [H, V]}),
    )
    environment = old.environment | {"spark-tws": replace(old.environment["spark-tws"], versions={"spark": "5.0"})}
    (doing,) = doings(Grid([old, replace(new, environment=environment)]), ())
    assert [d.cause for d in doing.differences] == ["claim 1"]


def test_no_more_than_ten_are_told_and_the_rest_is_counted():
    results = run({"beam-direct": [H] * 12 + [V] * 3, "spark-tws": [V] * 12 + [H] * 3})
    found = doings(Grid([results]), ())
    assert sum(len(doing.differences) for doing in found) == SHOWN
    assert sum(doing.more for doing in found) == 15 - SHOWN
    assert [len(doing.differences) for doing in found] == [7, 3]


def test_where_nothing_can_be_ported_violations_are_told_all_the_same():
    assert told(run({"mutant:x": [V, H], "reference": [H, H]})) == {"Use": [("not so: claim 0", ["mutant:x"])]}
    assert told(run({"reference": [H, H]})) == {}


def test_columns_are_in_the_order_of_frameworks_then_natives_then_the_reference():
    engines = ["reference", "beam-direct", "beam-native:x", "mutant:y", "spark-native:x", "spark-tws"]
    grid = Grid([run({engine: [H] for engine in engines}, native=("beam-native:x", "spark-native:x"))])
    ordered = ["spark-tws", "beam-direct", "spark-native:x", "beam-native:x", "mutant:y", "reference"]
    assert [column.name for column in grid.columns] == ordered
    assert grid.families == [("spark", 1), ("beam", 1), ("mutant", 1), ("reference", 1)]


def test_of_a_framework_the_engines_that_can_be_asked_most_come_first():
    grid = Grid([run({"spark-a": [H, U, U], "spark-tws": [H, V, H], "spark-c": [H, H, U]})])
    assert [column.name for column in grid.columns] == ["spark-tws", "spark-c", "spark-a"]


@pytest.mark.parametrize(
    ("verdicts", "level", "shown", "words"),
    [
        ([H, H, H, H], "0", "✓", "4 of 4 hold"),
        ([H] * 11 + [V], "1", "1", "11 of 12 hold, 1 violated"),
        ([H, V, V, V], "4", "3", "1 of 4 hold, 3 violated"),
        ([V, H, U, U], "3", "1", "1 of 2 hold, 1 violated"),
        ([U, U, U, U], "", "", "not asked"),
    ],
)
def test_a_square_shows_how_many_are_violated_and_by_its_colour_which_share(verdicts, level, shown, words):
    ((square, _),) = [line.squares for line in squares(Grid([run({"spark-tws": verdicts, "beam-direct": [H]})]))]
    assert (square.level, square.shown, square.in_part) == (level, shown, False)
    assert square.told == f"a scenario on spark-tws: {words}"


def test_a_square_is_hatched_where_half_of_what_holds_does_so_in_part():
    results = run({"spark-tws": [H, H, H]})
    parts = [replace(c, perturbation="split", verdict=Verdict.UNKNOWN, cases=0) for c in results.cells[:2]]
    results.cells.extend(parts)
    ((square,),) = [line.squares for line in squares(Grid([results]))]
    assert square.in_part
    assert "2 of them in part" in square.told


def test_the_projects_own_advice_is_at_hand():
    assert known_advice()
