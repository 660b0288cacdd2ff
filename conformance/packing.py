"""Packing: cases that share a clock go into one engine run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from conformance.model import Case, Pack
from conformance.perturbation import BY_ID


def packs_of(cases: Iterable[Case], largest: int) -> list[Pack]:
    """Cases with one clock go together, in the order given, at most ``largest`` to a pack; a case and its twins on its own clock are
    not parted, unless they are more than that. A case of a sparse perturbation shares its pack with cases of that perturbation and
    other programs alone."""
    groups: dict[object, list[Case]] = {}
    before: Counter[object] = Counter()
    for case in cases:
        group: object = case.schedule.clock
        if case.perturbation and BY_ID[case.perturbation].sparse:
            mine = (group, case.perturbation, case.scenario, case.program)
            group = (group, case.perturbation, before[mine])
            before[mine] += 1
        groups.setdefault(group, []).append(case)
    return [Pack(tuple(part)) for group in groups.values() for part in _parts(group, largest)]


def _parts(group: list[Case], largest: int) -> Iterator[list[Case]]:
    families: dict[str, list[Case]] = {}
    for case in group:
        families.setdefault(case.base or case.id, []).append(case)
    part: list[Case] = []
    for family in families.values():
        if part and len(part) + len(family) > largest:
            yield part
            part = []
        part = [*part, *family]
        while len(part) > largest:
            yield part[:largest]
            part = part[largest:]
    yield part


Asked = frozenset[tuple[str, str, str]]
"""(scenario, program, perturbation) that packs have cases of."""


def chosen(packs: list[Pack], most: int, guarantees: Iterable[Asked] = ()) -> list[Pack]:
    """At most ``most`` of the packs, for an engine that is slow: first those that ask for the most guarantees that none of them asks
    for yet (each given as what asks for it, any of it), then those that bring the most pairs of a program and a perturbation, then
    those with the most cases. A twin's pack brings along its base's."""
    where = {case.id: number for number, pack in enumerate(packs) for case in pack.cases}
    needs = [_closure({number}, packs, where) for number in range(len(packs))]
    asks = [frozenset((c.scenario, c.program, c.perturbation) for c in pack.cases) for pack in packs]
    unasked = list(guarantees)
    kept: set[int] = set()
    while offers := {new for needed in needs if (new := frozenset(needed - kept)) and len(kept | new) <= most}:
        seen = _union(asks, kept)
        unasked = [guarantee for guarantee in unasked if not guarantee & seen]
        worth = {new: _worth(new, packs, _union(asks, new) - seen, unasked) for new in offers}
        best = max(worth, key=lambda new: (worth[new], -min(new)))
        kept |= best
    return [packs[number] for number in sorted(kept)]


def _closure(wanted: set[int], packs: list[Pack], where: Mapping[str, int]) -> set[int]:
    """These packs, with those of the cases that theirs are twins of, and so on."""
    more = {where[case.base] for number in wanted for case in packs[number].cases if case.base} - wanted
    return _closure(wanted | more, packs, where) if more else wanted


def _worth(new: frozenset[int], packs: list[Pack], brings: Asked, unasked: list[Asked]) -> tuple[float, ...]:
    """Of each pack, for the price of it."""
    gains = sum(bool(guarantee & brings) for guarantee in unasked), len(brings), sum(len(packs[n].cases) for n in new)
    return tuple(gain / len(new) for gain in gains)


def _union(asks: list[Asked], numbers: Iterable[int]) -> Asked:
    return frozenset().union(*(asks[number] for number in numbers))
