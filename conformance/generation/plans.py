"""Plan twins of the cases that an engine runs anyway: one pack for each plan."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping

from conformance.model.case import Case, program_ref
from conformance.model.engine import Capabilities
from conformance.model.plan import PlanTwin
from conformance.model.program import Program
from conformance.model.runs import Pack
from conformance.model.values import digest

BASES = 480
"""About how many cases a pack of plan twins has, over all programs."""

FEWEST = 8
"""The fewest cases of a program that have plan twins, if there are as many."""

TIMELINES = 2
"""The most timelines that have plan twins. Each takes a pack for each plan."""


MOST_GIVEN = 4
"""The most plans that one engine is given."""


def given_out(plans: Mapping[str, Iterable[PlanTwin]], order: object) -> dict[str, list[str]]:
    """Each plan given to one engine, so that a run of all of them asks every plan.

    Args:
        plans: engine -> its plans.
        order: another one gives plans to other engines.
    """
    given: dict[str, list[str]] = {engine: [] for engine in plans}
    engines_of: dict[str, list[str]] = {}
    for engine, mine in plans.items():
        for plan in mine:
            if not plan.always:
                engines_of.setdefault(plan.id, []).append(engine)
    for plan_id in sorted(engines_of, key=lambda plan_id: digest([plan_id, str(order)])):
        engine = min(engines_of[plan_id], key=lambda engine: (len(given[engine]), digest([plan_id, engine])))
        if len(given[engine]) < MOST_GIVEN:
            given[engine].append(plan_id)
    return given


def plan_twins(
    packs: Iterable[Pack],
    can: Capabilities,
    programs: Mapping[str, Program],
    every: bool,
    share: float = 1.0,
    given: Collection[str] = (),
) -> list[Case]:
    """The plan twins of a run, whose bases are in ``packs``, the packs that the engine runs.

    Args:
        programs: those that are asked for their plans.
        every: ask every plan of the engine. Otherwise ask those that each run asks, and a choice of the others, which depends on the
            cases.
        share: fraction of the engine's budget. With less than all of it, the bases lie on one timeline.
        given: plans (ids) that come first in the choice, see ``given_out``.
    """
    bases = plan_bases(packs, programs, TIMELINES if every or share >= 1 else 1)
    if not bases:
        return []
    of_a_run = [plan for plan in can.plans if plan.always]
    others = sorted(
        (plan for plan in can.plans if not plan.always),
        key=lambda plan: (plan.id not in given, digest([plan.id, bases[0].digest])),
    )
    asked = set(of_a_run + (others if every else others[: max(len(given), round(can.plans_of_a_run * share))]))
    twins = (twin for plan in can.plans if plan in asked for twin in twins_of(plan, bases))
    return [twin for twin in twins if _takes(can, twin, programs[_ref(twin)])]


def _takes(can: Capabilities, twin: Case, program: Program) -> bool:
    return can.takes(twin, program) and (can.leaves_state(twin.schedule) or not program.read_from_outside)


def twins_of(plan: PlanTwin, bases: Iterable[Case]) -> list[Case]:
    return [twin for base in bases if (twin := plan.perturbation.twin(base, 0))]


def plan_bases(packs: Iterable[Pack], programs: Mapping[str, Program], timelines: int = TIMELINES) -> list[Case]:
    """Cases as drawn, at most about BASES, on one timeline, or on up to ``timelines`` where a program has few cases on it. The timelines
    with the most programs that have a late element are preferred, then those with the most programs, then those with the most programs that
    have enough cases there, then the shortest."""
    by_timeline: dict[object, list[Case]] = {}
    for pack in packs:
        for case in pack.cases:
            program = programs.get(_ref(case))
            if program and not (case.perturbation or program.waits or program.initial):
                by_timeline.setdefault(case.schedule.timeline, []).append(case)

    def worth(cases: list[Case]) -> tuple[int, int, int, int]:
        late = {_ref(case) for case in cases if not all(a.on_time for a in case.schedule.arrivals)}
        each = Counter(map(_ref, cases))
        enough = sum(number >= FEWEST for number in each.values())
        return len(late), len(each), enough, -len(cases[0].schedule.steps)

    of_program: dict[str, list[Case]] = {_ref(case): [] for cases in by_timeline.values() for case in cases}
    for cases in sorted(by_timeline.values(), key=worth, reverse=True)[:timelines]:
        short = {ref for ref, mine in of_program.items() if len(mine) < FEWEST}
        for case in cases:
            if _ref(case) in short:
                of_program[_ref(case)].append(case)
    each = max(FEWEST, BASES // max(1, len(of_program)))
    return [case for mine in of_program.values() for case in _varied(mine)[:each]]


def _ref(case: Case) -> str:
    return program_ref(case.scenario, case.program)


def _varied(cases: list[Case]) -> list[Case]:
    """Cases with late elements and cases without take turns."""
    late = [case for case in cases if any(arrival.behind for arrival in case.schedule.arrivals)]
    others = [case for case in cases if case not in late]
    turns = [case for pair in zip(late, others, strict=False) for case in pair]
    return [*turns, *(case for case in (*late, *others) if case not in turns)]
