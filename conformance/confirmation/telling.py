"""Which stored witnesses a brief run replays: those that tell of most guarantees in the seconds that the engine has for its packs."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from conformance.execution.choosing import cost_of
from conformance.model.case import Case
from conformance.model.engine import Budget
from conformance.model.runs import Pack
from conformance.model.schedule import Step
from conformance.results.witness import Witness

ANOTHER = 0.1
"""What another witness of a guarantee is worth beside the first one, which is of another perturbation."""

Timeline = tuple[Step, ...]


def most_telling(witnesses: Sequence[Witness], budget: Budget, seconds: float) -> list[Witness]:
    """The witnesses that run within the expected ``seconds``, in the order of ``witnesses``. Witnesses with one timeline share a pack.
    The timelines that bring most for their seconds are next. At least one witness runs, if there is any."""
    if seconds == inf:
        return list(witnesses)
    cases: dict[Timeline, Case] = {}
    needs: dict[str, frozenset[Timeline]] = {}
    for witness in witnesses:
        mine = {case.schedule.timeline: case for case in filter(None, (witness.base, witness.case))}
        cases |= mine
        needs[witness.id] = frozenset(mine)
    costs = {timeline: cost_of(Pack((case,)), budget) for timeline, case in cases.items()}
    taken: set[Timeline] = set()

    def brings(offer: frozenset[Timeline]) -> float:
        """What an offer is worth a second."""
        known = {_about(w) for w in witnesses if needs[w.id] <= taken}
        new = [_about(w) for w in witnesses if needs[w.id] <= taken | offer and not needs[w.id] <= taken]
        first = len({*new} - known)
        return (first + ANOTHER * (len(new) - first)) / sum(costs[timeline] for timeline in offer - taken)

    spent = 0.0
    offers = dict.fromkeys(needs.values())
    while offers := dict.fromkeys(offer for offer in offers if not offer <= taken):
        best = max(offers, key=brings)
        cost = sum(costs[timeline] for timeline in best - taken)
        if taken and spent + cost > seconds:
            del offers[best]
            continue
        taken |= best
        spent += cost
    return [witness for witness in witnesses if needs[witness.id] <= taken]


def _about(witness: Witness) -> tuple[str, str]:
    return witness.case.scenario, witness.guarantee
