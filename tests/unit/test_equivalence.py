"""Which equivalences tell which traces apart."""

import pytest

from conformance.equivalence import IMPLIES, Equivalence, equivalent
from conformance.model import Advance, Deliver, Emission, Schedule, Trace

SCHEDULE = Schedule((Advance(0, 10), Deliver(1), Deliver(2), Advance(3, 20), Deliver(4), Advance(5, 30)))


def _trace(*emissions):
    return Trace.collect(Emission(key, value, step) for key, value, step in emissions)


BASE = _trace(("a", 1, 1), ("a", 2, 1), ("b", 3, 1))


@pytest.mark.parametrize(
    ("other", "alike"),
    [
        (BASE, {"identical", "same sequence", "same multiset", "same final value"}),
        # another bundle between the same advances
        (
            _trace(("a", 1, 1), ("a", 2, 2), ("b", 3, 2)),
            {"identical", "same sequence", "same multiset", "same final value"},
        ),
        # after the next advance
        (_trace(("a", 1, 1), ("a", 2, 4), ("b", 3, 1)), {"same sequence", "same multiset", "same final value"}),
        (_trace(("a", 2, 1), ("a", 1, 1), ("b", 3, 1)), {"same multiset"}),
        (_trace(("a", 9, 1), ("a", 2, 1), ("b", 3, 1)), {"same final value"}),
        (_trace(("a", 2, 1), ("b", 3, 1)), {"same final value"}),
        (_trace(("a", 1, 1), ("a", 2, 1)), set()),
        (_trace(("a", 1, 1), ("a", 2, 1), ("b", True, 1)), set()),
    ],
)
def test_what_each_equivalence_sees(other, alike):
    """Without labels, a relabelling is no more than the same multiset."""
    found = {how for how in Equivalence if equivalent(how, (SCHEDULE, BASE), (SCHEDULE, other))}
    relabelled = Equivalence.SAME_UP_TO_RELABELLING
    assert (relabelled in found) is (Equivalence.SAME_MULTISET in found)
    assert {how.value for how in found - {relabelled}} == alike
    assert all(IMPLIES[how] <= found for how in found)
