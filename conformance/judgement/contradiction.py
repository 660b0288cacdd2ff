"""Guarantees that contradict a documented claim by holding: the cases for the guarantee are cases against the claim."""

from collections.abc import Callable, Collection, Iterable, Iterator

from conformance.judgement.cell import MatrixCell, Verdict
from conformance.judgement.evidence import Against, Evidence, ReferenceTraces, Runs, gather
from conformance.judgement.verdict import fold, of_opposite
from conformance.model.case import Case
from conformance.model.scenario import Guarantee, Scenario

Batches = Callable[[], Iterable[tuple[list[Case], Runs]]]
"""The stored cases and traces of one engine, batch by batch."""


def contradictions(
    scenarios: Iterable[Scenario],
    claimed: Collection[tuple[str, str]],
    cells: list[MatrixCell],
    batches: Batches,
    reference: ReferenceTraces,
) -> Iterator[tuple[MatrixCell, Guarantee, tuple[Against, ...]]]:
    """For each guarantee of ``claimed``, (scenario, guarantee) ids, that holds in these cells: a violated cell of its
    opposite, the opposite, and the cases against the opposite, smallest first. Such a guarantee contradicts a claim
    about the engine. The confirmation takes a witness from these cases. No report shows the cell.

    Args:
        reference: the reference that reads *late* as the engine does.
    """
    for scenario in scenarios:
        for guarantee in scenario.guarantees:
            row = scenario.id, guarantee.id
            mine = [cell for cell in cells if cell.row == row] if row in claimed else []
            if mine and fold(mine).verdict is Verdict.HOLDS:
                opposite = guarantee.opposite
                cell = of_opposite(mine[0], opposite)
                if against := sorted(_against(scenario, opposite, batches, reference), key=lambda a: a.size):
                    yield cell, opposite, tuple(against)


def _against(
    scenario: Scenario, guarantee: Guarantee, batches: Batches, reference: ReferenceTraces
) -> Iterator[Against]:
    """The cases as drawn that speak against a guarantee on one engine."""
    program = scenario.programs[guarantee.program]
    for cases, runs in batches():
        mine = [case for case in cases if (case.scenario, case.program) == (scenario.id, guarantee.program)]
        as_drawn = [case for case in mine if not case.base]
        yield from gather(program, guarantee, as_drawn, runs, reference).get("", Evidence()).against
