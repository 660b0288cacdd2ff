"""Plan twins of the cases that an engine runs anyway: one pack for each plan."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from conformance.model.case import Case, program_ref
from conformance.model.engine import Capabilities
from conformance.model.plan import PlanTwin
from conformance.model.program import Program
from conformance.model.runs import Pack
from conformance.model.values import digest

BASES = 480
"""About how many cases a pack of plan twins has, over all programs."""

FEWEST = 8
"""The fewest cases of a program in a pack of plan twins, if there are as many."""


def plan_twins(packs: Iterable[Pack], can: Capabilities, programs: Mapping[str, Program], every: bool) -> list[Case]:
    """The plan twins of a run, whose bases are in ``packs``, the packs that the engine runs.

    Args:
        every: ask every plan of the engine. Otherwise ask those that each run asks, and a choice of the others, which depends on the
            cases.
    """
    bases = plan_bases(packs, programs)
    if not bases:
        return []
    of_a_run = [plan for plan in can.plans if plan.always]
    others = sorted((p for p in can.plans if not p.always), key=lambda plan: digest([plan.id, bases[0].digest]))
    asked = set(of_a_run + (others if every else others[: can.plans_of_a_run]))
    twins = (twin for plan in can.plans if plan in asked for twin in twins_of(plan, bases))
    return [twin for twin in twins if can.takes(twin, programs[program_ref(twin.scenario, twin.program)])]


def twins_of(plan: PlanTwin, bases: Iterable[Case]) -> list[Case]:
    return [twin for base in bases if (twin := plan.perturbation.twin(base, 0))]


def plan_bases(packs: Iterable[Pack], programs: Mapping[str, Program]) -> list[Case]:
    """Cases as drawn of one timeline, at most about BASES. The timeline with the most programs that have a late element is preferred,
    then that with the most programs, then the shortest."""
    by_timeline: dict[object, list[Case]] = {}
    for pack in packs:
        for case in pack.cases:
            program = programs[program_ref(case.scenario, case.program)]
            if not (case.perturbation or program.waits or program.initial):
                by_timeline.setdefault(case.schedule.timeline, []).append(case)

    def worth(cases: list[Case]) -> tuple[int, int, int]:
        late = {(c.scenario, c.program) for c in cases if not all(a.on_time for a in c.schedule.arrivals)}
        return len(late), len({(c.scenario, c.program) for c in cases}), -len(cases[0].schedule.steps)

    if not by_timeline:
        return []
    chosen = max(by_timeline.values(), key=worth)
    of_program: dict[tuple[str, str], list[Case]] = {}
    for case in chosen:
        of_program.setdefault((case.scenario, case.program), []).append(case)
    each = max(FEWEST, BASES // len(of_program))
    return [case for cases in of_program.values() for case in _varied(cases)[:each]]


def _varied(cases: list[Case]) -> list[Case]:
    """Cases with late elements and cases without take turns."""
    late = [case for case in cases if any(arrival.behind for arrival in case.schedule.arrivals)]
    others = [case for case in cases if case not in late]
    turns = [case for pair in zip(late, others, strict=False) for case in pair]
    return [*turns, *(case for case in (*late, *others) if case not in turns)]
