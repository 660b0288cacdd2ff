"""Combined calls with a TTL: any calls on cells of which some forget, in any combination.

A quick run leaves out scenarios that wait for processing time. So this one stands apart from ``combined_calls``.
"""

from __future__ import annotations

from typing import ClassVar

from conformance.model.equivalence import Equivalence
from conformance.model.perturbation import INTERLEAVE, RECOVERIES, RENAME
from conformance.model.program import Cell
from conformance.model.scenario import Scenario, promise
from conformance.scenarios.calls.combined_calls import OF_CELLS, Asked, CombinedCalls, domain, guarantees, reads
from conformance.scenarios.calls.plain import plain
from conformance.scenarios.state.state_ttl import EACH, EVICTED, TTL

LONGER = 22_000
"""A TTL (ms) that two waits do not reach, and three do."""


class CallsWithTtl(CombinedCalls):
    """What is written lives for a time in some cells, and for ever in others."""

    cells: ClassVar = {
        "value_a": Cell.VALUE,
        "value_b": Cell.VALUE,
        "bag_a": Cell.BAG,
        "bag_b": Cell.BAG,
        "map_a": Cell.MAP,
        "map_b": Cell.MAP,
        "map_c": Cell.MAP,
    }
    ttl: ClassVar = {"value_a": TTL, "bag_a": TTL, "map_a": TTL, "map_c": LONGER}
    timers = ()
    says = ""
    timer_chain = 0


CALLS = CallsWithTtl()

LAWS = (
    *OF_CELLS,
    Asked("what was written less than its TTL ago is read", reads(lambda read: read.renewed), EACH),
    Asked("what was written longer ago than its TTL is not read", reads(lambda read: read.expired), EVICTED),
)

SCENARIO = Scenario(
    plain=plain,
    name="combined calls with a TTL",
    summary="Do calls on cells with and without a TTL, in any combination, for every element, "
    "and emit what each read gave.",
    programs={"calls": CALLS},
    domain={"calls": domain(CALLS, 3, events=6)},
    stable_under={"calls": promise((INTERLEAVE, *RECOVERIES, RENAME), Equivalence.IDENTICAL)},
    complete=False,
    guarantees=tuple(guarantees("calls", CALLS, LAWS)),
)
