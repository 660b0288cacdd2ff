"""Packing: cases with one timeline share an engine run."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import count
from typing import TypeVar

from conformance.model.case import Case
from conformance.model.plan import is_sparse
from conformance.model.runs import Pack
from conformance.support.grouping import grouped

T = TypeVar("T")


def packs_of(cases: Iterable[Case], largest: int, waiting: int | None = None, broad: bool = False) -> list[Pack]:
    """Put cases with one timeline into packs, in the order given.

    A case of a sparse perturbation shares its pack only with cases of sparse perturbations and of other programs.

    Args:
        largest: the most cases in a pack. A case and its twins on its timeline stay together, unless they are more than
            that.
        waiting: the most cases in a pack whose timeline has waits, if given.
        broad: whether programs take turns where a timeline fills several packs. One of the packs then has cases of all
            programs. This suits an engine for which a run costs more than the programs in it.
    """
    groups: dict[object, list[Case]] = {}
    before: Counter[object] = Counter()
    for case in cases:
        group: object = case.schedule.timeline
        if is_sparse(case.perturbation):
            mine = (group, case.scenario, case.program)
            group = (group, before[mine])
            before[mine] += 1
        groups.setdefault(group, []).append(case)

    def bound(group: list[Case]) -> int:
        return min(largest, waiting) if waiting is not None and group[0].schedule.waits else largest

    return [Pack(tuple(part)) for group in groups.values() for part in _parts(group, bound(group), broad)]


def _parts(group: list[Case], largest: int, broad: bool) -> Iterator[list[Case]]:
    families = grouped((case.base or case.id, case) for case in group)
    part: list[Case] = []
    for family in _of_programs_in_turn(families.values()) if broad else families.values():
        if part and len(part) + len(family) > largest:
            yield part
            part = []
        part = [*part, *family]
        while len(part) > largest:
            yield part[:largest]
            part = part[largest:]
    yield part


def _of_programs_in_turn(families: Iterable[list[Case]]) -> list[list[Case]]:
    """The first family of each program, then the second of each, and so on."""
    by_program = grouped(((family[0].scenario, family[0].program), family) for family in families)
    return [*in_turn(by_program.values())]


def in_turn(lists: Iterable[list[T]]) -> Iterator[T]:
    """The first item of each list, then the second of each, and so on. A list that has no more items takes no turn."""
    left = [*lists]
    for turn in count():
        left = [items for items in left if len(items) > turn]
        if not left:
            return
        yield from (items[turn] for items in left)


Parts = Callable[[Pack], Sequence[Pack]]
"""What a pack falls into where it fails as a whole."""


def whole(pack: Pack) -> Sequence[Pack]:
    """A pack does not fall into parts."""
    return (pack,)


SMALL = 50
"""A pack with no more cases than this is not split."""


def halves(pack: Pack) -> list[Pack]:
    """A pack split in two or three, or whole if it is small. Each part has cases of all programs. A case and its twins
    stay together."""
    if len(pack.cases) <= SMALL:
        return [pack]
    return [Pack(tuple(part)) for part in _parts(list(pack.cases), -(-len(pack.cases) // 2), broad=True)]
