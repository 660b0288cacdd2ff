"""Cases that every real engine is compared on with the reference."""

from collections import Counter
from dataclasses import replace

from drawn import SEED, all_cases, cases_of

from conformance import testing
from conformance.model.case import Case, program_ref
from conformance.model.engine import case_needs
from conformance.model.perturbation import BY_ID
from conformance.model.scenario import programs_of
from conformance.model.schedule import Advance, Deliver, Event, Schedule, renumbered
from conformance.plugins.registry import load_scenarios
from conformance.testing import CALLS, FAILS, STATE, TIMERS, T, calls_case, traces_of  # noqa: F401

SCENARIOS = load_scenarios()
PROGRAMS = programs_of(SCENARIOS)
COUNTED = Case(
    "per-key-counting",
    "count",
    Schedule(
        (
            Advance(0, T),
            Deliver(1, (Event("e1", "a", None, T + 1), Event("e2", "a", None, T + 3))),
            Advance(2, T + 2),
            Deliver(3, (Event("e3", "a", None, T + 9),)),
            Advance(4, T + 90),
        )
    ),
)
"""Two bundles with an advance between, all on time: the schedule that tests sabotage the driving of."""


AROUND_THE_WATERMARK = Case(
    "late-data",
    "global",
    Schedule(
        (
            Advance(0, T),
            Deliver(1, tuple(Event(f"e{d}", key, None, T + d) for d, key in ((-1, "a"), (0, "b"), (1, "c")))),
            Advance(2, T + 5),
            Deliver(3, (Event("e9", "d", None, T + 5), Event("e8", "e", None, T + 6))),
            Advance(4, T + 90),
        )
    ),
)
"""Elements before, at and after the watermark of their bundle."""


def with_steps(*steps):
    """COUNTED with these steps before its second bundle."""
    before, after = COUNTED.schedule.steps[:3], COUNTED.schedule.steps[3:]
    return replace(COUNTED, schedule=renumbered([*before, *steps, *after]))


def failing_and_idle(fails):
    """Two cases of one timeline on which the second bundle fails once: one with an element in it, one without."""
    failing = with_steps(fails)
    event = Event("e1", "b", None, T + 1)
    bundles = {step.id: [event] if step.id == 1 else [] for step in failing.schedule.bundles}
    return failing, replace(failing, schedule=failing.schedule.with_bundles(bundles))


def drawn(engine):
    """Cases of all scenarios that the engine can express: some thousands."""
    cases = all_cases()
    programs = {case.id: PROGRAMS[program_ref(case.scenario, case.program)] for case in cases}
    return [c for c in cases if engine.capabilities.first_missing(case_needs(c, programs[c.id])) is None]


def beside(few, cases):
    """A few cases, and beside them on their timelines two of each program."""
    timelines = {case.schedule.timeline for case in few}
    found, seen = list(few), Counter()
    for case in cases:
        mine = case.schedule.timeline, case.scenario, case.program
        if case.schedule.timeline in timelines and case not in few and seen[mine] < 2:
            found.append(case)
            seen[mine] += 1
    return found


def smallest_run(scenario, *perturbations):
    """Cases of a scenario for a run of few packs: those of the shortest timeline of several bundles, and their twins
    under each of these perturbations by itself."""
    cases = cases_of(*load_scenarios([scenario]))
    plain = [case for case in cases if not case.perturbation and len(case.schedule.bundles) > 1]
    shortest = min((case.schedule.timeline for case in plain), key=len)
    bases = [case for case in plain if case.schedule.timeline == shortest]
    made = {name: [twin for case in bases if (twin := BY_ID[name].twin(case, SEED))] for name in perturbations}
    assert all(made.values()), made
    return [*bases, *(twin for twins in made.values() for twin in twins)]


def run(engine, cases, programs=PROGRAMS):
    """Case id -> trace."""
    return traces_of(engine, cases, programs)


def specified(engine, cases, programs=PROGRAMS):
    """Case id -> trace of the reference with the engine's reading of lateness."""
    return testing.specified(engine, cases, programs)
