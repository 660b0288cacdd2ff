"""Coverage counters: a cell says what the cases behind it had in them."""

import pytest

from conformance.engines.reference import SPECIFIED
from conformance.judgement.cell import MatrixCell, Verdict
from conformance.judgement.coverage import CIRCUMSTANCES, counters, coverage
from conformance.judgement.evidence import Evidence, Tally
from conformance.judgement.verdict import conclude, fold
from conformance.model.case import Case
from conformance.model.engine import Capabilities, EngineInfo
from conformance.model.feature import NATIVE, Feature
from conformance.model.program import Program
from conformance.model.scenario import Guarantee, Scenario
from conformance.model.schedule import Advance, Deliver, Event, FailOnce, Partitions, Restart, renumbered


class WithoutTimers(Program):
    pass


class WithTimers(Program):
    timers = ("flush",)


def _case(*steps):
    """Advances by their watermark, bundles by their (key, time) pairs."""
    made, number = [], 0
    for step in steps:
        if isinstance(step, int):
            made.append(Advance(0, step))
        elif isinstance(step, list):
            made.append(Deliver(0, tuple(Event(f"e{(number := number + 1)}", *parts) for parts in step)))
        else:
            made.append(step)
    return Case("s", "p", renumbered(made))


def _events(*pairs):
    return [(key, None, time) for key, time in pairs]


A = _events(("a", 50))
PLAIN = _case(10, A, 99)


@pytest.mark.parametrize(
    ("case", "found"),
    [
        (PLAIN, set()),
        (_case(10, [], 99), set()),
        (_case(10, _events(("a", 9)), 99), {"late", "1 ms off the watermark"}),
        (_case(10, _events(("a", 10)), 99), {"at the watermark"}),
        (_case(10, _events(("a", 11)), 99), {"1 ms off the watermark"}),
        (_case(10, _events(("a", 50), ("a", 50)), 99), {"equal times"}),
        (_case(10, _events(("a", 50), ("b", 50)), 99), {"several keys"}),
        (_case(10, _events(("a", 51), ("b", 60), ("a", 50)), 99), {"several keys", "out of order"}),
        (_case(10, A, _events(("b", 60)), 99), {"several keys", "several bundles"}),
        (
            _case(10, A, _events(("a", 60)), 99),
            {"several bundles", "key in several bundles"},
        ),
        (_case(10, A, 20, _events(("a", 60)), 99), {"key in several bundles", "advance between bundles"}),
        (_case(10, [], A, [], 20, [], 99), set()),
        (_case(10, A, FailOnce(0), [], 99), {"attempt retried"}),
        (_case(10, FailOnce(0, resume=True), A, 99), {"job resumed"}),
        (_case(Partitions(0, 5), 10, A, 99), {"repartitioned"}),
        (_case(10, Advance(0, 20, coalesced=True), A, 99), {"coalesced advance"}),
        (_case(10, A, Restart(0), 99), {"restart", "restart, timer pending"}),
        (_case(10, [], Restart(0), A, 99), {"restart"}),
        (_case(60, A, Restart(0), 99), {"late", "restart"}),
    ],
)
def test_what_a_case_has_in_it(case, found):
    """A bundle without elements of the case is the pack's, and does not count."""
    assert coverage(WithTimers(), case) == found


def test_only_a_program_with_timers_may_have_one_pending():
    assert coverage(WithoutTimers(), _case(10, A, Restart(0), 99)) == {"restart"}


def test_after_a_coalesced_advance_both_watermarks_have_elements_next_to_them():
    """The filter goes by the one before, timers by the one after."""
    for time in (11, 19, 21):
        case = _case(10, Advance(0, 20, coalesced=True), _events(("a", time)), 99)
        assert "1 ms off the watermark" in coverage(WithTimers(), case)


def test_counters_count_a_case_once_in_a_fixed_order():
    restarted = _case(10, _events(("a", 9)), Restart(0), 99)
    found = counters(WithTimers(), [restarted, PLAIN, restarted, _case(10, _events(("a", 9)), 99)])
    assert list(found.items()) == [
        ("late", 2),
        ("1 ms off the watermark", 2),
        ("restart", 1),
    ]
    assert counters(WithTimers(), [PLAIN]) == {}


def test_a_cell_counts_the_cases_that_exercised_it():
    guarantee = Guarantee("claim", "p", lambda run: iter([True]))
    scenario = Scenario("s", "", {"p": WithTimers()}, {"p": None}, (guarantee,))
    restarted = _case(10, A, Restart(0), 99)
    evidence = Evidence(exercised=[restarted, PLAIN, restarted])
    engine = EngineInfo("reference", "", Capabilities(dict.fromkeys(Feature, NATIVE), SPECIFIED))
    tally = Tally()
    tally.add(evidence, scenario.programs["p"])
    cell = conclude(scenario, guarantee, None, engine, tally)
    assert cell.cases == 2
    assert cell.coverage == {"restart": 1, "restart, timer pending": 1}
    assert MatrixCell.from_json(cell.to_json()) == cell


def test_folding_adds_up_what_perturbations_covered():
    def cell(perturbation, verdict, **had):
        covered = {name.replace("_", " "): number for name, number in had.items()}
        return MatrixCell("s", "p", "g", perturbation, "e", verdict, "why", cases=5, coverage=covered)

    folded = fold(
        [
            cell("restart", Verdict.HOLDS, restart=5),
            cell("as drawn", Verdict.HOLDS, late=3),
            cell("retry", Verdict.VIOLATED, late=2),
        ]
    )
    assert list(folded.coverage.items()) == [("late", 5), ("restart", 5)]
    assert set(folded.coverage) <= set(CIRCUMSTANCES)


def test_what_another_version_counted_is_kept():
    cell = MatrixCell(
        "s", "p", "g", "as drawn", "e", Verdict.HOLDS, "", cases=5, coverage={"a full moon": 1, "restart": 2}
    )
    assert list(fold([cell]).coverage) == ["restart", "a full moon"]
