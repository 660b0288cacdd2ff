"""Packing: cases that share a clock go into one engine run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import zip_longest
from typing import NamedTuple

from conformance.model import Case, Pack
from conformance.perturbation import BY_ID


def packs_of(cases: Iterable[Case], largest: int, waiting: int | None = None, broad: bool = False) -> list[Pack]:
    """Cases with one clock go together, in the order given, at most ``largest`` to a pack, and no more than ``waiting``, if that is given,
    where the clock has waits; a case and its twins on its own clock are not parted, unless they are more than that. A case of a
    sparse perturbation shares its pack with cases of that perturbation and other programs alone.

    ``broad`` takes the programs in turn where a clock has cases for several packs, for an engine that pays for each run more than
    for each program in it: one of the packs then has cases of them all.
    """
    groups: dict[object, list[Case]] = {}
    before: Counter[object] = Counter()
    for case in cases:
        group: object = case.schedule.clock
        if case.perturbation and BY_ID[case.perturbation].sparse:
            mine = (group, case.perturbation, case.scenario, case.program)
            group = (group, case.perturbation, before[mine])
            before[mine] += 1
        groups.setdefault(group, []).append(case)

    def bound(group: list[Case]) -> int:
        return min(largest, waiting) if waiting is not None and group[0].schedule.waits else largest

    return [Pack(tuple(part)) for group in groups.values() for part in _parts(group, bound(group), broad)]


def _parts(group: list[Case], largest: int, broad: bool) -> Iterator[list[Case]]:
    families: dict[str, list[Case]] = {}
    for case in group:
        families.setdefault(case.base or case.id, []).append(case)
    part: list[Case] = []
    for family in _in_turn(families.values()) if broad else families.values():
        if part and len(part) + len(family) > largest:
            yield part
            part = []
        part = [*part, *family]
        while len(part) > largest:
            yield part[:largest]
            part = part[largest:]
    yield part


def _in_turn(families: Iterable[list[Case]]) -> list[list[Case]]:
    """The first family of each program, then the second of each, and so on."""
    by_program: dict[object, list[list[Case]]] = {}
    for family in families:
        by_program.setdefault((family[0].scenario, family[0].program), []).append(family)
    return [family for turn in zip_longest(*by_program.values()) for family in turn if family]


SMALL = 50
"""A pack of so many cases is not made smaller."""


def halves(pack: Pack) -> list[Pack]:
    """The pack in two or three, each with cases of all programs, a case and its twins in one of them; itself where it is small."""
    if len(pack.cases) <= SMALL:
        return [pack]
    return [Pack(tuple(part)) for part in _parts(list(pack.cases), -(-len(pack.cases) // 2), broad=True)]


Asked = frozenset[tuple[str, str, str]]
"""(scenario, program, perturbation) that packs have cases of."""


def chosen(packs: list[Pack], most: int, guarantees: Iterable[Asked] = ()) -> list[Pack]:
    """At most ``most`` of the packs, for an engine that is slow: first those that ask for the most guarantees that none of them asks
    for yet (each given as what asks for it, any of it), then those that bring the most pairs of a program and a perturbation, then
    those with the most cases, for each step that they take. A twin whose base is in none of them is left out of its pack."""
    home = {case.id: number for number, pack in enumerate(packs) for case in pack.cases}
    parts = [_by_base(pack, home) for pack in packs]
    unasked = list(guarantees)
    kept: frozenset[int] = frozenset()
    while offers := {
        kept | new for number in range(len(packs)) if number not in kept for new in _offers(number, parts)
    }:
        had = _content(kept, parts)
        unasked = [guarantee for guarantee in unasked if not guarantee & had.asked]
        worth = {}
        for offer in offers:
            if len(offer) <= most and (content := _content(offer, parts)).cases > had.cases:
                gains = (
                    sum(bool(g & content.asked) for g in unasked),
                    len(content.asked - had.asked),
                    content.cases - had.cases,
                )
                steps = sum(len(packs[n].clock) for n in offer - kept)
                worth[offer] = gains[0] / (len(offer) - len(kept)), gains[1] / steps, gains[2] / steps
        if not worth:
            break
        kept = max(worth, key=lambda offer: (worth[offer], -min(offer - kept)))
    return [
        Pack(tuple(case for case in packs[number].cases if home[case.base or case.id] in kept))
        for number in sorted(kept)
    ]


class _Content(NamedTuple):
    """What some packs ask, and how many cases they have."""

    asked: Asked
    cases: int


def _by_base(pack: Pack, home: Mapping[str, int]) -> dict[int, _Content]:
    """The cases of a pack by the pack that they need: that of their base, or, as drawn, their own."""
    found: dict[int, list[Case]] = {}
    for case in pack.cases:
        found.setdefault(home[case.base or case.id], []).append(case)
    return {
        needed: _Content(frozenset((c.scenario, c.program, c.perturbation) for c in cases), len(cases))
        for needed, cases in found.items()
    }


def _offers(number: int, parts: list[dict[int, _Content]]) -> Iterator[frozenset[int]]:
    """A pack by itself, with one of the packs that it needs, and with all of them."""
    yield frozenset({number})
    yield from (frozenset({number, needed}) for needed in parts[number])
    yield frozenset({number, *parts[number]})


def _content(kept: Collection[int], parts: list[dict[int, _Content]]) -> _Content:
    """What these packs ask without the twins that need another one."""
    there = [content for number in kept for needed, content in parts[number].items() if needed in kept]
    return _Content(Asked().union(*(c.asked for c in there)), sum(c.cases for c in there))
