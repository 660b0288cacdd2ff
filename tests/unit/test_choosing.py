"""Which packs, and which of their cases, a slow engine runs within its budget."""

from dataclasses import replace

import pytest

from conformance.execution.choosing import befallen, chosen, cost_of
from conformance.execution.packing import packs_of
from conformance.generation.cases import draw_cases
from conformance.generation.goals import promised
from conformance.generation.readings import exercised_by_any_reading
from conformance.model.case import Case
from conformance.model.engine import ALL, Budget
from conformance.model.runs import Pack
from conformance.model.schedule import Advance, Deliver, Event, FailOnce, Partitions, Restart, Schedule, renumbered
from conformance.plugins.registry import load_scenarios

BUDGET = Budget(seconds=100, pack=10, cases=3, each=2)
PROMISED = {("s", "g"): ("", "shift", "restart"), ("s", "rare"): ("",)}


def case(time, perturbation="", base=None, event="e1"):
    events = (Event(event, "a", None, time + 1),)
    made = Case("s", "p", Schedule((Advance(0, time), Deliver(1, events), Advance(2, time + 9))))
    return replace(made, perturbation=perturbation, base=base.id) if base else made


def several(time, number):
    return [case(time, event=f"e{n}") for n in range(number)]


def answering(rare):
    """Each case puts g to the test, some of them a rare guarantee, too."""
    return lambda cases: [frozenset({"g", "rare"} if case in rare else {"g"}) for case in cases]


def choice(packs, budget=BUDGET, rare=(), share=1.0):
    return chosen(packs, budget, answering(rare), PROMISED, share)


def test_a_fast_engine_runs_all_packs():
    packs = [Pack((case(1_000),)), Pack((case(2_000),))]
    assert choice(packs, ALL) == packs


def test_what_the_first_packs_put_to_the_test_often_enough_is_not_run_again():
    packs = [Pack(tuple(several(time, 4))) for time in range(1_000, 9_000, 1_000)]
    assert len(choice(packs)) == 4, "on four clocks"
    assert len(choice(packs, replace(BUDGET, seconds=20))) == 2
    assert len(choice(packs, share=0.2)) == 2
    assert len(choice(packs, share=0.01)) == 1, "never none"


def test_in_a_full_run_an_engine_is_asked_for_every_guarantee_whatever_that_takes():
    rare = case(2_000)
    packs = [Pack(tuple(several(1_000, 4))), Pack(tuple(several(3_000, 4))), Pack((rare,))]
    costly = replace(BUDGET, seconds=10, step=100)

    def tested(cases):
        return [frozenset({"rare" if c == rare else "g"}) for c in cases]

    both = chosen(packs, costly, tested, PROMISED, whole=True)
    assert packs[2] in both
    assert len(both) == 2, "one of the packs for the other guarantee"
    assert len(chosen(packs, costly, tested, PROMISED)) == 1


def test_a_full_run_has_one_of_the_perturbations_that_the_budget_leaves_out():
    """Another one for another engine or with other cases, so that several runs, or many operators, have all of them."""
    base = several(1_000, 4)
    promises = {("s", "g"): ("", "finer", "coarser", "no-data"), ("s", "rare"): ("",)}

    def run(engine="", whole=True, first=base):
        twins = {
            name: Pack(tuple(case(time, name, one) for one in first))
            for time, name in [(2_000, "finer"), (3_000, "coarser"), (4_000, "no-data"), (5_000, "not-promised")]
        }
        packs = [Pack(tuple(first)), *twins.values()]
        found = chosen(packs, replace(BUDGET, seconds=10), answering(()), promises, whole=whole, engine=engine)
        assert found[0] == packs[0], "the cases within the budget stay"
        return [name for name, pack in twins.items() if pack in found]

    assert run(whole=False) == []
    assert all(len(run(f"engine {n}")) == 1 for n in range(9))
    of_engines = {name for n in range(9) for name in run(f"engine {n}")}
    assert (
        of_engines
        == {name for n in range(9) for name in run(first=several(1_000 + n, 4))}
        == {*promises["s", "g"]} - {""}
    )


def test_a_part_of_a_budget_goes_to_guarantees_that_nothing_else_asks_first():
    """An upgrade once asked no program with initial state: others brought more for each second."""
    steps = (Advance(0, 1_000), Deliver(0, (Event("e1", "a", None, 1_001),)), Restart(0), Advance(0, 9_000))
    rare = Case("s", "p", renumbered(steps))
    packs = [Pack(tuple(several(time, 4))) for time in range(2_000, 5_000, 1_000)] + [Pack((rare,))]

    def tested(cases):
        return [frozenset({"rare"} if c == rare else {f"g{n}" for n in range(20)}) for c in cases]

    assert packs[3] not in chosen(packs, replace(BUDGET, seconds=30), tested, PROMISED)
    assert packs[3] in chosen(packs, replace(BUDGET, seconds=60), tested, PROMISED, share=0.5)


def test_a_guarantee_that_nothing_else_puts_to_the_test_comes_before_more_cases():
    rare = case(2_000)
    packs = [Pack(tuple(several(1_000, 4))), Pack(tuple(several(3_000, 4))), Pack((rare,))]
    assert choice(packs, replace(BUDGET, seconds=10), [rare]) == [Pack((rare,))]
    assert packs[2] in choice(packs, replace(BUDGET, seconds=20), [rare])


def test_what_befalls_a_job_together_is_run_once_although_it_is_dear():
    """Beside packs that bring as much in fewer seconds."""
    packs = [Pack(tuple(several(time, 4))) for time in range(1_000, 9_000, 1_000)]
    together = packs[5].cases[0]
    first, bundle, last = together.schedule.steps
    befallen = renumbered((Partitions(0, 3), first, bundle, Restart(0), last))
    packs.append(Pack((replace(together, schedule=befallen),)))
    dear = replace(BUDGET, seconds=40, pack=5)
    assert cost_of(packs[-1], dear) == 2 * cost_of(packs[0], dear)
    assert packs[-1] in choice(packs, dear)
    assert packs[-1] not in choice(packs, replace(dear, seconds=14)), "half of the budget at most"


@pytest.mark.parametrize(
    ("place", "step", "rare"),
    [
        (1, FailOnce(0), True),
        (3, FailOnce(0), False),
        (1, FailOnce(0, resume=True), True),
        (1, Restart(0), True),
        (2, Restart(0), False),
        (0, Partitions(0, 1), True),
        (0, Partitions(0, 5), False),
    ],
)
def test_what_befalls_a_job_by_itself_is_run_where_it_is_rare(place, step, rare):
    """Before there is any state, and in one partition."""
    timeline = [Advance(0, 1_000), Deliver(0), Advance(0, 2_000), Deliver(0), Advance(0, 9_000)]
    made = Case("s", "p", renumbered([*timeline[:place], step, *timeline[place:]]))
    assert bool(befallen(Pack((made,)))) is rare


@pytest.mark.parametrize(("restarts", "rare"), [(2, False), (3, True)])
def test_many_restarts_are_run_by_themselves(restarts, rare):
    timeline = [step for _ in range(restarts) for step in (Deliver(0), Restart(0))]
    made = Case("s", "p", renumbered([Advance(0, 1_000), *timeline, Deliver(0), Advance(0, 9_000)]))
    assert bool(befallen(Pack((made,)))) is rare


def test_a_restart_with_initial_state_before_any_bundle_is_run_by_itself():
    """Besides one without."""
    timeline = [Advance(0, 1_000), Restart(0), Deliver(0), Advance(0, 9_000)]
    initial = Deliver(0, (Event("i1", "a", 1, 0),), initial=True)
    without = Case("s", "p", renumbered(timeline))
    started = Case("s", "p", renumbered([initial, *timeline]))
    assert befallen(Pack((without,))) != befallen(Pack((started,)))


def test_of_what_befalls_a_job_the_dearest_is_run_first():
    """Half of the budget has room for one of both."""
    first, bundle, last = case(1_000).schedule.steps
    rare = Pack((replace(case(1_000), schedule=renumbered((Partitions(0, 1), first, bundle, last))),))
    dear = Pack((replace(case(2_000), schedule=renumbered((Partitions(0, 3), first, bundle, Restart(0), last))),))
    assert dear in choice([rare, dear], replace(BUDGET, seconds=40, pack=10))
    assert choice([rare, dear], replace(BUDGET, seconds=20, pack=10)) == [rare]


def test_a_twin_comes_with_its_base_or_not_at_all():
    base = case(1_000)
    packs = [Pack((base,)), Pack((case(4_000, "shift", base),))]
    assert choice(packs) == packs
    assert choice(packs, replace(BUDGET, seconds=10)) == packs[:1]


def test_of_packs_that_bring_as_much_the_cheaper_one_is_run():
    long = case(1_000)
    long = replace(long, schedule=Schedule((*long.schedule.steps, Advance(3, 9_000))))
    restarted = case(2_000)
    steps = restarted.schedule.steps
    restarted = replace(restarted, schedule=renumbered([*steps[:2], Restart(0), steps[2]]))
    plain = Pack((case(3_000),))
    budget = Budget(seconds=12, pack=5, step=1)
    assert choice([Pack((long,)), Pack((restarted,)), plain], budget) == [plain]
    assert cost_of(Pack((restarted,)), budget) > cost_of(Pack((long,)), budget) > cost_of(plain, budget)


def test_cases_beyond_the_budget_are_those_that_serve_nothing_more():
    rare = case(1_000, event="last")
    pack = Pack((*several(1_000, 9), rare))
    [run] = choice([pack], Budget(seconds=4, pack=0, case=1, cases=3, each=2), [rare])
    assert len(run.cases) == 4
    assert rare in run.cases
    assert choice([pack], Budget(seconds=40, case=1), [rare]) == [pack]


@pytest.mark.parametrize("seconds", [1, 20, 60, 1_000])
def test_drawn_cases(seconds):
    """The choice is the same each time, has no twin without its base, and a larger budget puts no less to the test."""
    scenarios = load_scenarios(["index-assignment"])
    exercised = exercised_by_any_reading(scenarios)
    cases = draw_cases(scenarios, 10, 1, exercised)
    promises = {(s.id, g.id): promised(s, g) for s in scenarios for g in s.guarantees}
    budget = Budget(seconds=seconds, pack=1, step=0.3, case=0.02, cases=10, each=1)
    packs = packs_of(cases, 100)
    run = chosen(packs, budget, exercised, promises)
    assert run == chosen(packs, budget, exercised, promises)
    ids = {case.id for pack in run for case in pack.cases}
    assert {case.base for pack in run for case in pack.cases if case.base} <= ids
    if seconds == 1_000:
        asked = {(g, c.perturbation) for c, found in zip(cases, exercised(cases), strict=True) for g in found}
        mine = [case for pack in run for case in pack.cases]
        assert asked == {(g, c.perturbation) for c, found in zip(mine, exercised(mine), strict=True) for g in found}
