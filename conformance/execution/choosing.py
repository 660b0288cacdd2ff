"""Choosing: which packs of a batch, and which of their cases, a slow engine runs within its budget.

A greedy cover. What counts are the distinct cases of each guarantee, under each perturbation by itself and on distinct timelines, up to
the budget's targets. The pack (with the packs of its twins' bases) that brings most for its expected seconds is next. First come packs on
timelines where several things befall a job, or a rare one does (a failure or restart before anything else, one partition, an advance that
settles without data, times far in the future), one for each set of them: they are dear, and nothing else shows what these do. A part of a
budget goes to packs for guarantees that no pack asks yet before all of these. At the end comes one of the perturbations that the budget
leaves out, another one for another engine or with other cases.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cached_property
from math import inf

from conformance.execution.packing import in_turn
from conformance.model.case import Case
from conformance.model.engine import Budget
from conformance.model.runs import Pack
from conformance.model.schedule import Advance, Deliver, FailOnce, NoData, Partitions, Restart
from conformance.model.values import digest

Tested = Callable[[list[Case]], list[frozenset[str]]]
"""Cases -> for each, the guarantees (ids) of its program that it puts to the test."""

Aim = tuple[str, str, str]
"""(scenario, guarantee, perturbation), or one of these kinds in the perturbation's place; (scenario, what befalls a job, BEFALLEN)."""

TOTAL, CLOCKS, BEFALLEN = "total", "clocks", "befallen"

FAR = 2**31 * 1000
"""Times (ms) from here on do not fit in 31 bits of seconds."""

MANY_RESTARTS = 3
"""So many restarts are a rare thing, where nothing else befalls the job."""

TOGETHER = 1 / 2
"""The part of a budget that packs on timelines on which several things befall a job may take before all others. The packs of their bases
do not count: they bring something by themselves."""

SEVERAL_CLOCKS = 4
"""The number of timelines on which a guarantee is to be put to the test."""


Promised = Mapping[tuple[str, str], Collection[str]]
"""(scenario, guarantee) -> the perturbations (ids, "" for cases as drawn) under which the guarantee is to be put to the test."""


def chosen(
    packs: list[Pack],
    budget: Budget,
    tested: Tested,
    promised: Promised,
    share: float = 1.0,
    whole: bool = False,
    engine: str = "",
) -> list[Pack]:
    """The packs that an engine runs, in the order of ``packs``, each with the cases that the engine runs of it.

    A twin is left out where its base is. If the cases exceed the budget, those that serve no target come last. At least one pack is run.

    Args:
        share: fraction of the budget's seconds.
        whole: put each guarantee to the test that some pack puts to the test, whatever that takes; and of the perturbations that the
            budget leaves out, one. Which one depends on the cases and on ``engine``, so that runs and engines share them out.
        engine: what tells the engine from others.
    """
    if budget.seconds == inf:
        return packs
    found, kept = _Content(packs, budget, tested, promised), set[int]()
    if share < 1:
        _complete(packs, budget, found, kept, budget.seconds * share)
    _cover(packs, budget, found, budget.seconds * share, kept)
    if whole:
        _complete(packs, budget, found, kept)
    extra = _one_more(packs, budget, found, kept, engine) if whole else 0.0
    there = [
        Pack(tuple(case for case in packs[number].cases if found.home[case.base or case.id] in kept))
        for number in sorted(kept)
    ]
    left = budget.seconds * share + extra - sum(cost_of(pack, budget) for pack in there)
    return _thinned(there, budget, found, int(left / budget.case) if budget.case else len(found.home))


def cost_of(pack: Pack, budget: Budget) -> float:
    """The expected seconds of a pack without its cases. A query of its own begins at each restart. While a pack waits, others run."""
    steps = pack.timeline
    return (
        budget.pack
        + budget.step * len(steps)
        + budget.pack * sum(step.circumstance in ("restart", "job resumed") for step in steps)
    )


class _Content:
    """What the cases of packs put to the test, by pack and by the pack of their bases.

    Attributes:
        home: case (id) -> the number of its pack.
        befallen: for each pack, what befalls a job in it.
        parts: for each pack, the pack that its cases need -> how many of them serve each aim.
        least: aim -> the number of cases from which on more bring nothing.
    """

    def __init__(self, packs: list[Pack], budget: Budget, tested: Tested, promised: Promised) -> None:
        self.befallen = [befallen(pack) for pack in packs]
        self.home = {case.id: number for number, pack in enumerate(packs) for case in pack.cases}
        cases = [case for pack in packs for case in pack.cases]
        self._tested = dict(zip((case.id for case in cases), tested(cases), strict=True))
        self._budget, self._promised = budget, promised
        self.parts: list[dict[int, Counter[Aim]]] = []
        for pack in packs:
            found: dict[int, Counter[Aim]] = {}
            for case in pack.cases:
                found.setdefault(self.home.get(case.base or case.id, -1), Counter()).update(self.aims(case))
            for counts in found.values():
                counts.update({(s, g, CLOCKS): 1 for s, g, about in list(counts) if about == TOTAL})
            self.parts.append(found)

    def aims(self, case: Case) -> Iterator[Aim]:
        for guarantee in self._tested[case.id]:
            yield case.scenario, guarantee, case.perturbation
            yield case.scenario, guarantee, TOTAL
        if self._tested[case.id] and (several := self.befallen[self.home[case.id]]):
            yield case.scenario, " ".join(several), BEFALLEN

    def least(self, aim: Aim) -> int:
        about = aim[2]
        if about == TOTAL:
            return self._budget.cases
        if about == CLOCKS:
            return SEVERAL_CLOCKS
        if about == BEFALLEN:
            return self._budget.each
        return self._budget.each if about in self._promised.get((aim[0], aim[1]), ()) else 1

    @cached_property
    def offers(self) -> frozenset[frozenset[int]]:
        """What may be kept together: see ``_offers``."""
        return frozenset(offer for number in range(len(self.parts)) for offer in _offers(number, self.parts))

    def promises(self, perturbation: str) -> bool:
        """Whether some guarantee promises to hold under a perturbation."""
        return any(perturbation in mine for mine in self._promised.values())

    def leans(self, offer: Collection[int], new: Collection[int]) -> bool:
        """Whether an offer has one of the new packs, or twins of their cases."""
        return any(number in new or not self.parts[number].keys().isdisjoint(new) for number in offer)

    def of(self, offer: Collection[int], kept: Collection[int]) -> Counter[Aim]:
        """What an offer brings beside the packs that are kept."""
        both = {*offer, *kept}
        brought: Counter[Aim] = Counter()
        for number in both:
            for needed, counts in self.parts[number].items():
                if needed in both and not (number in kept and needed in kept):
                    brought.update(counts)
        return brought


def _cover(packs: list[Pack], budget: Budget, found: _Content, seconds: float, kept: set[int]) -> None:
    """Adds the packs that bring most for their seconds, one if nothing else is kept."""
    have = found.of(kept, ())
    spent = sum(cost_of(packs[number], budget) for number in kept)
    late: list[tuple[float, tuple[int, ...]]] = []

    def keep(offer: frozenset[int], cost: float) -> None:
        nonlocal spent
        have.update(found.of(offer, kept))
        kept.update(offer)
        spent += cost

    def worth(offer: frozenset[int]) -> tuple[float, float]:
        """(gain per second, seconds)."""
        new = offer - kept
        cost = sum(cost_of(packs[number], budget) for number in new)
        gain = sum(
            _value(have[aim] + more, found.least(aim)) - _value(have[aim], found.least(aim))
            for aim, more in found.of(new, kept).items()
        )
        return gain / max(cost, 1e-9), cost

    left = seconds * TOGETHER
    for several in _together(packs, found.befallen, budget):
        fits = [number for number in several if cost_of(packs[number], budget) <= left]
        offers = sorted({offer for number in fits for offer in _offers(number, found.parts)}, key=sorted)
        if offers and kept.isdisjoint(several):
            best = max(offers, key=worth)
            gain, cost = worth(best)
            if gain > 0 and spent + cost <= seconds:
                left -= max(cost_of(packs[number], budget) for number in best & {*several})
                keep(best, cost)
    # What an offer brings only falls while packs are kept, except where one of them holds the bases of twins in it, or is in it.
    queue: list[tuple[float, tuple[int, ...]]] = [
        (-inf, offer) for offer in {tuple(sorted(offer)) for offer in found.offers}
    ]
    heapq.heapify(queue)
    while queue:
        _, numbers = heapq.heappop(queue)
        offer = frozenset(numbers)
        if offer <= kept:
            continue
        gain, cost = worth(offer)
        if queue and -gain > queue[0][0]:
            heapq.heappush(queue, (-gain, numbers))
        elif gain > 0 and (not kept or spent + cost <= seconds):
            new = offer - kept
            keep(offer, cost)
            queue = [(-inf if found.leans(other, new) else bound, other) for bound, other in (*queue, *late)]
            late = []
            heapq.heapify(queue)
        elif gain <= 0:
            late.append((0.0, numbers))
    if packs and not kept:
        kept.add(0)


def _together(packs: Sequence[Pack], befallen: Sequence[tuple[str, ...]], budget: Budget) -> list[list[int]]:
    """For each set of things that befall a job together, the packs (numbers) in which they do. The set with the dearest packs comes first:
    what it leaves takes cheaper ones."""
    found: dict[tuple[str, ...], list[int]] = {}
    for number, several in enumerate(befallen):
        if several:
            found.setdefault(several, []).append(number)
    least = {several: min(cost_of(packs[number], budget) for number in found[several]) for several in found}
    return [found[several] for several in sorted(found, key=lambda several: (-least[several], several))]


def befallen(pack: Pack) -> tuple[str, ...]:
    """What befalls a job on the timeline of a pack; () if that is one thing alone, and a common one."""
    several, rare = set[str](), set[str]()
    begun = started = False
    restarts = 0
    for step in pack.timeline:
        restarts += isinstance(step, Restart)
        started = started or (isinstance(step, Deliver) and step.initial)
        begun = begun or (isinstance(step, Deliver) and not step.initial)
        if step.circumstance:
            several.add(step.circumstance)
            rare |= {step.circumstance} if isinstance(step, NoData) else set()
            if not begun and isinstance(step, FailOnce | Restart):
                rare.add(f"{step.circumstance} in the beginning")
                rare |= {"a restart with initial state"} if started and isinstance(step, Restart) else set()
        if isinstance(step, Partitions) and step.count == 1:
            rare.add("one partition")
        if isinstance(step, Advance) and step.watermark >= FAR:
            rare.add("times past 2**31 s")
    if restarts >= MANY_RESTARTS and len(several) == 1:
        rare.add("many restarts")
    return tuple(sorted(several | rare)) if rare or len(several) > 1 else ()


def _complete(packs: list[Pack], budget: Budget, found: _Content, kept: set[int], seconds: float = inf) -> None:
    """Adds the packs for guarantees that no pack in ``kept`` puts to the test: the one that serves most of them for its seconds first, as
    long as the ``seconds`` last."""
    every = {aim for part in found.parts for counts in part.values() for aim in counts if aim[2] == TOTAL}
    lacking = every - found.of(kept, ()).keys()
    while lacking:
        worth: list[tuple[float, list[int], float, set[Aim]]] = []
        for offer in found.offers:
            new = offer - kept
            cost = sum(cost_of(packs[n], budget) for n in new)
            if cost <= seconds and (serves := lacking & found.of(new, kept).keys()):
                worth.append((-len(serves) / cost, sorted(new), cost, serves))
        if not worth:
            return
        _, best, cost, served = min(worth, key=lambda one: one[:2])
        seconds -= cost
        kept |= set(best)
        lacking -= served


def _one_more(packs: list[Pack], budget: Budget, found: _Content, kept: set[int], engine: str) -> float:
    """Adds the packs that put most guarantees, for their seconds, to the test under a promised perturbation that no kept pack has. Returns
    the seconds."""
    there = {about for _, _, about in found.of(kept, ())}
    offers = sorted((offer for offer in found.offers if not offer <= kept), key=sorted)
    more = {offer: found.of(offer - kept, kept).keys() for offer in offers}
    lacking = {about for aims in more.values() for *_, about in aims if found.promises(about)} - there
    if not lacking:
        return 0.0
    one = min(lacking, key=lambda about: digest([about, engine, packs[0].cases[0].digest]))

    def seconds(offer: frozenset[int]) -> float:
        return sum(cost_of(packs[number], budget) for number in offer - kept)

    def served(offer: frozenset[int]) -> float:
        return sum(about == one for *_, about in more[offer]) / max(seconds(offer), 1e-9)

    best = max(more, key=served)
    extra = seconds(best)
    kept.update(best)
    return extra


def _value(number: int, least: int) -> float:
    """What cases are worth: the first one as much as all others up to the target together."""
    return (1.0 if number else 0.0) + min(number, least) / least


def _offers(number: int, parts: list[dict[int, Counter[Aim]]]) -> Iterator[frozenset[int]]:
    """A pack by itself, the pack with each one of the packs that it needs, and the pack with all of them."""
    needed = {n for n in parts[number] if n >= 0}
    yield frozenset({number})
    yield from (frozenset({number, n}) for n in needed)
    yield frozenset({number, *needed})


def _thinned(packs: list[Pack], budget: Budget, found: _Content, room: int) -> list[Pack]:
    """The packs with no more than ``room`` cases, but with all that serve a target that those before them do not meet. Packs and programs
    take turns."""
    if sum(len(pack.cases) for pack in packs) <= room:
        return packs
    families: list[dict[tuple[str, str], list[list[Case]]]] = []
    for pack in packs:
        of_pack: dict[str, list[Case]] = {}
        for case in pack.cases:
            of_pack.setdefault(case.base or case.id, []).append(case)
        by_program: dict[tuple[str, str], list[list[Case]]] = {}
        for family in of_pack.values():
            by_program.setdefault((family[0].scenario, family[0].program), []).append(family)
        families.append(by_program)
    every = (mine for by_program in families for mine in by_program.values())
    cases = [case for family in in_turn(every) for case in family]
    by_id = {case.id: case for case in cases}
    have: Counter[Aim] = Counter()
    kept: dict[str, None] = {}

    def keep(case: Case) -> None:
        for member in (by_id[case.base or case.id], case):
            if member.id not in kept:
                kept[member.id] = None
                have.update(found.aims(member))

    for case in cases:
        if any(have[aim] < found.least(aim) for aim in found.aims(case)):
            keep(case)
    for case in cases:
        if len(kept) >= room:
            break
        keep(case)
    return [Pack(mine) for pack in packs if (mine := tuple(case for case in pack.cases if case.id in kept))]
