"""How an engine's first attempt at a bundle is made to fail. A sentinel is an element that is handled last: it notes
which cases have written state in this attempt, and raises."""

from collections.abc import Iterable

from conformance.model.engine import NotDriven
from conformance.model.runs import Pack
from conformance.model.schedule import FailOnce

SENTINEL = "\U0010ffff"
"""The program name of sentinels: as a key it sorts last."""

INJECTED = "this failure was asked for"


def untouched(pack: Pack, failed: Iterable[Iterable[str]]) -> frozenset[str]:
    """The cases that had written no state in the attempt that failed. ``failed`` holds, for each sentinel that raised,
    the cases that had.

    Raises:
        NotDriven: nothing failed although it was asked for.
    """
    if not any(isinstance(step, FailOnce) for step in pack.timeline):
        return frozenset()
    left = [set(touched) for touched in failed]
    if not left:
        raise NotDriven("an attempt was to fail, and none did")
    return frozenset(case.id for case in pack.cases) - frozenset().union(*left)
