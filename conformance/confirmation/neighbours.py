"""Neighbours: the cases that a case needs beside it to fail. The search runs the case's pack with fewer and fewer other
cases."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from conformance.confirmation.bisection import fewest
from conformance.model.case import Case
from conformance.model.runs import Pack

PackOf = Callable[[Case], Pack | None]
"""The pack in which the engine ran this case, whatever the case's origin; None if there was none."""

RUNS = 40
"""Maximum number of runs of a pack for one failing case."""

GROWTH = 4
"""How many times as long each prefix that is tried first is as the one before: a run of few cases is cheap, and often
one of the first is enough."""

Fails = Callable[[Sequence[Case]], bool]
"""Whether a case fails beside these cases."""


def neighbours_of(case: Case, pack: Pack, beside: Sequence[Case]) -> tuple[Case, ...]:
    """The other cases of a pack without ``beside``: the cases that run together with ``case`` anyway. In pack order,
    but those of the same program first: they are more likely to be needed."""
    itself = next((member for member in pack.cases if member.digest == case.digest), case)
    taken = {itself.id, case.id, case.digest, *(other.id for other in beside)}
    others = (member for member in pack.cases if member.id not in taken)
    return tuple(sorted(others, key=lambda other: other.ref != case.ref))


def fewest_neighbours(neighbours: Sequence[Case], fails: Fails, runs: int = RUNS) -> tuple[Case, ...]:
    """The fewest neighbours that a case fails beside, after at most ``runs`` runs. The case fails beside all of
    them."""
    search = fewest(tuple(neighbours), runs, GROWTH)
    failed: bool | None = None
    while True:
        try:
            failed = fails(next(search) if failed is None else search.send(failed))
        except StopIteration as end:
            return tuple(end.value)
