"""From cases and their traces to evidence, and from evidence to a cell."""

from dataclasses import replace
from types import SimpleNamespace

import pytest
from handmade import judge

from conformance.engines.reference import SPECIFIED
from conformance.judgement.batches import cells_asked
from conformance.judgement.cell import AS_DRAWN, Verdict
from conformance.judgement.evidence import (
    Against,
    Evidence,
    Runs,
    Tally,
    Unjudgeable,
    asked_of,
    findings_against,
    gather,
    pair_differs,
    perturbations_of,
    puts_to_test,
)
from conformance.judgement.verdict import conclude, not_expressible
from conformance.model.case import Case
from conformance.model.engine import Capabilities, EngineInfo, NativeOperator
from conformance.model.equivalence import Equivalence
from conformance.model.feature import NATIVE, Feature, emulated, unsupported
from conformance.model.perturbation import PERTURBATIONS, RESTART, RETRY, REVERSE
from conformance.model.program import Cell as Kind
from conformance.model.program import Program
from conformance.model.runs import Pack, PackRun, StepCount
from conformance.model.scenario import Guarantee, Scenario, Source, completeness
from conformance.model.schedule import Advance, Deliver, Event, Schedule
from conformance.model.trace import Emission, Trace


class Counting(Program):
    cells = {"count": Kind.COMBINING}


PROGRAM = Counting()


def _case(name, time=20, **more):
    """One event; 20 ms is on time, 5 ms is behind the watermark, which is at 10 ms."""
    steps = (Advance(0, 10), Deliver(1, (Event(name, "a", None, time),)), Advance(2, 30))
    return Case("s", "p", Schedule(steps), **more)


def _trace(*values):
    return Trace(tuple(Emission("a", value, 1) for value in values))


STOPPED = Trace((Emission("a", None, 1, None, "KeyError: x"),))


def no_wrong(run):
    """A claim that every emission puts to the test."""
    for value in (e.value for e in run.emissions):
        yield value != "wrong" or f"{value} in {run.case.schedule.arrivals[0].event.id}"


def drops(run):
    for count in run.counts:
        yield count.reported_late == 0 or f"{count.reported_late} dropped"


SOURCE = Source("a document")
CHECKED = Guarantee("nothing is wrong", "p", no_wrong, source=SOURCE)
RELATED = Guarantee("twins agree", "p", same_under=(RESTART, RETRY))
LOOSE = Guarantee("twins agree in the end", "p", same_under=(RESTART,), alike=Equivalence.SAME_FINAL_VALUE)
COUNTED = Guarantee("drops are counted", "p", accounting=drops)
SCENARIO = Scenario("s", "", {"p": PROGRAM, "q": PROGRAM}, {"p": None, "q": None}, (CHECKED, RELATED, LOOSE, COUNTED))


def _info(changed=None, evidence=None):
    features = dict.fromkeys(Feature, NATIVE) | (changed or {})
    return EngineInfo("e", "", Capabilities(features, SPECIFIED), evidence=evidence or {})


def _conclude(guarantee, perturbation, info, *batches):
    """The cell that the evidence of some batches makes."""
    tally = Tally()
    for evidence in batches:
        tally.add(evidence, PROGRAM)
    return conclude(SCENARIO, guarantee, perturbation, info, tally)


def _nobody(cases):
    raise AssertionError("the reference is not needed")


def _gives(*values):
    """A reference that gives the same for every case."""
    return lambda cases: {case.id: _trace(*values) for case in cases}


def _gathered(guarantee, perturbation, cases, runs, reference):
    """The evidence under one perturbation, None for cases as drawn."""
    found = gather(PROGRAM, guarantee, cases, runs, reference)
    return found.get(perturbation.id if perturbation else "", Evidence())


BASE = _case("e1")
TWIN = _case("e1", perturbation="restart", base=BASE.id)
OTHER = _case("e2")


def test_a_predicate_is_asked_of_cases_as_drawn_and_of_every_perturbation():
    assert perturbations_of(CHECKED) == [None, *PERTURBATIONS]
    assert perturbations_of(RELATED) == [RESTART, RETRY]
    assert perturbations_of(COUNTED) == [None]


def test_every_guarantee_is_asked_under_each_of_its_perturbations():
    asked = [
        (s.id, g.id, p and p.id) for s, g, p in cells_asked([SCENARIO], _info()) if not g.complete and not g.about_plans
    ]
    assert len(asked) == 1 + len(PERTURBATIONS) + 2 + 1 + 1
    assert asked[0] == ("s", CHECKED.id, None)
    assert asked[-2:] == [("s", LOOSE.id, "restart"), ("s", COUNTED.id, None)]


def test_runs_are_put_together():
    one, two, pack, other = Runs(), Runs(), Pack((BASE,)), Pack((OTHER,))
    one.add(pack, PackRun({BASE.id: _trace(1)}, untouched=frozenset({BASE.id})))
    two.add(other, PackRun({OTHER.id: _trace(2)}, untouched=frozenset({OTHER.id})))
    one.lost, one.faults, two.lost, two.faults = {"a": "1"}, {"b": "2"}, {"c": "3"}, {"d": "4"}
    one.merge(two)
    assert one.traces == {BASE.id: _trace(1), OTHER.id: _trace(2)}
    assert [p for p, _ in one.packs] == [pack, other]
    assert one.untouched == {BASE.id, OTHER.id}
    assert (one.lost, one.faults) == ({"a": "1", "c": "3"}, {"b": "2", "d": "4"})


def test_a_predicate_that_yields_nothing_was_not_put_to_the_test():
    assert findings_against(CHECKED, BASE, _trace()) == (False, [])
    assert findings_against(CHECKED, BASE, _trace(1, 2)) == (True, [])
    assert findings_against(CHECKED, BASE, _trace(1, "wrong", "wrong")) == (True, ["wrong in e1"] * 2)


def test_where_a_guarantee_stands_its_opposite_fails_and_the_other_way_round():
    opposite = SCENARIO.askable[f"not-{CHECKED.id}"]
    assert findings_against(opposite, BASE, _trace()) == (False, [])
    assert findings_against(opposite, BASE, _trace("wrong")) == (True, [])
    assert findings_against(opposite, BASE, _trace(1, "wrong")) == (
        True,
        ["the contrary was put to the test, and stood"],
    )
    assert set(SCENARIO.askable) == {g.id for g in SCENARIO.guarantees} | {opposite.id}


def test_a_predicate_that_fails_says_on_which_case_and_how():
    def broken(run):
        yield run.emissions[7]

    with pytest.raises(Unjudgeable, match=f"^case {BASE.id}: the predicate failed on this trace: IndexError: .+"):
        findings_against(Guarantee("broken", "p", broken), BASE, _trace(1))


def test_twins_differ_up_to_the_equivalence_of_the_guarantee():
    traces = {BASE.id: _trace(1, 2), TWIN.id: _trace(2)}
    assert pair_differs(PROGRAM, LOOSE, BASE, TWIN, traces) == ""
    said = pair_differs(PROGRAM, RELATED, BASE, TWIN, traces)
    assert said == f"not identical ({RESTART.title}): key a gave 1, 2 before, 2 after"
    made = replace(TWIN, perturbation="by hand")
    said = pair_differs(PROGRAM, RELATED, BASE, made, {BASE.id: _trace(1), made.id: _trace(2)})
    assert said.startswith("not identical (by hand): ")


def test_evidence_of_a_predicate_is_that_of_its_perturbation_alone():
    runs = Runs({BASE.id: _trace("wrong"), OTHER.id: _trace(1), TWIN.id: _trace("wrong", 1)})
    cases = [BASE, OTHER, TWIN]
    drawn = _gathered(CHECKED, None, cases, runs, _nobody)
    assert drawn == Evidence([BASE, OTHER], [Against(BASE, "wrong in e1")])
    assert _gathered(CHECKED, RESTART, cases, runs, _nobody).exercised == [TWIN]
    assert _gathered(CHECKED, REVERSE, cases, runs, _nobody) == Evidence()
    assert _gathered(CHECKED, None, [BASE], Runs({BASE.id: _trace()}), _nobody) == Evidence()


def test_the_first_that_a_predicate_says_is_kept():
    def numbers(run):
        yield from (f"number {e.value}" for e in run.emissions)

    evidence = _gathered(Guarantee("c", "p", numbers), None, [BASE], Runs({BASE.id: _trace(1, 2, 3)}), _nobody)
    assert evidence.against == [Against(BASE, "number 1")]


def test_a_case_without_a_trace_to_judge_is_a_fault_or_lost_and_the_next_is_judged():
    """The harness's own failure comes first, whatever else is known. The reference stops and trips where the engine
    does."""
    faulty, lost, ended, stopped, broken, good = (_case(f"e{n}") for n in range(6))

    def check(run):
        if run.emissions[0].value is None:
            raise ValueError("no value")
        yield "against"

    runs = Runs(
        {faulty.id: _trace(1), stopped.id: STOPPED, broken.id: _trace(None), good.id: _trace(1)},
        lost={lost.id: "it died"},
        faults={faulty.id: "not driven"},
    )
    cases = [faulty, lost, ended, stopped, broken, good]
    same = {case.id: runs.traces[case.id] for case in (stopped, broken)}
    evidence = _gathered(Guarantee("c", "p", check), None, cases, runs, lambda cases: same)
    assert evidence.lost == ["it died", "the run ended before this case"]
    assert evidence.faults == [
        "not driven",
        f"case {stopped.id}: the program stopped with KeyError: x, and stops on the reference, too",
        f"case {broken.id}: the predicate failed on this trace: ValueError: no value",
    ]
    assert (evidence.exercised, evidence.against) == ([good], [Against(good, "against")])


@pytest.mark.parametrize("guarantee", [CHECKED, RELATED], ids=["predicate", "relation"])
def test_a_program_that_the_reference_runs_speaks_against_the_engine_where_it_stops(guarantee):
    """And against what the case puts to the test alone."""
    runs = Runs({BASE.id: _trace(1), TWIN.id: STOPPED})
    evidence = _gathered(guarantee, RESTART, [BASE, TWIN], runs, _gives(1))
    assert (evidence.exercised, evidence.faults) == ([TWIN], [])
    assert [a.message for a in evidence.against] == ["the program stopped with KeyError: x (the reference runs it)"]

    def untested(cases):
        return {case.id: _trace(1) if case is BASE else _trace() for case in cases}

    nothing = _gathered(guarantee, RESTART, [BASE, TWIN], runs, untested)
    assert (nothing.exercised, nothing.against, nothing.faults) == ([], [], [])


def test_output_that_a_predicate_trips_over_speaks_against_the_engine():
    def doubled(run):
        yield from (e.value * 2 == 2 or f"{e.value} came out" for e in run.emissions)

    twice = Guarantee("c", "p", doubled)
    evidence = _gathered(twice, None, [BASE], Runs({BASE.id: _trace(None)}), _gives(1))
    assert (evidence.exercised, evidence.faults) == ([BASE], [])
    assert evidence.against[0].message == (
        "what came out is broken: the predicate failed on this trace: TypeError: "
        "unsupported operand type(s) for *: 'NoneType' and 'int' (the reference's output can be judged)"
    )


@pytest.mark.parametrize("trace", [STOPPED, _trace(None)], ids=["stopped", "broken"])
def test_a_stop_or_a_broken_output_does_not_speak_against_an_opposite(trace):
    def check(run):
        yield run.emissions[0].value + 1 == 2

    evidence = _gathered(Guarantee("c", "p", check).opposite, None, [BASE], Runs({BASE.id: trace}), _gives(1))
    assert evidence.against == []


@pytest.mark.parametrize("guarantee", [CHECKED, RELATED], ids=["predicate", "relation"])
def test_a_case_that_a_failure_did_not_reach_is_inapplicable_and_the_next_is_judged(guarantee):
    other = replace(TWIN, schedule=OTHER.schedule, base=OTHER.id)
    runs = Runs({c.id: _trace("wrong") for c in (BASE, TWIN, OTHER, other)}, untouched={TWIN.id})
    cases = [BASE, TWIN, OTHER, other]
    evidence = _gathered(guarantee, RESTART, cases, runs, lambda cases: {c.id: _trace(1) for c in cases})
    assert (evidence.inapplicable, evidence.exercised) == (1, [other])


def test_a_pair_counts_only_where_the_reference_keeps_it_alike():
    others = [replace(TWIN, schedule=case.schedule, base=case.id) for case in (OTHER, _case("e3"))]
    bases = [BASE, OTHER, _case("e3")]
    twins = [TWIN, *others]
    engine = {c.id: _trace(1) for c in bases} | {TWIN.id: _trace(2), others[0].id: _trace(2), others[1].id: _trace(1)}
    asked = []

    def reference(cases):
        asked.extend(cases)
        return {c.id: _trace(1) for c in cases} | {TWIN.id: _trace(9)}

    evidence = _gathered(RELATED, RESTART, [*bases, *twins], Runs(engine), reference)
    assert evidence.inapplicable == 1
    assert evidence.exercised == others
    (against,) = evidence.against
    assert (against.case, against.base) == (others[0], OTHER)
    assert against.message == pair_differs(PROGRAM, RELATED, OTHER, others[0], engine)
    assert {c.id for c in asked} == {c.id for c in (*bases, *twins)}


def test_a_pair_needs_an_answer_to_both_of_its_cases():
    evidence = _gathered(RELATED, RESTART, [BASE, TWIN], Runs({TWIN.id: _trace(1)}), _nobody)
    assert evidence == Evidence(lost=["the run ended before this case"])


def _counted(pack, reported):
    return pack, PackRun({}, (StepCount(1, 1, 1, 0), StepCount(3, 1, 0, reported), StepCount(4, 1, 0, 2 * reported)))


def test_row_counts_speak_for_the_cases_of_the_pack_with_a_late_row():
    late, on_time, foreign = _case("e1", 5), _case("e2"), _case("e3", 5)
    asked = [late, on_time, _case("e4", 5)]
    pack = Pack((late, on_time, foreign))
    runs = Runs({c.id: _trace() for c in asked}, [_counted(pack, 3)])
    evidence = _gathered(COUNTED, None, asked, runs, _nobody)
    assert evidence == Evidence([late], [Against(late, "3 dropped")])  # the first that was said
    runs.packs = [_counted(pack, 0)]
    assert _gathered(COUNTED, None, asked, runs, _nobody) == Evidence([late])
    runs.packs = [_counted(Pack((on_time,)), 3)]
    assert _gathered(COUNTED, None, asked, runs, _nobody) == Evidence()
    runs.packs = [(pack, PackRun({}, ()))]
    assert _gathered(COUNTED, None, asked, runs, _nobody) == Evidence()


def test_row_counts_do_not_hide_cases_without_an_answer():
    """A program that stopped was counted all the same."""
    faulty, lost, stopped = _case("e1", 5), _case("e2", 5), _case("e3", 5)
    runs = Runs({faulty.id: _trace(), stopped.id: STOPPED}, faults={faulty.id: "not driven"})
    evidence = _gathered(COUNTED, None, [faulty, lost, stopped], runs, _nobody)
    assert evidence == Evidence(faults=["not driven"], lost=["the run ended before this case"])


def test_which_guarantees_a_case_puts_to_the_test():
    late, foreign, stopped = _case("e5", 5), replace(BASE, program="q"), _case("e6", 5)

    def broken(run):
        raise ValueError

    others = Guarantee("broken", "p", broken), Guarantee("another", "q", no_wrong)
    scenario = replace(SCENARIO, guarantees=(*others, *SCENARIO.guarantees))
    traces = {
        BASE.id: _trace("wrong"),
        OTHER.id: _trace(),
        late.id: _trace(1),
        foreign.id: _trace(1),
        stopped.id: STOPPED,
    }

    def found(case):
        asked = asked_of([scenario])[case.scenario, case.program]
        return {name for name, _ in puts_to_test(PROGRAM, asked, case, case, lambda cases: traces)}

    whole = completeness("p", SCENARIO).id
    assert [*map(found, (BASE, OTHER, late, stopped))] == [
        {CHECKED.id, whole},
        {whole},
        {CHECKED.id, COUNTED.id},
        set(),
    ]
    assert found(foreign) == {"another", completeness("q", SCENARIO).id}


@pytest.mark.parametrize(
    ("evidence", "verdict", "reason"),
    [
        (Evidence([BASE], [Against(BASE, "it is wrong")], faults=["f"], lost=["l"]), Verdict.VIOLATED, "it is wrong"),
        (Evidence([BASE], faults=["f", "g"], lost=["l"]), Verdict.ERROR, "f"),
        (Evidence([BASE], lost=["l", "m"]), Verdict.UNKNOWN, "2 cases without an answer: l"),
        (Evidence(), Verdict.UNKNOWN, "not exercised: no case put it to the test"),
    ],
)
def test_the_worst_of_the_evidence_decides(evidence, verdict, reason):
    cell = _conclude(CHECKED, None, _info(), evidence)
    assert (cell.verdict, cell.reason) == (verdict, reason)
    assert cell.lost == len(evidence.lost)


def test_what_holds_says_on_how_many_distinct_cases_and_timelines():
    """The same schedule twice is one case; the cell names who claims it, where."""
    wider = Case("s", "p", Schedule((Advance(0, 10), Deliver(1), Deliver(2), Advance(3, 30))))
    evidence = Evidence([BASE, TWIN, OTHER, wider], inapplicable=4)
    cell = _conclude(CHECKED, RESTART, _info(), evidence)
    assert cell.verdict is Verdict.HOLDS
    assert cell.reason.startswith("3 ")
    assert (cell.cases, cell.timelines, cell.violations, cell.inapplicable) == (3, 2, 0, 4)
    assert (cell.scenario, cell.program, cell.guarantee) == ("s", "p", CHECKED.id)
    assert (cell.perturbation, cell.engine, cell.claimed) == ("restart", "e", "a document")
    assert _conclude(CHECKED, None, _info(), evidence).perturbation == AS_DRAWN


def test_batches_add_up():
    """Each with cases of its own; the smallest case of any gives the reason, the first fault of any another one."""
    large = _case("e9", 5)
    two = Evidence([OTHER], faults=["second"], lost=["l"], inapplicable=2)
    cell = _conclude(CHECKED, None, _info(), Evidence([BASE, TWIN], faults=["first"], inapplicable=1), two)
    assert (cell.verdict, cell.reason, cell.cases, cell.timelines) == (Verdict.ERROR, "first", 2, 1)
    assert (cell.inapplicable, cell.lost) == (3, 1)
    against = [Evidence([c], [Against(c, c.id)]) for c in (large, BASE)]
    for order in (against, against[::-1]):
        cell = _conclude(CHECKED, None, _info(), *order)
        smallest = min(large, BASE, key=lambda case: case.size)
        assert (cell.verdict, cell.reason, cell.violations) == (Verdict.VIOLATED, smallest.id, 2)


def test_the_smallest_case_gives_the_reason_of_a_violation():
    two = Event("e2", "b", None, 20), Event("e3", "b", None, 20)
    large = Case("s", "p", BASE.schedule.with_bundles({1: two}))
    against = [Against(large, "the large one"), Against(BASE, "the small one"), Against(TWIN, "the same")]
    cell = _conclude(CHECKED, None, _info(), Evidence([BASE, TWIN, large], against))
    assert (cell.reason, cell.violations) == ("the small one", 2)
    assert cell.coverage == {"equal times": 1}


def test_what_the_engine_lacks_is_unsupported_with_its_own_answer():
    """Something that the program, the guarantee or the perturbation needs."""
    picky = replace(CHECKED, needs=frozenset({Feature.WATERMARK}))
    for feature, guarantee, perturbation in [
        (Feature.COMBINING, CHECKED, None),
        (Feature.WATERMARK, picky, None),
        (Feature.RESTART, CHECKED, RESTART),
    ]:
        info = _info({feature: unsupported("it has none")})
        cell = not_expressible(SCENARIO, guarantee, perturbation, info)
        assert (cell.verdict, cell.reason) == (Verdict.UNSUPPORTED, f"{feature.value}: it has none")
        assert cell.notes == ()
        info.evidence[feature] = "no such thing"
        asked = not_expressible(SCENARIO, guarantee, perturbation, info)
        assert asked.reason == f"{cell.reason} (asked for it, the engine answered: no such thing)"
    assert not_expressible(SCENARIO, CHECKED, RETRY, _info({Feature.RESTART: unsupported("it has none")})) is None


def test_what_is_needed_twice_is_needed():
    """By the guarantee and the program, or by one of them and the perturbation."""
    for needs, feature in [({Feature.COMBINING}, Feature.COMBINING), ({Feature.RESTART}, Feature.RESTART)]:
        guarantee, info = replace(CHECKED, needs=frozenset(needs)), _info({feature: unsupported("it has none")})
        assert not_expressible(SCENARIO, guarantee, RESTART, info).verdict is Verdict.UNSUPPORTED


def test_emulations_are_noted_where_they_were_used():
    info = _info({Feature.COMBINING: emulated("a value"), Feature.RESTART: emulated("a new job")})
    assert _conclude(CHECKED, None, info, Evidence()).notes == ("emulated: a value",)
    assert len(_conclude(CHECKED, RESTART, info, Evidence()).notes) == 2
    info.capabilities.features[Feature.RETRY] = unsupported("none")
    assert not_expressible(SCENARIO, CHECKED, RETRY, info).notes == ()


def test_a_verdict_on_every_cell_with_the_evidence_behind_it():
    foreign = replace(OTHER, program="q")
    runs = Runs({BASE.id: _trace("wrong"), TWIN.id: _trace(1), foreign.id: _trace("wrong")})
    info = _info({Feature.RETRY: unsupported("none")})
    judged = list(
        judge([SCENARIO], [BASE, foreign, TWIN], runs, info, lambda cases: {c.id: _trace() for c in cases}).cells()
    )
    assert [(c.guarantee, c.perturbation) for c, _, _ in judged] == [
        (g.id, p.id if p else AS_DRAWN) for _, g, p in cells_asked([SCENARIO], info)
    ]
    by_cell = {(g.id, cell.perturbation): (cell, against) for cell, g, against in judged}
    cell, against = by_cell[CHECKED.id, AS_DRAWN]
    assert (cell.verdict, against) == (Verdict.VIOLATED, [Against(BASE, "wrong in e1")])
    cell, against = by_cell[RELATED.id, "restart"]
    assert (cell.verdict, [a.base for a in against]) == (Verdict.VIOLATED, [BASE])
    cell, against = by_cell[CHECKED.id, "retry"]
    assert (cell.verdict, against) == (Verdict.UNSUPPORTED, [])
    assert by_cell[CHECKED.id, "restart"][0].verdict is Verdict.HOLDS


def test_a_native_operator_is_asked_for_its_program_alone_and_not_for_what_it_is_silent_of():
    """What its program's state and timers need of an engine, a native operator does not."""
    native_operator = NativeOperator("s/p", "count()", {COUNTED.id: "it has no counter"})
    info = _info({feature: unsupported("none") for feature in (Feature.VALUE, Feature.COMBINING, Feature.RETRY)})
    info = replace(info, capabilities=replace(info.capabilities, native_operator=native_operator))
    cell = not_expressible(SCENARIO, COUNTED, None, info)
    assert (cell.verdict, cell.reason) == (Verdict.UNSUPPORTED, "count() says nothing of it: it has no counter")
    assert not_expressible(SCENARIO, CHECKED, None, info) is None
    assert not_expressible(SCENARIO, CHECKED, RETRY, info).verdict is Verdict.UNSUPPORTED
    elsewhere = replace(
        info, capabilities=replace(info.capabilities, native_operator=replace(native_operator, program="s/q"))
    )
    assert {guarantee.program for _, guarantee, _ in cells_asked([SCENARIO], elsewhere)} == {"q"}
    program = SCENARIO.programs["p"]
    assert info.capabilities.takes(BASE, program)
    assert not elsewhere.capabilities.takes(BASE, program)
    ahead = max(a.event.event_time - a.watermark for a in BASE.schedule.arrivals)
    near = replace(info.capabilities, ahead="horizon")
    assert near.takes(BASE, SimpleNamespace(parameters={"horizon": ahead}))
    assert not near.takes(BASE, SimpleNamespace(parameters={"horizon": ahead - 1}))


def test_whether_its_output_is_whole_is_asked_of_a_native_operator_that_puts_out_what_the_program_does():
    whole = completeness("p", SCENARIO)
    for other, asked in [({}, False), ({"whole": ("s/p",)}, True), ({"compared": True}, True)]:
        info = _info()
        operator = NativeOperator("s/p", "count()", **other)
        info = replace(info, capabilities=replace(info.capabilities, native_operator=operator))
        cell = not_expressible(SCENARIO, whole, None, info)
        assert (cell is None) is asked
        assert asked or cell.reason == "count() puts out other things than the program"


def test_a_note_of_a_run_is_in_the_cells_of_its_program():
    runs = Runs({BASE.id: _trace(1)}, notes={"s/p": "ran on another runner"})
    judged = list(judge([SCENARIO], [BASE], runs, _info(), lambda cases: {}).cells())
    assert all(
        cell.notes[-1:] == ("ran on another runner",)
        for cell, g, _ in judged
        if cell.program == "p" and not g.about_plans
    )
