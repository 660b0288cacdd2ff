"""Neighbours: the cases that a case needs beside it to fail. The search runs the case's pack with fewer and fewer other
cases."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from conformance.model.case import Case
from conformance.model.runs import Pack

PackOf = Callable[[Case], Pack | None]
"""The pack in which the engine ran this case, whatever the case's origin; None if there was none."""

RUNS = 40
"""Maximum number of runs of a pack for one failing case."""

GROWTH = 4
"""How many times as long each prefix that is tried first is as the one before."""

Fails = Callable[[Sequence[Case]], bool]
"""Whether a case fails beside these cases."""


def neighbours_of(case: Case, pack: Pack, beside: Sequence[Case]) -> tuple[Case, ...]:
    """The other cases of a pack without ``beside``: the cases that run together with ``case`` anyway. In pack order, but
    those of the same program first: they are more likely to be needed."""
    itself = next((member for member in pack.cases if member.digest == case.digest), case)
    taken = {itself.id, case.id, case.digest, *(other.id for other in beside)}
    others = (member for member in pack.cases if member.id not in taken)
    return tuple(sorted(others, key=lambda other: (other.scenario, other.program) != (case.scenario, case.program)))


def fewest(neighbours: Sequence[Case], fails: Fails, runs: int = RUNS) -> tuple[Case, ...]:
    """The fewest neighbours that a case fails beside, after at most ``runs`` runs. The case fails beside all of them.

    Bisection finds one needed neighbour at a time. It searches for the shortest prefix that makes the case fail
    together with the neighbours found so far: the last case of that prefix is needed. Short prefixes are tried first,
    each GROWTH times as long as the one before: a run of few cases is cheap, and often one of the first is enough. If
    the runs are used up first, the case failed beside the returned neighbours, but some of them may not be needed.
    """
    left = runs

    def still(kept: Sequence[Case]) -> bool:
        nonlocal left
        left -= 1
        return fails(kept)

    pool, needed = tuple(neighbours), tuple[Case, ...]()
    while pool and left > 0 and not still(needed):
        too_few, enough = 0, len(pool)
        size = 1
        while size < enough and left > 0:
            if still((*pool[:size], *needed)):
                enough = size
            else:
                too_few, size = size, size * GROWTH
        while enough - too_few > 1 and left > 0:
            middle = (too_few + enough) // 2
            if still((*pool[:middle], *needed)):
                enough = middle
            else:
                too_few = middle
        if enough - too_few > 1:
            return *pool[:enough], *needed
        pool, needed = pool[: enough - 1], (pool[enough - 1], *needed)
    return needed if not pool or left > 0 else (*pool, *needed)
