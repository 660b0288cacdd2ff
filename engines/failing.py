"""How a bundle's first attempt is made to fail, on every engine that can: a sentinel is handled last, finds out which cases have
written state in this attempt, and raises."""

from __future__ import annotations

from collections.abc import Iterable

from conformance.engine import NotDriven
from conformance.model import FailOnce, Pack

SENTINEL = "\U0010ffff"
"""The program name of sentinels: as a key it sorts last."""

INJECTED = "this failure was asked for"


def untouched(pack: Pack, failed: Iterable[Iterable[str]]) -> frozenset[str]:
    """The cases that had written no state in the attempt that failed; ``failed`` are those that had, by what each sentinel
    left behind.

    Raises:
        NotDriven: nothing failed although it was asked for.
    """
    if not any(isinstance(step, FailOnce) for step in pack.clock):
        return frozenset()
    left = [set(touched) for touched in failed]
    if not left:
        raise NotDriven("an attempt was to fail, and none did")
    return frozenset(case.id for case in pack.cases) - frozenset().union(*left)
