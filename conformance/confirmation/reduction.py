"""Batched reduction: all failing cases of an engine are simplified in parallel, with many candidates in one engine run.

Every round tries candidates of all targets in one pack per timeline. The simplest candidate that still fails becomes
the next subject. Candidates come in this order: subsets of the elements, then simpler times, keys, values and bundles,
in all combinations while these are few. The result is minimal under the edits that were tried. Edits of the timeline
follow in runs of a case alone (see ``confirmation``).
"""

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from conformance.model.case import Case
from conformance.model.program import Program
from conformance.model.scenario import Guarantee
from conformance.model.schedule import Advance, Arrival, Deliver, Event, Plan, Schedule, Step, Wait, renumbered
from conformance.model.trace import Trace
from conformance.model.values import Json

ROUNDS = 12
"""Maximum number of packed rounds in the reduction of one engine."""

CANDIDATES = 80
"""Maximum number of candidates of one target in a round."""

FEW = 3
"""With at most this many elements, all combinations of simpler times, keys, values and bundles are candidates."""


@dataclass(frozen=True)
class Subject:
    """A failing case. ``base`` is the case to compare it with, if any. For a relation, ``base`` is the case that the
    failing case is a twin of. For a failure that needs a perturbation such as a restart, ``base`` is the case without
    the perturbation."""

    case: Case
    base: Case | None = None

    @property
    def cases(self) -> list[Case]:
        return [self.base, self.case] if self.base else [self.case]


@dataclass
class Target:
    """One guarantee that needs a small witness, and the state of its reduction.

    Attributes:
        fails: whether a subject fails, by the traces of its cases.
        simplest: the simplest event value of the program's domain.
        simpler: gives simpler event values for one, where the domain knows more than the simplest.
        tried: the kinds of edit that were tried.
        seen: what the subject gave in the last pack that it failed in.
        minimal: whether no candidate that was tried is simpler and fails.
        begun: the subject before it was reduced.
    """

    program: Program
    guarantee: Guarantee
    subject: Subject
    fails: Callable[[Subject, Mapping[str, Trace]], bool]
    simplest: Json = None
    simpler: Callable[[Json], Iterable[Json]] = lambda value: ()
    tried: set[str] = field(default_factory=set)
    candidates: int = 0
    rounds: int = 0
    minimal: bool = False
    seen: Trace | None = None
    begun: Subject = field(init=False)

    def __post_init__(self) -> None:
        self.begun = self.subject

    def to_json(self) -> Json:
        return {
            "rounds": self.rounds,
            "candidates": self.candidates,
            "elements_before": len(self.begun.case.schedule.arrivals),
            "tried": sorted(self.tried),
            "minimal_under_these": self.minimal,
        }


RunCases = Callable[[list[Case]], Mapping[str, Trace]]
"""Runs cases, those of one timeline together. A case without an answer from the engine has no trace."""


def reduce(targets: list[Target], run: RunCases, candidates: int = CANDIDATES) -> int:
    """Reduces all targets in place and returns the number of rounds. ``candidates`` is the maximum for a target in a
    round."""
    open_targets = list(targets)
    for number in range(ROUNDS):
        if not open_targets:
            return number
        offered = {id(target): _offer(target, candidates) for target in open_targets}
        unique = {case.id: case for found in offered.values() for _, subject in found for case in subject.cases}
        traces = run(list(unique.values()))
        going_on = []
        for target in open_targets:
            found = offered[id(target)]
            target.tried |= {kind for kind, _ in found if kind}
            target.candidates += len(found)
            target.rounds += 1
            failing = [s for _, s in found if all(c.id in traces for c in s.cases) and target.fails(s, traces)]
            if not failing:
                continue  # the subject itself does not fail here
            best = min(failing, key=lambda subject: simplicity(subject.case, target.simplest))
            target.seen = traces[best.case.id]
            if best == target.subject:
                target.minimal = True
            else:
                target.subject = best
                going_on.append(target)
        open_targets = going_on
    return ROUNDS


def _offer(target: Target, candidates: int) -> list[tuple[str, Subject]]:
    """The subject itself (of kind "") and its simplest candidates."""
    limit = simplicity(target.subject.case, target.simplest)
    found: dict[str, tuple[str, Subject]] = {}
    for kind, subject in _candidates(target.subject, target.simplest, target.simpler):
        known = all(target.program.has_key(arrival.event.key) for arrival in subject.case.schedule.arrivals)
        if known and simplicity(subject.case, target.simplest) < limit:
            found.setdefault(subject.case.id, (kind, subject))
    simplest_first = sorted(found.values(), key=lambda offer: simplicity(offer[1].case, target.simplest))
    return [("", target.subject), *simplest_first[:candidates]]


def simplicity(case: Case, simplest: Json = None) -> tuple[int, int, int, int, int, int, int, str]:
    """The sort key of a case, smaller for a simpler case: elements, bundles in use, keys, the length of their names,
    values other than the simplest, distances (ms) from the watermark, how late in the schedule, and the digest for a
    total order."""
    arrivals = case.schedule.arrivals
    return (
        len(arrivals),
        len({a.step for a in arrivals}),
        len({a.event.key for a in arrivals}),
        sum(len(a.event.key) for a in arrivals),
        sum(_size(a.event.value, simplest) for a in arrivals),
        sum(abs(a.event.event_time - a.watermark) for a in arrivals),
        sum(a.step for a in arrivals),
        case.digest,
    )


def _size(value: Json, simplest: Json) -> int:
    """How much a value says that the simplest one does not."""
    if value == simplest:
        return 0
    return 1 + len(value) if isinstance(value, str) else 1


@dataclass(frozen=True)
class _Edit:
    """An edit of the elements of a case. The twin gets the same edit."""

    keep: frozenset[str]
    later: Mapping[str, int] = field(default_factory=dict)
    keys: Mapping[str, str] = field(default_factory=dict)
    value: tuple[Json, ...] = ()
    values: Mapping[str, Json] = field(default_factory=dict)

    def of(self, case: Case) -> Case:
        def changed(event: Event) -> Event:
            value = self.value[0] if self.value else self.values.get(_origin(event.id), event.value)
            later = self.later.get(_origin(event.id), 0)
            key = self.keys.get(event.key, event.key)
            return replace(event, value=value, key=key, event_time=max(event.event_time + later, 0))

        def kept(event: Event) -> bool:
            return _origin(event.id) in self.keep or _origin(event.id).startswith("unrelated")

        bundles = {b.id: [changed(e) for e in b.events if kept(e)] for b in case.schedule.bundles}
        return replace(case, schedule=case.schedule.with_bundles(bundles))


def _origin(event_id: str) -> str:
    """The element whose second delivery this element is, or the element itself."""
    return event_id.partition(".")[0]


def _edited(subject: Subject, edit: _Edit) -> Subject:
    if not subject.base:
        return Subject(edit.of(subject.case))
    base = edit.of(subject.base)
    return Subject(replace(edit.of(subject.case), base=base.id), base)


def _candidates(
    subject: Subject, simplest: Json, simpler: Callable[[Json], Iterable[Json]]
) -> Iterator[tuple[str, Subject]]:
    """(kind of edit, subject). Most candidates are simpler, but some may not be."""
    arrivals = (subject.base or subject.case).schedule.arrivals
    ids = [arrival.event.id for arrival in arrivals]
    everything = frozenset(ids)
    for size in (*range(1, min(FEW, len(ids) - 1) + 1), len(ids) - 1):
        for kept in itertools.combinations(ids, size):
            if kept:
                yield "drop elements", _edited(subject, _Edit(frozenset(kept)))
    few = len(ids) <= FEW
    for later in _simpler_times(arrivals, few):
        yield "simpler times", _edited(subject, _Edit(everything, later=later))
    yield "simpler values", _edited(subject, _Edit(everything, value=(simplest,)))
    for arrival in arrivals:
        for value in simpler(arrival.event.value):
            yield "simpler values", _edited(subject, _Edit(everything, values={arrival.event.id: value}))
    if subject.base:
        return
    others = [
        *(("fewer keys", _edited(subject, _Edit(everything, keys=keys))) for keys in _fewer_keys(arrivals)),
        *(("fewer bundles", merged) for merged in _fewer_bundles(subject.case)),
    ]
    yield from others
    if few:
        for _, other in [*others, ("", _edited(subject, _Edit(everything, value=(simplest,))))]:
            for later in _simpler_times(other.case.schedule.arrivals, few):
                yield "simpler times", _edited(other, _Edit(everything, later=later))


def _simpler_times(arrivals: Iterable[Arrival], few: bool) -> Iterator[dict[str, int]]:
    """Element -> shift of its time (ms). One candidate moves all elements together up to the watermark; others move a
    single element to the watermark or to 1 ms off it."""
    arrivals = list(arrivals)

    def moves(arrival: Arrival) -> list[int]:
        distance = arrival.event.event_time - arrival.watermark
        return [0, *(to - distance for to in (1, 0, -1) if to != distance)]

    first = min((a.event.event_time - a.watermark for a in arrivals), default=0)
    together = {a.event.id: 1 - first for a in arrivals}
    yield together
    if few:
        for combination in itertools.product(*(moves(arrival) for arrival in arrivals)):
            yield {a.event.id: move for a, move in zip(arrivals, combination, strict=True)}
    else:
        for arrival in arrivals:
            for move in moves(arrival):
                yield {arrival.event.id: move}


def _fewer_keys(arrivals: Iterable[Arrival]) -> Iterator[dict[str, str]]:
    keys = list(dict.fromkeys(arrival.event.key for arrival in arrivals))
    yield dict.fromkeys(keys, "a")
    for key, other in itertools.combinations(keys, 2):
        yield {other: key}
    yield dict(zip(keys, "abcdefgh", strict=False))


def _fewer_bundles(case: Case) -> Iterator[Subject]:
    """Candidates with fewer bundles: each bundle merged into the one before it between the same advances, and all
    bundles moved to the front."""
    schedule = case.schedule
    groups = itertools.groupby(schedule.bundles, key=lambda bundle: schedule.intervals[bundle.id])
    forward: dict[int, tuple[Event, ...]] = {}
    for _, group in groups:
        slots: list[Deliver] = list(group)
        for one, two in itertools.pairwise(slots):
            if two.events:
                yield Subject(
                    replace(case, schedule=schedule.with_bundles({one.id: one.events + two.events, two.id: ()}))
                )
        used = [slot.events for slot in slots if slot.events]
        forward |= {slot.id: used[n] if n < len(used) else () for n, slot in enumerate(slots)}
    yield Subject(replace(case, schedule=schedule.with_bundles(forward)))


def single_changes(case: Case, program: Program) -> Iterator[tuple[str, Case]]:
    """(change in words, case after the change): single changes, one of which may turn a failing case of a program into
    a passing one."""
    schedule = case.schedule

    def with_event(event: Event, changed: Event) -> Case:
        bundles = {b.id: [changed if e is event else e for e in b.events] for b in schedule.bundles}
        return replace(case, schedule=schedule.with_bundles(bundles))

    for arrival in schedule.arrivals:
        event = arrival.event
        for later in (1, -1):
            if event.event_time + later >= 0:
                moved = replace(event, event_time=event.event_time + later)
                yield f"{event.id} 1 ms {'later' if later > 0 else 'earlier'}", with_event(event, moved)
        if arrival.watermark >= event.event_time:
            on_time = replace(event, event_time=arrival.watermark + 1)
            yield f"{event.id} on time, 1 ms after the watermark", with_event(event, on_time)
    for bundle in schedule.bundles:
        for place, (one, two) in enumerate(itertools.pairwise(bundle.events)):
            events = [*bundle.events[:place], two, one, *bundle.events[place + 2 :]]
            yield f"{two.id} before {one.id}", replace(case, schedule=schedule.with_bundles({bundle.id: events}))
    for slot, following in itertools.pairwise(schedule.bundles):
        if schedule.intervals[slot.id] != schedule.intervals[following.id] or not slot.events:
            continue
        if following.events:
            merged = schedule.with_bundles({slot.id: slot.events + following.events, following.id: ()})
            yield f"{slot.events[-1].id} and {following.events[0].id} in one bundle", replace(case, schedule=merged)
        elif len(slot.events) > 1:
            parted = schedule.with_bundles({slot.id: slot.events[:-1], following.id: slot.events[-1:]})
            yield f"{slot.events[-1].id} in a bundle of its own", replace(case, schedule=parted)
    for before, after in itertools.pairwise(schedule.arrivals):
        if before.event.key == after.event.key and program.has_key("other"):
            yield f"{after.event.id} under a key of its own", with_event(after.event, replace(after.event, key="other"))


MOMENTS = 3
"""Maximum number of timeline changes that are tried. Each costs an engine run."""


def timeline_changes(case: Case, seen: Trace, times: Iterable[str]) -> Iterator[tuple[str, Case]]:
    """(change in words, case after the change): the watermark makes an extra stop at a time (ms) that came out."""
    values = [emission.value for emission in seen.judged if isinstance(emission.value, dict)]
    moments = sorted({value[name] for value in values for name in times if isinstance(value.get(name), int)})
    watermarks = [advance.watermark for advance in case.schedule.advances]
    inner = [moment for moment in moments if watermarks[0] < moment < watermarks[-1] and moment not in watermarks]
    for moment in inner[:MOMENTS]:
        steps = list(case.schedule.steps)
        place = next(n for n, step in enumerate(steps) if isinstance(step, Advance) and step.watermark > moment)
        steps.insert(place, Advance(0, moment))
        yield f"the watermark at {moment} first", replace(case, schedule=renumbered(steps))


def tighter_timelines(schedule: Schedule, keep_first: bool = False) -> list[Schedule]:
    """The schedule with fewer, renumbered steps, the shortest first and the original last: without empty bundles and
    without advances that no bundle needs; then without empty bundles only. ``keep_first`` keeps the first advance, from
    which twins are compared."""
    without = schedule.without_empty_bundles()
    needed = [
        step
        for number, (step, after) in enumerate(itertools.zip_longest(without.steps, without.steps[1:]))
        if not (isinstance(step, Advance) and isinstance(after, Advance)) or (keep_first and number == 0)
    ]
    return list(dict.fromkeys([renumbered(needed), renumbered(without.steps), schedule]))


def fewer_changes(schedule: Schedule) -> list[Schedule]:
    """The schedule with only some kinds of its restarts, failures, bundles without data, partition counts and coalesced
    advances, the fewest kinds first. Empty if it has one kind at most."""

    def change(step: Step) -> str:
        advance = isinstance(step, Advance) and not step.coalesced
        return "" if advance or isinstance(step, (Deliver, Plan, Wait)) else step.circumstance

    kinds = sorted({change(step) for step in schedule.steps} - {""})
    found = []
    for kept in (set(part) for size in range(1, len(kinds)) for part in itertools.combinations(kinds, size)):
        steps = [step for step in schedule.steps if isinstance(step, Advance) or change(step) in {"", *kept}]
        plain = [replace(s, coalesced=False) if isinstance(s, Advance) and change(s) not in kept else s for s in steps]
        found.append(renumbered(plain))
    return found
