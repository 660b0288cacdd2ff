"""Several changes of one schedule at once."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from random import Random
from typing import TypeVar

from conformance.model.schedule import Schedule
from conformance.model.values import digest

Change = Callable[[Schedule, Random], Schedule | None]

T = TypeVar("T")


def together(block: Sequence[Change], beside: Sequence[Change] = ()) -> Change:
    """The changes of a block, in order, after one of those ``beside``.

    The source of randomness decides what each change of the block does: cases of one timeline are changed alike. Each schedule chooses for
    itself what is done beside; where that has nothing to change, nothing is. There is no twin where a change of the block has nothing to
    change.
    """

    def change(schedule: Schedule, random: Random) -> Schedule | None:
        steps = [(step, random.random()) for step in block]
        if beside:
            own = Random(f"{random.random()}/{digest(schedule.to_json())}")
            schedule = own.choice(beside)(schedule, own) or schedule
        for step, seed in steps:
            changed = step(schedule, Random(seed))
            if changed is None:
                return None
            schedule = changed
        return schedule

    return change


def some(changes: Sequence[T], random: Random) -> list[T]:
    """Two or more of the changes, but not all, in their order."""
    chosen = random.sample(range(len(changes)), random.randint(2, len(changes) - 1))
    return [changes[place] for place in sorted(chosen)]


def shared_out(changes: Sequence[T], always: T, blocks: int, apart: Collection[T], random: Random) -> list[list[T]]:
    """The changes shared out to some blocks of one size, each with the one that is ``always`` there. Those to keep ``apart`` are in
    different blocks. All are in their order."""
    others = [change for change in changes if change is not always]
    while True:
        random.shuffle(others)
        groups = [{*map(id, others[n::blocks]), id(always)} for n in range(blocks)]
        if all(sum(id(change) in group for change in apart) < 2 for group in groups):
            return [[change for change in changes if id(change) in group] for group in groups]
