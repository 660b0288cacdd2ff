"""What the native operators of Spark and of Beam have in common: how they learn the sizes that their programs go by,
and what their output says nothing of."""

from conformance.model.program import FixedWindows, Program

FORGETS_SILENTLY = {
    "state-for-an-old-id-goes-away-when-its-horizon-has-passed": "nothing comes out when it forgets an id"
}
"""A guarantee (id) -> why the output of an operator that drops duplicates says nothing of it."""

NO_TIMERS = {"a-timer-that-was-cleared-does-not-fire": "it has no timers to see"}
"""A guarantee (id) -> why the output of an operator that makes sessions says nothing of it."""


def windows_of(program: Program) -> FixedWindows:
    """The windows of a program that counts or gathers in fixed windows."""
    assert isinstance(program.windowing, FixedWindows)
    return program.windowing
