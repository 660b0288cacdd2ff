"""Which cases share a pack."""

from dataclasses import replace

from drawn import suite_of

from conformance.execution.packing import halves, packs_of
from conformance.model.case import Case
from conformance.model.plan import is_sparse
from conformance.model.runs import Pack
from conformance.model.schedule import Advance, Deliver, Event, Schedule, Wait
from conformance.plugins.registry import load_scenarios


def case(time, perturbation="", base=None, program="p"):
    events = (Event("e1", "a", None, time + 1),)
    made = Case("s", program, Schedule((Advance(0, time), Deliver(1, events), Advance(2, time + 9))))
    return replace(made, perturbation=perturbation, base=base.id) if base else made


ONE, OTHER = case(1_000), case(1_000, program="q")


def test_broad_packs_have_cases_of_all_programs():
    events = [(Event("e1", "a", None, 2_000 + n),) for n in range(3)]
    timeline = Schedule((Advance(0, 1_000), Deliver(1), Advance(2, 9_000)))
    cases = [Case("s", program, timeline.with_bundles({1: bundle})) for program in "pq" for bundle in events]
    assert [[case.program for case in pack.cases] for pack in packs_of(cases, 4)] == [["p", "p", "p", "q"], ["q", "q"]]
    broad = packs_of(cases, 4, broad=True)
    assert [[case.program for case in pack.cases] for pack in broad] == [["p", "q", "p", "q"], ["p", "q"]]


def test_cases_of_sparse_perturbations_share_packs_but_no_program_does():
    others = [
        case(1_000, name, base, program=base.program) for base in (ONE, OTHER) for name in ("alone", "unrelated-key")
    ]
    packs = packs_of(others, 100)
    assert [[(c.program, c.perturbation) for c in pack.cases] for pack in packs] == [
        [("p", "alone"), ("q", "alone")],
        [("p", "unrelated-key"), ("q", "unrelated-key")],
    ]


def test_a_case_is_not_parted_from_its_twins_on_its_timeline():
    """What was handed over can then be judged, whichever packs are chosen."""
    scenarios = load_scenarios(["index-assignment"])
    cases = suite_of(scenarios, 4, 1).cases
    for largest in (7, 50):
        packs = packs_of(cases, largest)
        assert sorted(case.id for pack in packs for case in pack.cases) == sorted(case.id for case in cases)
        assert max(len(pack.cases) for pack in packs) <= largest
    timelines = {case.id: case.schedule.timeline for case in cases}
    where = {case.id: number for number, pack in enumerate(packs) for case in pack.cases}
    in_timeline = [c for c in cases if timelines.get(c.base) == timelines[c.id] and not is_sparse(c.perturbation)]
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
