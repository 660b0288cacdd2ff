"""What a suite leaves open: promised perturbations under which none of its cases puts a guarantee to the test."""

from collections.abc import Sequence

from conformance.generation.suite import Suite
from conformance.judgement.batches import cells_asked
from conformance.judgement.evidence import ReferenceTraces, asked_of, puts_to_test
from conformance.judgement.verdict import not_expressible
from conformance.model.engine import EngineInfo
from conformance.model.scenario import Scenario, programs_of

Promised = dict[tuple[str, str], list[str]]
"""(scenario, guarantee) -> perturbations (ids, "" for a case as drawn)."""


def unexercised(
    suite: Suite, scenarios: Sequence[Scenario], info: EngineInfo, reference: ReferenceTraces
) -> tuple[Promised, Promised]:
    """What each guarantee promises on an engine, and what of it no case of the suite puts to the test, if the engine
    answers as the specification does."""
    met = set[tuple[str, str, str]]()
    programs, asked, by_id = programs_of(scenarios), asked_of(scenarios), {case.id: case for case in suite.cases}
    for case in suite.cases:
        program, guarantees = programs[case.ref], asked[case.scenario, case.program]
        found = puts_to_test(program, guarantees, by_id[case.base or case.id], case, reference)
        met |= {(case.scenario, *goal) for goal in found}
    promised: Promised = {}
    for scenario, guarantee, perturbation in cells_asked(scenarios, info):
        if guarantee.accounting or not_expressible(scenario, guarantee, perturbation, info) is not None:
            continue
        if guarantee.same_under or not (perturbation and perturbation.sparse):
            promised.setdefault((scenario.id, guarantee.id), []).append(perturbation.id if perturbation else "")
    lacking = {row: [name for name in names if (*row, name) not in met] for row, names in promised.items()}
    return promised, {row: names for row, names in lacking.items() if names}
