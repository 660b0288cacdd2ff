"""Which packs a slow engine runs."""

from dataclasses import replace

from conformance.execution.packing import chosen, halves, packs_of
from conformance.generation.cases import draw_cases
from conformance.generation.readings import exercised_by_any_reading
from conformance.model.case import Case
from conformance.model.perturbation import BY_ID
from conformance.model.program import Program
from conformance.model.runs import Pack
from conformance.model.scenario import Domain, Guarantee, Scenario, asked_by
from conformance.model.schedule import Advance, Deliver, Event, Schedule, Wait
from conformance.plugins.registry import load_scenarios


def case(time, perturbation="", base=None, program="p"):
    events = (Event("e1", "a", None, time + 1),)
    made = Case("s", program, Schedule((Advance(0, time), Deliver(1, events), Advance(2, time + 9))))
    return replace(made, perturbation=perturbation, base=base.id) if base else made


ONE, TWO, OTHER = case(1_000), case(2_000), case(3_000, program="q")
TWIN = case(4_000, "shift", ONE)
PACKS = [Pack((ONE, case(1_000, program="q"))), Pack((TWO,)), Pack((OTHER,)), Pack((TWIN,))]


def test_all_packs_where_there_are_no_more():
    assert chosen(PACKS, 4) == PACKS


def test_a_twins_pack_comes_with_its_bases():
    assert chosen(PACKS, 2) == [PACKS[0], PACKS[3]]


def test_what_alone_asks_for_a_guarantee_comes_before_what_brings_more_perturbations():
    of_two_programs = Pack((TWIN, case(4_000, "shift", PACKS[0].cases[1], program="q")))
    restarted = Pack((case(6_000, "restart", ONE),))
    packs = [PACKS[0], of_two_programs, restarted]
    assert chosen(packs, 2) == [PACKS[0], of_two_programs]
    relation = frozenset({("s", "p", "restart"), ("s", "p", "resume")})
    assert chosen(packs, 2, [relation]) == [PACKS[0], restarted]
    of_its_own = Pack((replace(case(7_000), program="rare"),))
    predicates = [frozenset({("s", program, "")}) for program in ("p", "rare")]
    assert chosen([*packs, of_its_own], 2, predicates) == [PACKS[0], of_its_own]


def test_a_relation_is_put_to_the_test_under_each_of_its_perturbations():
    """Not under any one of them: other packs would be chosen, which bring more and leave the rest of its promise untried."""
    relation = Guarantee("it survives", "p", same_under=(BY_ID["restart"], BY_ID["resume"]))
    domains = {"p": Domain((0,))}
    scenario = Scenario("s", "", {"p": Program()}, domains, (relation,))
    restarted, resumed = Pack((case(6_000, "restart", ONE),)), Pack((case(8_000, "resume", ONE),))
    more = Pack((TWIN, case(4_000, "shift", PACKS[0].cases[1], program="q")))
    assert chosen([PACKS[0], more, restarted, resumed], 3, asked_by([scenario])) == [PACKS[0], restarted, resumed]


def test_twins_whose_base_is_not_run_are_left_out():
    twin = case(4_000, "shift", OTHER)
    packs = [PACKS[0], Pack((OTHER,)), Pack((TWIN, twin))]
    assert chosen(packs, 2) == [PACKS[0], Pack((TWIN,))]
    assert chosen(packs, 3) == packs


def test_of_packs_that_bring_as_much_the_shorter_one_is_run():
    longer = replace(TWO, schedule=Schedule((*TWO.schedule.steps, Advance(3, 9_000))))
    assert chosen([Pack((longer,)), Pack((TWO,))], 1) == [Pack((TWO,))]


def test_broad_packs_have_cases_of_all_programs():
    events = [(Event("e1", "a", None, 2_000 + n),) for n in range(3)]
    timeline = Schedule((Advance(0, 1_000), Deliver(1), Advance(2, 9_000)))
    cases = [Case("s", program, timeline.with_bundles({1: bundle})) for program in "pq" for bundle in events]
    assert [[case.program for case in pack.cases] for pack in packs_of(cases, 4)] == [["p", "p", "p", "q"], ["q", "q"]]
    broad = packs_of(cases, 4, broad=True)
    assert [[case.program for case in pack.cases] for pack in broad] == [["p", "q", "p", "q"], ["p", "q"]]


def test_a_choice_never_holds_a_twin_without_its_base():
    for most in range(5):
        kept = chosen(PACKS, most)
        assert len(kept) <= most
        ids = {case.id for pack in kept for case in pack.cases}
        assert all(c.base in ids for pack in kept for c in pack.cases if c.base)


def test_when_everything_is_there_the_packs_with_the_most_cases_are_next():
    more = Pack(tuple(replace(case(5_000, program=p)) for p in "pq"))
    assert chosen([*PACKS[:3], more], 2) == [PACKS[0], more]


def test_a_case_is_not_parted_from_its_twins_on_its_timeline():
    """What was handed over can then be judged, whichever packs are chosen."""
    scenarios = load_scenarios(["index-assignment"])
    cases = draw_cases(scenarios, 20, 1, exercised_by_any_reading(scenarios))
    for largest in (7, 50):
        packs = packs_of(cases, largest)
        assert sorted(case.id for pack in packs for case in pack.cases) == sorted(case.id for case in cases)
        assert max(len(pack.cases) for pack in packs) <= largest
        for most in (1, 5, 12, 40):
            handed = {case.id for pack in chosen(packs, most) for case in pack.cases}
            assert {case.base for case in cases if case.id in handed and case.base} <= handed
    timelines = {case.id: case.schedule.timeline for case in cases}
    where = {case.id: number for number, pack in enumerate(packs) for case in pack.cases}
    in_timeline = [
        c for c in cases if c.base and timelines[c.base] == timelines[c.id] and not BY_ID[c.perturbation].sparse
    ]
    assert in_timeline
    assert all(where[case.id] == where[case.base] for case in in_timeline)


def test_a_pack_with_waits_has_a_bound_of_its_own():
    waiting = Schedule((Advance(0, 1_000), Deliver(1), Wait(2, 8_000), Advance(3, 9_000)))
    plain = Schedule((Advance(0, 1_000), Deliver(1), Advance(2, 9_000)))
    cases = [
        Case("s", "p", timeline.with_bundles({1: (Event("e1", "a", None, 2_000 + n),)}))
        for timeline in (waiting, plain)
        for n in range(4)
    ]
    assert [len(pack.cases) for pack in packs_of(cases, 4, 2)] == [2, 2, 4]
    assert [len(pack.cases) for pack in packs_of(cases, 4)] == [4, 4]
    assert [len(pack.cases) for pack in packs_of(cases, 2, 4)] == [2, 2, 2, 2], "it is no leave to exceed the other"


def test_halves_of_a_pack_keep_families_and_programs_together():
    timeline = Schedule((Advance(0, 1_000), Deliver(1), Advance(2, 9_000)))
    events = [(Event("e1", "a", None, 2_000 + n),) for n in range(40)]
    pack = Pack(tuple(Case("s", program, timeline.with_bundles({1: bundle})) for program in "pq" for bundle in events))
    first, second = halves(pack)
    assert len(first.cases) == len(second.cases) == 40
    assert {c.program for c in first.cases} == {c.program for c in second.cases} == {"p", "q"}
    assert halves(first) == [first]
