"""Which packs a slow engine runs."""

from dataclasses import replace

from conformance.model import Advance, Case, Deliver, Event, Pack, Schedule
from conformance.packing import chosen


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


def test_a_choice_never_holds_a_twin_without_its_base():
    for most in range(5):
        kept = chosen(PACKS, most)
        assert len(kept) <= most
        ids = {case.id for pack in kept for case in pack.cases}
        assert all(c.base in ids for pack in kept for c in pack.cases if c.base)


def test_when_everything_is_there_the_packs_with_the_most_cases_are_next():
    more = Pack(tuple(replace(case(5_000, program=p)) for p in "pq"))
    assert chosen([*PACKS[:3], more], 2) == [PACKS[0], more]
