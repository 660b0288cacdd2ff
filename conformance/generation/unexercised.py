"""What a suite leaves open: promised perturbations under which none of its cases puts a guarantee to the test."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from conformance.generation.suite import Suite
from conformance.judgement.batches import cells_asked
from conformance.judgement.evidence import ReferenceTraces, puts_to_test
from conformance.judgement.verdict import not_expressible
from conformance.model.case import Case, program_ref
from conformance.model.engine import EngineInfo
from conformance.model.scenario import Guarantee, Scenario, programs_of

Promised = dict[tuple[str, str], list[str]]
"""(scenario, guarantee) -> perturbations (ids, "" for a case as drawn)."""


def unexercised(
    suite: Suite, scenarios: Sequence[Scenario], info: EngineInfo, reference: ReferenceTraces
) -> tuple[Promised, Promised]:
    """What each guarantee promises on an engine, and what of it no case of the suite puts to the test, if the engine answers as the
    specification does."""
    met = set[tuple[str, str, str]]()
    for guarantees, cases in _by_program(suite.cases, scenarios):
        by_id = {case.id: case for case in cases}
        for case in cases:
            program = programs_of(scenarios)[program_ref(case.scenario, case.program)]
            base = by_id[case.base] if case.base else case
            found = puts_to_test(program, guarantees, base, case, reference)
            met |= {(case.scenario, *goal) for goal in found}
    promised: Promised = {}
    for scenario, guarantee, perturbation in cells_asked(scenarios, info):
        if guarantee.accounting or not_expressible(scenario, guarantee, perturbation, info) is not None:
            continue
        if guarantee.same_under or not (perturbation and perturbation.sparse):
            promised.setdefault((scenario.id, guarantee.id), []).append(perturbation.id if perturbation else "")
    lacking = {row: [name for name in names if (*row, name) not in met] for row, names in promised.items()}
    return promised, {row: names for row, names in lacking.items() if names}


def _by_program(cases: Iterable[Case], scenarios: Sequence[Scenario]) -> Iterable[tuple[list[Guarantee], list[Case]]]:
    found: dict[tuple[str, str], tuple[list[Guarantee], list[Case]]] = {
        (s.id, name): ([g for g in s.guarantees if g.program == name], []) for s in scenarios for name in s.programs
    }
    for case in cases:
        found[case.scenario, case.program][1].append(case)
    return [(guarantees, mine) for guarantees, mine in found.values() if mine]
