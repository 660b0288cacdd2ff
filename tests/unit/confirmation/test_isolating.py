"""Which of the changes of a failing twin it takes to fail."""

import itertools
from dataclasses import replace

import pytest
from drawn import suite_of
from isolated import judged

from conformance.confirmation.isolation import explaining, known_of, smallest, suspicion_of
from conformance.judgement.cell import AS_DRAWN, Verdict
from conformance.judgement.evidence import ENDED_ALIKE, Runs
from conformance.model.case import Case
from conformance.model.equivalence import Equivalence
from conformance.model.perturbation import BY_ID, CRASH, NO_DATA, RESTART, RESUME, RETRY, SINK_FAILS, factors_of
from conformance.model.scenario import Guarantee, speaks_of_all
from conformance.model.trace import Emission, Trace
from conformance.plugins.registry import load_engine, load_scenarios
from conformance.results.witness import Witness

FIVE = ("finer", "shift", "no-data", "restart.2", "retry.1")
PAIRS = [*itertools.combinations(FIVE, 2)]


def searched(fails, of_case=(), of_job=FIVE, suspicion=None):
    """(the smallest sets, how many questions it took)"""
    search, asked = smallest(of_case, of_job, suspicion), 0
    try:
        parts = next(search)
        while True:
            asked += 1
            assert parts == tuple(part for part in (*of_case, *of_job) if part in parts), "in their order"
            parts = search.send(bool(fails(set(parts))))
    except StopIteration as end:
        return [set(found) for found in end.value], asked


@pytest.mark.parametrize("cause", FIVE)
def test_one_cause_is_found_by_halves(cause):
    found, asked = searched(lambda parts: cause in parts)
    assert found == [{cause}]
    assert asked <= 5, "three to find it, one whether it takes nothing else, and one for the others"


def test_a_cause_among_many_takes_few_questions():
    many = tuple(f"p{number}" for number in range(32))
    found, asked = searched(lambda parts: "p20" in parts, of_job=many)
    assert found == [{"p20"}]
    assert asked <= 7


def test_a_cause_that_is_suspected_takes_two_questions_however_many_there_are():
    """One whether it takes the cause alone, and one for the others. Two that are wrongly suspected take two more."""
    many = tuple(f"p{number}" for number in range(32))
    assert searched(lambda parts: "p20" in parts, of_job=many, suspicion={"p20": 1, "p3": 0.5}) == ([{"p20"}], 2)
    found, asked = searched(lambda parts: "p20" in parts, of_job=many, suspicion={"p1": 1, "p3": 0.5})
    assert found == [{"p20"}]
    assert asked <= 9


def test_what_is_in_all_that_fails_and_in_little_else_is_suspected_most():
    told = suspicion_of(["shift+restart.2", "shift+retry"], ["restart+finer", "retry.1", ""])
    assert max(told, key=told.get) == "shift"
    assert "finer" not in told
    assert told["restart"] == told["retry"] < 1 == told["shift"]


@pytest.mark.parametrize("causes", PAIRS, ids="+".join)
def test_two_causes_that_need_each_other_are_one_set(causes):
    assert searched(lambda parts: set(causes) <= parts)[0] == [set(causes)]


@pytest.mark.parametrize("causes", PAIRS, ids="+".join)
def test_two_causes_that_fail_by_themselves_are_both_found(causes):
    found, _ = searched(lambda parts: parts & set(causes))
    assert sorted(found, key=min) == sorted(({cause} for cause in causes), key=min)


def test_a_cause_hides_neither_another_one_nor_a_pair():
    found, _ = searched(lambda parts: "shift" in parts or {"finer", "retry.1"} <= parts)
    assert sorted(found, key=len) == [{"shift"}, {"finer", "retry.1"}]


def test_three_causes_that_need_each_other_are_one_set():
    assert searched(lambda parts: len(parts) >= 5)[0] == [set(FIVE)]
    three = {"finer", "no-data", "retry.1"}
    assert searched(lambda parts: three <= parts)[0] == [three]


@pytest.mark.parametrize(
    "cause",
    [{"rename"}, {"reverse"}, {"rename", "shift"}, {"rename", "reverse"}],
    ids=lambda cause: "+".join(sorted(cause)),
)
def test_what_belongs_to_a_case_is_found_beside_what_belongs_to_its_job(cause):
    assert searched(lambda parts: cause <= parts, ("rename", "reverse"))[0] == [cause]


KNOWN = [frozenset({"restart"}), frozenset({"shift", "retry"})]


@pytest.mark.parametrize(
    ("parts", "explained"),
    [
        (("shift", "restart.2"), ("restart.2",)),
        (("shift", "finer", "retry.1"), ("shift", "retry.1")),
        (("shift", "finer"), ()),
        (FIVE, ("shift", "restart.2", "retry.1")),
    ],
)
def test_a_stored_witness_explains_its_perturbations_at_any_level_if_all_are_there(parts, explained):
    assert explaining(parts, KNOWN) == explained


SCENARIOS = load_scenarios(["per-key-counting"])


@pytest.fixture(scope="module")
def cases():
    return suite_of(SCENARIOS, 1, 1).cases


def violated(judgement):
    return {cell.perturbation for cell, _, _ in judgement.cells() if cell.verdict is Verdict.VIOLATED}


@pytest.mark.parametrize(
    ("mutant", "causes", "both"),
    [
        ("state-lost-on-restart", {RESTART}, set()),
        ("retry-loses-its-writes", {RETRY, RESUME, SINK_FAILS, CRASH}, {"singles+sink-fails"}),
        ("state-lost-without-data", {NO_DATA}, set()),
    ],
)
def test_a_bug_under_one_change_is_taken_apart_to_that_change(mutant, causes, both):
    """Though each of its cases has others beside it. Where a change moves a failure to a bundle that has an element, it
    takes both."""
    engine, seed = load_engine(f"mutant:{mutant}"), 3
    judgement, isolated = judged(SCENARIOS, engine, suite_of(SCENARIOS, 1, seed).cases, seed)
    assert violated(judgement) == {cause.id for cause in causes} | both
    assert isolated.explained
    assert bool(isolated.smallest) == bool(both)
    for cell, _, against in judgement.cells():
        if cell.verdict is Verdict.VIOLATED:
            assert {factors_of(a.case.perturbation) for a in against} == {tuple(cell.perturbation.split("+"))}


def test_what_the_changes_beside_a_cause_do_is_evidence_too(cases):
    """The twins without the cause ran, and hold."""
    judgement, _ = judged(SCENARIOS, load_engine("mutant:state-lost-on-restart"), cases, 1)
    beside = {factors_of(case.perturbation)[0] for case in cases if RESTART.id in factors_of(case.perturbation)}
    whole = {c.perturbation: c.verdict for c, g, _ in judgement.cells() if g.complete}
    assert whole[AS_DRAWN] is Verdict.HOLDS
    assert {whole[name] for name in beside - {RESTART.id}} == {Verdict.HOLDS}


def test_a_bug_that_needs_two_changes_has_a_cell_of_both(cases):
    both = {"restart", "shift"}
    asked = [case for case in cases if not case.base or both <= {*factors_of(case.perturbation)}]
    assert any(case.base for case in asked)
    judgement, isolated = judged(SCENARIOS, Together(both), asked, 1)
    assert violated(judgement) == {"shift+restart"}
    assert isolated.smallest
    cells = [cell for cell, _, _ in judgement.cells() if cell.perturbation == "shift+restart"]
    assert all(cell.cases and cell.violations == cell.cases for cell in cells)


class Together:
    """Answers as the reference does, but puts out nothing under two changes together."""

    id, title = "together", ""

    def __init__(self, both):
        self.both, self.reference = both, load_engine("reference")
        self.capabilities = self.reference.capabilities

    def run(self, pack, programs):
        run = self.reference.run(pack, programs)
        name = {p for case in pack.cases for p in factors_of(case.perturbation)}
        traces = {n: replace(t, emissions=()) if self.both <= name else t for n, t in run.traces.items()}
        return replace(run, traces=traces)


@pytest.mark.parametrize(
    ("weaker", "told"), [(Equivalence.SAME_MULTISET, True), (Equivalence.IDENTICAL, False)], ids=["weaker", "stronger"]
)
def test_two_relations_speak_of_two_changes_together_up_to_the_weaker_of_their_equivalences(cases, weaker, told):
    """Of *identical* under one change and *same multiset* under another, both together say *same multiset*."""
    [scenario] = SCENARIOS
    [program] = scenario.programs
    relations = [
        Guarantee("restart", program, same_under=(RESTART,), alike=weaker),
        Guarantee("shift", program, same_under=(BY_ID["shift"],), alike=weaker if told else Equivalence.SAME_MULTISET),
    ]
    assert speaks_of_all(relations[0], ["restart", "shift"], relations) == told
    few = [replace(scenario, guarantees=tuple(relations), stable_under={}, complete=False, planned=False)]
    both = {"restart", "shift"}
    asked = [case for case in cases if not case.base or both <= {*factors_of(case.perturbation)}]
    judgement, _ = judged(few, Together(both), asked, 1)
    assert violated(judgement) == {"shift+restart"}
    assert {g.id for cell, g, _ in judgement.cells() if cell.verdict is Verdict.VIOLATED} >= {"shift"}


def test_a_bug_that_cases_as_drawn_show_is_not_taken_apart(cases):
    engine = load_engine("mutant:output-twice")
    asked = []

    class Watched:
        id, title, capabilities = engine.id, engine.title, engine.capabilities

        def run(self, pack, programs):
            asked.extend(pack.cases)
            return engine.run(pack, programs)

    judgement, isolated = judged(SCENARIOS, Watched(), cases, 1)
    assert AS_DRAWN in violated(judgement)
    fails = {case.base for _, _, case in isolated.explained}
    assert not fails


def asking(engine, known, cases, kept=None):
    """The sets of perturbations that an isolation asks an engine for, and what the failures came to."""
    asked = []

    class Watched:
        id, title, capabilities = engine.id, engine.title, engine.capabilities

        def run(self, pack, programs):
            asked.append({case.perturbation for case in pack.cases if case.base})
            return engine.run(pack, programs)

    rows = {p for case in cases if (p := case.perturbation)}
    judgement, isolated = judged(SCENARIOS, Watched(), cases, 1, known=known, kept=kept)
    return [sets for sets in asked if not sets <= rows], judgement, isolated


@pytest.mark.parametrize("elsewhere", [True, False], ids=["the others kept elsewhere", "the others kept nowhere"])
def test_what_a_stored_witness_shows_is_asked_without_it_where_the_other_changes_were_seen_nowhere_else(
    cases, elsewhere
):
    guarantees = [(s.id, g.id) for s in SCENARIOS for g in s.guarantees]
    known = {place: [frozenset({RESTART.id})] for place in guarantees}
    changes = {name for case in cases for name in factors_of(case.perturbation)} - {RESTART.id} if elsewhere else set()
    kept = dict.fromkeys(guarantees, changes)
    asked, judgement, isolated = asking(load_engine("mutant:state-lost-on-restart"), known, cases, kept)
    assert isolated.explained
    assert not isolated.smallest
    assert violated(judgement) == set(), "the witness is replayed by itself"
    assert all(RESTART.id not in factors_of(name) for sets in asked for name in sets)
    assert bool(asked) is not elsewhere


def test_what_a_stored_witness_shows_hides_no_other_fault(cases):
    guarantees = [(s.id, g.id) for s in SCENARIOS for g in s.guarantees]
    known = {place: [frozenset({RETRY.id})] for place in guarantees}
    _, judgement, _ = asking(load_engine("mutant:retry-loses-its-writes"), known, cases)
    assert RESUME.id in violated(judgement)


def test_a_plan_that_changes_an_output_explains_what_else_of_its_program_fails_under_it(cases):
    scenario = next(s for s in SCENARIOS if any(g.about_plans for g in s.guarantees))
    about = next(g for g in scenario.guarantees if g.about_plans)
    other = next(g for g in scenario.guarantees if g.program == about.program and g.predicate)

    def shown(guarantee):
        case = Case(scenario.id, about.program, cases[0].schedule, "plan:x")
        return known_of([Witness(guarantee.id, "", case, None, "e", {}, "", Trace(()), Trace(()))], [scenario])

    mine = {(scenario.id, g.id) for g in scenario.guarantees if g.program == about.program}
    assert shown(about) == {place: [frozenset({"plan:x"})] for place in mine}
    assert shown(other) == {(scenario.id, other.id): [frozenset({"plan:x"})]}


def test_what_does_not_fail_again_is_not_taken_apart(cases):
    """An engine may answer otherwise each time, or only beside other cases."""
    reference = load_engine("reference")
    before = set()

    class Once:
        """Puts out nothing for a case under several perturbations the first time."""

        id, title, capabilities = "once", "", reference.capabilities

        def run(self, pack, programs):
            run = reference.run(pack, programs)
            new = {c.id for c in pack.cases if "+" in c.perturbation} - before
            before.update(new)
            return replace(run, traces={n: replace(t, emissions=()) if n in new else t for n, t in run.traces.items()})

    asked, _, isolated = asking(Once(), {}, cases)
    assert isolated.smallest
    assert not asked


def test_of_changes_that_end_every_query_a_few_programs_speak():
    scenarios = load_scenarios(["per-key-counting", "late-data", "index-assignment", "value-state", "dedup-then-count"])
    reference = load_engine("reference")

    class Ends:
        """Ends with an error wherever a job is restarted."""

        id, title, capabilities = "ends", "", reference.capabilities

        def run(self, pack, programs):
            run = reference.run(pack, programs)
            ended = Trace.collect([Emission("", None, 0, error="the query failed")])
            fails = any(RESTART.id in factors_of(case.perturbation) for case in pack.cases)
            return replace(run, traces=dict.fromkeys(run.traces, ended)) if fails else run

    several = suite_of(scenarios, 1, 1).cases
    asked = [case for case in several if factors_of(case.perturbation) != (RESTART.id,)]
    judgement, isolated = judged(scenarios, Ends(), asked, 1)
    assert not isolated.smallest
    spoken = {(c.scenario, g.program) for c, g, _ in judgement.cells() if c.verdict is Verdict.VIOLATED}
    assert len(spoken) == ENDED_ALIKE < len({(s.id, p) for s in scenarios for p in s.programs})
    assert violated(judgement) == {RESTART.id}


def test_the_case_that_ends_a_query_is_told_from_those_that_it_takes_along():
    """It is one case of one program, and needs one of the changes of its row. The others under that change are seen to
    hold."""
    scenarios = load_scenarios(["per-key-counting", "late-data", "index-assignment", "value-state"])
    reference, cases = load_engine("reference"), suite_of(scenarios, 1, 1).cases
    guilty = next(c.base for c in cases if c.scenario == "value-state" and RESTART.id in factors_of(c.perturbation))

    class Ends:
        """Ends with an error wherever a job with one case is restarted."""

        id, title, capabilities = "ends", "", reference.capabilities

        def run(self, pack, programs):
            run = reference.run(pack, programs)
            ended = Trace.collect([Emission("", None, 0, error="the query failed")])
            fails = any(c.base == guilty and RESTART.id in factors_of(c.perturbation) for c in pack.cases)
            return replace(run, traces=dict.fromkeys(run.traces, ended)) if fails else run

    asked = [case for case in cases if factors_of(case.perturbation) != (RESTART.id,)]
    judgement, isolated = judged(scenarios, Ends(), asked, 1)
    against = [a for cell, _, found in judgement.cells() if cell.verdict is Verdict.VIOLATED for a in found]
    assert {(a.case.base, factors_of(a.case.perturbation)) for a in against} == {(guilty, (RESTART.id,))}
    assert not isolated.smallest
    held = {c.scenario for c, _, _ in judgement.cells() if c.verdict is Verdict.HOLDS and c.perturbation == RESTART.id}
    assert held == {scenario.id for scenario in scenarios}


def test_the_results_for_some_cases_say_what_a_failure_did_not_reach():
    """An isolation takes over the answers for some cases of an engine run; one that no failure reached shows nothing of
    failures."""
    ended = Trace.collect([])
    runs = Runs({"a": ended, "b": ended}, lost={"c": "why", "d": "why"}, untouched={"a", "b"}, notes={"s/p": "slow"})
    assert runs.of({"a", "c"}.__contains__) == Runs(
        {"a": ended}, lost={"c": "why"}, untouched={"a"}, notes={"s/p": "slow"}
    )
