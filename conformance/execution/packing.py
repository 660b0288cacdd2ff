"""Packing: cases with one timeline share an engine run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import zip_longest
from typing import NamedTuple

from conformance.model.case import Case
from conformance.model.perturbation import BY_ID
from conformance.model.runs import Pack


def packs_of(cases: Iterable[Case], largest: int, waiting: int | None = None, broad: bool = False) -> list[Pack]:
    """Put cases with one timeline into packs, in the order given.

    A case of a sparse perturbation shares its pack only with cases of that perturbation and of other programs.

    Args:
        largest: the most cases in a pack. A case and its twins on its timeline stay together, unless they are more than that.
        waiting: the most cases in a pack whose timeline has waits, if given.
        broad: whether programs take turns where a timeline fills several packs. One of the packs then has cases of all programs. This
            suits an engine for which a run costs more than the programs in it.
    """
    groups: dict[object, list[Case]] = {}
    before: Counter[object] = Counter()
    for case in cases:
        group: object = case.schedule.timeline
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
"""A pack with no more cases than this is not split."""


def halves(pack: Pack) -> list[Pack]:
    """A pack split in two or three, or whole if it is small. Each part has cases of all programs. A case and its twins stay together."""
    if len(pack.cases) <= SMALL:
        return [pack]
    return [Pack(tuple(part)) for part in _parts(list(pack.cases), -(-len(pack.cases) // 2), broad=True)]


Asked = frozenset[tuple[str, str, str]]
"""The (scenario, program, perturbation) of cases."""


def chosen(packs: list[Pack], most: int, guarantees: Iterable[Asked] = ()) -> list[Pack]:
    """At most ``most`` of the packs, for a slow engine.

    Prefer packs that cover a guarantee that no chosen pack covers. Then prefer packs with the most new pairs of a program and a
    perturbation per step, then with the most cases per step. Leave out a twin whose base is in no chosen pack.

    Args:
        guarantees: for each guarantee, under one perturbation if it is a relation, the (scenario, program, perturbation) any of
            which covers it.
    """
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
                steps = sum(len(packs[n].timeline) for n in offer - kept)
                worth[offer] = gains[0] / (len(offer) - len(kept)), gains[1] / steps, gains[2] / steps
        if not worth:
            break
        kept = max(worth, key=lambda offer: (worth[offer], -min(offer - kept)))
    return [
        Pack(tuple(case for case in packs[number].cases if home[case.base or case.id] in kept))
        for number in sorted(kept)
    ]


class _Content(NamedTuple):
    """The perturbed programs of some packs, and the number of cases."""

    asked: Asked
    cases: int


def _by_base(pack: Pack, home: Mapping[str, int]) -> dict[int, _Content]:
    """The content of a pack by the pack that its cases need. A twin needs the pack of its base. A case as drawn needs its own pack."""
    found: dict[int, list[Case]] = {}
    for case in pack.cases:
        found.setdefault(home[case.base or case.id], []).append(case)
    return {
        needed: _Content(frozenset((c.scenario, c.program, c.perturbation) for c in cases), len(cases))
        for needed, cases in found.items()
    }


def _offers(number: int, parts: list[dict[int, _Content]]) -> Iterator[frozenset[int]]:
    """A pack by itself, the pack with each one of the packs that it needs, and the pack with all of them."""
    yield frozenset({number})
    yield from (frozenset({number, needed}) for needed in parts[number])
    yield frozenset({number, *parts[number]})


def _content(kept: Collection[int], parts: list[dict[int, _Content]]) -> _Content:
    """The content of these packs, without twins that need another pack."""
    there = [content for number in kept for needed, content in parts[number].items() if needed in kept]
    return _Content(Asked().union(*(c.asked for c in there)), sum(c.cases for c in there))
