"""Calls as data: the language in which an event, or a timer, says what a program does with its state and its timers.

The value of an event is a text of calls, with "; " between two of them. Their arguments are JSON:

    value_a set 1.5; value_a get; value_a clear
    bag_a add null; bag_a set [1, 2]; bag_a get; bag_a clear
    map_a put "k" 1; map_a get "k"; map_a remove "k"; map_a items; map_a clear
    set_a add "k"; set_a get; set_a clear
    sum_a add 7; sum_a get; sum_a clear
    x in 5000 "tag" (bag_a get; value_a clear); x to 5000 "tag" (bag_a get); x off "tag"
    out say 1

"in" sets the timer x with a tag, 5,000 ms after the time of the element or timer that the call is for, with the calls
of its callback; "to" sets it for the next multiple of 5,000 ms; "off" clears it. "say" puts a number out. ``{"long":
N}`` in the place of a JSON value stands for a text of N characters.

Some calls stand in named lists alone, see ``named_lists``:

    cell change "v"; cell extend "v"; cell lend ["w"] "v"
    map_a change "k" "v"; map_a lend "k" ["w"] "v"
    map_a twice; map_a drain
    x in 5000; x off

"change" adds to a list that a cell gives, and does not write it; "extend" writes it. "lend" writes a list and adds to
it afterwards. "twice" says whether two iterations give the same in the same order. "drain" removes each entry that an
iteration gives. A timer without a tag has a callback that does nothing.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache, partial
from random import Random

from conformance.model.case import Case
from conformance.model.program import Cell
from conformance.model.values import Json, canonical

Call = list[Json]
"""[cell or timer, what is called, argument, …]. The last argument of "in" is a list of calls."""

Calls = list[Call]


def spelled(calls: Calls) -> str:
    """Calls as text."""
    return "; ".join(" ".join(_part(part, place) for place, part in enumerate(call)) for call in calls)


def _part(part: Json, place: int) -> str:
    if place < 2:
        return str(part)
    return f"({spelled(part)})" if place == 4 else canonical(part)


@lru_cache(maxsize=20_000)
def parsed(text: str) -> Calls:
    """The calls of a text, which nobody changes."""
    return _parsed(text, 0)[0]


def _parsed(text: str, at: int) -> tuple[Calls, int]:
    """(the calls from a place of the text on, up to its end or a closing bracket, the place behind it)."""
    calls: Calls = []
    while at < len(text) and text[at] != ")":
        name, what = re.compile(r"(\w+) (\w+)").match(text, at).groups()  # type: ignore[union-attr]
        call, at = [name, what], at + len(name) + len(what) + 1
        while text[at : at + 1] == " ":
            part, at = _parsed(text, at + 2) if text[at + 1] == "(" else json.JSONDecoder().raw_decode(text, at + 1)
            call.append(part)
        calls.append(call)
        at += 2 if text.startswith("; ", at) else 0
    return calls, at + 1


TEXTS = (
    "k",
    "K",
    "kk",
    "k ",
    "",
    "\u00e9",
    "e\u0301",
    "k\u200b",
    "k%2F",
    "k/",
    "k#1",
    "0",
    "null",
    "\U0001f600",
    "\ufb01",
    "a.b",
    "a_b",
)
"""Names that are alike: by case, prefix, trailing blank, normal form, a character without width, escapes, digits."""

VALUES: tuple[tuple[Json, ...], ...] = (
    (None,),
    ("", [], {}, 0, False),
    (1, 1.0, True, "1", "true"),
    (1.5, -0.25, 2**31, 2**53 + 1, 2**63 - 1, 1e300),
    ("k", "K", "\u00e9", "e\u0301", "\U0001f600", "a\0b"),
    ([None], [[], [1.5]], {"b": [1, None]}, {"b": None}, {"c": 1}),
    ({"long": 127}, {"long": 128}, {"long": 32_767}, {"long": 65_536}),
)
"""Values by kind, of which another representation would confuse or cut some."""

NUMBERS = (0, 1, -1, 7, 2**31, -(2**40), 2**53, 2**53 + 1)
SETTING = ("in", "to")
"""What sets a timer."""

MULTIPLES = (5_000, 20_000)
"""Timers of several keys, windows and names are set for one instant, at which the watermark stops at times."""

DELAYS = (0, 1, 500, 4_000, 5_000, 5_001, 20_000, 40_000, 2**31 + 1)
"""How long (ms) after its element, or after the timer before it, a timer is set."""

PASSED, IN_THE_PAST = -1_000, 0.15
"""A delay of timers that a timer's callback sets, and how many of these have it. An element sets none for a time that
may have passed: whether it fires before the next element would depend on the bundles."""

IN_A_ROW = 3
"""So many calls on one cell, or on one timer, stand together in each order."""

NAMED = ("k", "K")
"""The names that these calls have in turn."""

FEWEST, MOST = 2, 7
"""The numbers of calls in one list."""

TOGETHER = 4
"""How many values of pools are written and read in one list."""

DEPTH = 2
"""How often a timer's callback may set a timer, one after the other."""

FOCUSED = 0.4
"""How many cases have calls on few cells and timers alone."""

SPARSE, REPEATED = 0.2, 0.2
"""How many cases have lists of one call and a read of its cell; how many have one list, which reads before it writes,
for every element."""

READING = 0.3
"""How many lists only read, if the case has kinds of call that do."""

READ = 0.7
"""How many lists end with a read of a cell that they call."""


@dataclass(frozen=True)
class Pool:
    """What the arguments of a cell's calls are drawn from: values by kind, and keys of a map or elements of a set."""

    values: tuple[tuple[Json, ...], ...] = VALUES
    keys: tuple[Json, ...] = TEXTS

    def some(self, random: Random, values: int, keys: int) -> Pool:
        """A few of the values, each of another kind, and a few of the keys."""
        kinds = random.sample(self.values, min(values, len(self.values)))
        return Pool(
            tuple((random.choice(kind),) for kind in kinds), tuple(random.sample(self.keys, min(keys, len(self.keys))))
        )

    def value(self, random: Random) -> Json:
        return random.choice(random.choice(self.values))


@dataclass(frozen=True, eq=False)
class Language:
    """The calls that one program understands.

    Args:
        cells: the names of the program's cells and their kinds.
        timers: the names of its timers.
        forgets: the cells whose entries have a time to live.
        says: the name under which it puts numbers out, "" if it does not.
        pools: cell -> what the arguments of its calls are drawn from. The other cells share one pool.
        small: whether a run has all small lists of calls, too: see ``lists``. If not, it has those of the values of
            ``pools``.
    """

    cells: Mapping[str, Cell]
    timers: tuple[str, ...] = ()
    forgets: tuple[str, ...] = ()
    says: str = ""
    pools: Mapping[str, Pool] = field(default_factory=dict)
    small: bool = True

    @cached_property
    def kinds(self) -> tuple[tuple[str, str], ...]:
        """(cell or timer, what is called) of every call there is."""
        of_cells = [(name, what) for name, kind in self.cells.items() for what in WHAT[kind]]
        of_timers = ((name, what) for name in self.timers for what in ("in", "to", "off"))
        return (*of_cells, *of_timers, *([(self.says, "say")] if self.says else []))

    def drawn(self, random: Random) -> Callable[[], Json]:
        """What draws the values of one case. Each case has some kinds of call alone, or all kinds on few cells and
        timers, and few arguments, so that rare kinds meet (swarm testing)."""
        if random.random() < FOCUSED:
            names = random.sample([*self.cells, *self.timers], random.randint(1, 3))
            kinds = [kind for kind in self.kinds if kind[0] in names]
        else:
            kinds = random.sample(self.kinds, random.randint(3, max(3, len(self.kinds) // 2)))
        reading = [kind for kind in kinds if kind[1] in ("get", "items")] or kinds
        pools = self._some(random, random.randint(2, 4), random.randint(1, 3))
        how = random.random()
        sparse = how < SPARSE

        def calls(depth: int = 0) -> Calls:
            found = []
            among = reading if random.random() < READING and not sparse else kinds
            for _ in range(1 if sparse else random.randint(FEWEST, MOST if not depth else 3)):
                name, what = random.choice(among)
                if what not in SETTING or depth < DEPTH:
                    call = self._call(name, what, random, pools, lambda: calls(depth + 1))
                    if what == "in" and depth and random.random() < IN_THE_PAST:
                        call[2] = PASSED
                    found.append(call)
            if found and (sparse or random.random() < READ):
                name = random.choice([call[0] for call in found if call[0] in self.cells] or [*self.cells])
                found.append(self._reading(name, random, pools))
            return found

        if SPARSE <= how < SPARSE + REPEATED:
            found = calls()
            called = dict.fromkeys(call[0] for call in found if call[0] in self.cells)
            same = spelled([*(self._reading(name, random, pools) for name in called), *found])
            return lambda: same
        return lambda: spelled(calls())

    def _some(self, random: Random, values: int, keys: int) -> Mapping[str, Pool]:
        """A few arguments for each cell and timer."""
        shared = Pool().some(random, values, keys)
        mine = {name: pool.some(random, values, keys) for name, pool in self.pools.items()}
        return {name: mine.get(name, shared) for name in (*self.cells, *self.timers, self.says)}

    def _call(
        self, name: str, what: str, random: Random, pools: Mapping[str, Pool], script: Callable[[], Calls]
    ) -> Call:
        """A call of one kind."""
        kind, pool = self.cells.get(name), pools[name]
        if what in SETTING:
            ms = random.choice(DELAYS if what == "in" else MULTIPLES)
            return [name, what, ms, random.choice(pool.keys), script()]
        if what in ("off", "remove") or (kind is Cell.MAP and what == "get") or (kind is Cell.SET and what == "add"):
            return [name, what, random.choice(pool.keys)]
        if what == "put":
            return [name, what, random.choice(pool.keys), pool.value(random)]
        if what == "set" and kind is Cell.BAG:
            # Of a type, never to nothing: PySpark 4.3.0 ends the query of a ListState that is set to an empty list.
            return [name, what, [pool.value(random) for _ in range(random.randint(name in self.pools, 3))]]
        if what == "say":
            return [name, what, random.choice((1, 1, 2))]
        if what == "add" and kind is Cell.COMBINING:
            return [name, what, random.choice(NUMBERS)]
        return [name, what, pool.value(random)] if what in ("set", "add") else [name, what]

    def _reading(self, name: str, random: Random, pools: Mapping[str, Pool]) -> Call:
        """A call that reads a cell."""
        if self.cells[name] is not Cell.MAP:
            return [name, "get"]
        return random.choice([[name, "items"], [name, "get", random.choice(pools[name].keys)]])

    @cached_property
    def basic(self) -> tuple[Json, ...]:
        """No call, a write to each cell, a read of each, and a clear of each, which a timer's callback reads."""
        random = Random("a call on each cell")
        pools = self._some(random, 1, 1)
        reads = [self._reading(name, random, pools) for name in self.cells]
        timers: Calls = [[name, "in", 500, "", reads] for name in self.timers]
        writes = [self._call(name, WHAT[kind][0], random, pools, list) for name, kind in self.cells.items()]
        clears: Calls = [[name, "clear"] for name in self.cells]
        return ("", spelled(writes), spelled(reads), spelled([*clears, *timers]))

    @cached_property
    def lists(self) -> tuple[Json, ...]:
        """The small lists of calls, if the program has them: see ``_pairs`` and what follows it."""
        if not self.small:
            return tuple(map(spelled, [*self._of_pools(), *self._of_forgetting()]))
        found = (*self._pairs(), *self._in_a_row(), *self._of_values(), *self._of_names(), *self._of_timers())
        return tuple(map(spelled, found))

    def _pairs(self) -> Iterator[Calls]:
        """Each kind of call stands right before each kind, itself included."""
        random = Random("pairs of calls")
        walk = [self.kinds[number] for number in _round(len(self.kinds))]
        for start in range(0, len(walk) - 1, MOST - 1):
            pools = self._some(random, 3, 2)
            script = [self._reading(random.choice([*self.cells]), random, pools)]
            part = walk[start : start + MOST]
            yield [self._call(*kind, random, pools, partial(list, script)) for kind in part]

    def _in_a_row(self) -> Iterator[Calls]:
        """Each three calls on one cell of a kind, with one name, and a read before and behind them; two cells share a
        list. The read before them shows what an earlier callback left, some of it under the other name: within a
        callback, a cell may answer as if nothing were wrong with what is stored in its end."""
        of_maps, others = list[Calls](), list[Calls]()
        for name in dict(zip(self.cells.values(), self.cells, strict=True)).values():
            kind = self.cells[name]
            for place, three in enumerate(itertools.product(WHAT[kind], repeat=IN_A_ROW)):
                called = NAMED[place // 2 % 2]  # the lists of a case are of one key, or of two in turn
                reads: Calls = [[name, "items"], [name, "get", called]] if kind is Cell.MAP else [[name, "get"]]
                calls = [_plain(name, kind, what, number, called) for number, what in enumerate(three, 1)]
                (of_maps if kind is Cell.MAP else others).append([*reads, *calls, *reads])
            of_maps += self._of_two_names(name) if kind is Cell.MAP else ()
        for number in range(max(len(of_maps), len(others))):
            yield [*itertools.chain(*of_maps[number : number + 1], *others[number : number + 1])]

    def _of_two_names(self, name: str) -> Iterator[Calls]:
        """Each two calls under two names, on a map that has both."""
        both: Calls = [[name, "put", called, number] for number, called in enumerate(NAMED)]
        pairs = [
            [_plain(name, Cell.MAP, what, 2 + number, NAMED[number]) for number, what in enumerate(two)]
            for two in itertools.product(("put", "get", "remove"), repeat=2)
        ]
        for number in range(0, len(pairs), 2):  # the lists of a case are of one key, or of two in turn
            for calls in (both, both, *pairs[number : number + 2]):
                yield [[name, "items"], *calls, [name, "items"]]

    def _of_values(self) -> Iterator[Calls]:
        """Each value in a cell of each kind that takes it, and read."""
        first = {kind: name for name, kind in [*self.cells.items()][::-1]}
        for value in itertools.chain.from_iterable(VALUES):
            one, bag, map_ = first[Cell.VALUE], first[Cell.BAG], first[Cell.MAP]
            yield [
                *([one, "set", value], [one, "get"], [bag, "clear"], [bag, "add", value], [bag, "get"]),
                *([map_, "put", "k", value], [map_, "get", "k"]),
            ]
        for name in [first[Cell.COMBINING]] if Cell.COMBINING in first else ():
            for number in NUMBERS:
                yield [call for some in (number, 1, -1, -number) for call in ([name, "add", some], [name, "get"])]

    def _of_pools(self) -> Iterator[Calls]:
        """Each value, and each key of a map, of each cell's own pool, and read; some to a list."""
        found = list[Calls]()
        for name, pool in self.pools.items():
            values, kind = [*itertools.chain.from_iterable(pool.values)], self.cells[name]
            if kind is Cell.MAP:
                size = max(len(values), len(pool.keys))
                pairs = [(pool.keys[n % len(pool.keys)], values[n % len(values)]) for n in range(size)]
                found += [[[name, "put", key, value], [name, "get", key]] for key, value in pairs]
                found.append([[name, "items"]])
            else:
                write = WHAT[kind][0]
                found += [[[name, write, value], [name, "get"]] for value in values]
        for number in range(0, len(found), TOGETHER):
            yield [*itertools.chain(*found[number : number + TOGETHER])]

    def _of_forgetting(self) -> Iterator[Calls]:
        """On each cell that forgets: writes, then each kind of call and a read, then a read. Two such histories stand
        beside each other, so that two keys may have one each, or one key both."""
        histories: list[tuple[Calls, Calls, Calls]] = []
        for name in self.forgets:
            kind = self.cells[name]
            reads: Calls = [[name, "items" if kind is Cell.MAP else "get"]]
            writes = [_plain(name, kind, WHAT[kind][0], 1)]
            if kind is Cell.MAP:
                writes.append([name, "put", "K", 2])
            histories += [(writes, [_plain(name, kind, what, 1), *reads], reads) for what in WHAT[kind]]
        for number in range(0, len(histories), 2):
            for calls in zip(*histories[number : number + 2], strict=True):
                yield from calls

    def _of_names(self) -> Iterator[Calls]:
        """All names at once: in a map, in a set, as tags; then without every second one."""
        for name, kind in self.cells.items():
            if kind is Cell.MAP:
                yield [*([name, "put", text, number] for number, text in enumerate(TEXTS)), [name, "items"]]
                yield [[name, "get", text] for text in TEXTS]
                yield [*([name, "remove", text] for text in TEXTS[::2]), [name, "items"]]
                yield [[name, "get", text] for text in TEXTS]
            elif kind is Cell.SET:
                yield [*([name, "add", text] for text in TEXTS), [name, "get"]]
        if self.timers:
            alike = [(name, text) for name in self.timers for text in TEXTS[:5]]
            yield [[name, "in", 500 + number, text, []] for number, (name, text) in enumerate(alike)]
        for name in self.timers:
            yield [[name, "in", 500 + number, text, []] for number, text in enumerate(TEXTS)]
            yield [
                *([name, "in", 500 + number, text, []] for number, text in enumerate(TEXTS)),
                *([name, "off", text] for text in TEXTS[::2]),
            ]

    def _of_timers(self) -> Iterator[Calls]:
        """A timer's callback calls each timer while another one is set for an earlier time, the same, or a later one;
        and each three calls on one timer."""
        for one, other in itertools.permutations(self.timers[:2], 2):
            for time, called, delay in itertools.product(
                (500, 1_000, 4_000), (one, other), (-600, 0, 1, 500, 9_000, 40_000, None)
            ):
                call: Call = [called, "off", "k"] if delay is None else [called, "in", delay, "k", []]
                yield [[one, "in", 1_000, "k", [call]], [other, "in", time, "k", []]]
        for name in self.timers[:1]:
            for three in itertools.product((1_000, 4_000, None), repeat=IN_A_ROW):
                yield [[name, "off", "k"] if delay is None else [name, "in", delay, "k", []] for delay in three]

    def traits(self, case: Case) -> Iterator[tuple[object, ...]]:
        """(kind, kind, how they meet) of the calls of a case: in one callback, or in two that follow each other, of one
        key or of two, with or without an advance of the watermark between them."""
        before: dict[str, tuple[int, Calls]] = {}
        last: tuple[str, Calls] = ("", [])
        for arrival in case.schedule.arrivals:
            key, calls = arrival.event.key, parsed(arrival.event.value)
            yield from (("calls", *two, "in one callback") for two in _following(calls))
            for step, script in _scripts(calls):
                yield from (("calls", *two, "in one callback of a timer") for two in _following(script))
                yield from (
                    ("calls", one, two, "a timer's callback") for one in _kinds(calls[:step]) for two in _kinds(script)
                )
            if key in before:
                interval, earlier = before[key]
                advanced = interval != case.schedule.intervals[arrival.step]
                how = "behind an advance" if advanced else "in the next callback"
                yield from (("calls", one, two, how) for one in _kinds(earlier) for two in _kinds(calls))
            if last[0] not in ("", key):
                yield from (("calls", one, two, "of another key") for one in _kinds(last[1]) for two in _kinds(calls))
            before[key] = case.schedule.intervals[arrival.step], calls
            last = key, calls

    def simpler(self, value: Json) -> Iterator[Json]:
        """Values with fewer or simpler calls, the simplest first."""
        return map(spelled, _simpler(parsed(value)))


def _simpler(calls: Calls) -> Iterator[Calls]:
    for size in (1, 2) if len(calls) > 3 else (1,):
        yield from (list(kept) for kept in itertools.combinations(calls, size) if len(kept) < len(calls))
    for n, call in enumerate(calls):
        if len(calls) > 1:
            yield [*calls[:n], *calls[n + 1 :]]
        yield from ([*calls[:n], other, *calls[n + 1 :]] for other in _simpler_call(call))


WHAT: dict[Cell, tuple[str, ...]] = {
    Cell.VALUE: ("set", "get", "clear"),
    Cell.BAG: ("add", "set", "get", "clear"),
    Cell.MAP: ("put", "get", "remove", "items", "clear"),
    Cell.SET: ("add", "get", "clear"),
    Cell.COMBINING: ("add", "get", "clear"),
}
"""Kind of cell -> its calls."""


def _plain(name: str, kind: Cell, what: str, number: int, called: str = "k") -> Call:
    """A call with the simplest arguments, the ``number``-th on its cell; ``called`` is a key of a map, or an element of
    a set."""
    if what in ("set", "add") and kind is not Cell.SET:
        return [name, what, [number] if what == "set" and kind is Cell.BAG else number]
    if what == "put":
        return [name, what, called, number]
    return [name, what, *[called] * (what == "remove" or (what, kind) in {("get", Cell.MAP), ("add", Cell.SET)})]


def _round(number: int) -> list[int]:
    """A walk over 0 … number - 1 in which each follows each, itself included, once (Hierholzer)."""
    left = {one: list(range(number))[::-1] for one in range(number)}
    path, found = [0], []
    while path:
        if left[path[-1]]:
            path.append(left[path[-1]].pop())
        else:
            found.append(path.pop())
    return found[::-1]


def _kinds(calls: Iterable[Call]) -> list[str]:
    return list(dict.fromkeys(f"{call[0]} {call[1]}" for call in calls))


def _following(calls: Calls) -> Iterator[tuple[str, str]]:
    yield from itertools.pairwise(f"{call[0]} {call[1]}" for call in calls)


def _scripts(calls: Calls) -> Iterator[tuple[int, Calls]]:
    """(the number of calls up to it, the calls of the callback) of each timer that is set, and of each that its
    callback sets."""
    for number, call in enumerate(calls, 1):
        if call[1] in SETTING:
            yield number, call[4]
            yield from _scripts(call[4])


def _simpler_call(call: Call) -> Iterator[Call]:
    """The call with simpler arguments."""
    for place, argument in enumerate(call[2:], 2):
        for simple in ("k", 1) if isinstance(argument, str) or place == len(call) - 1 else ():
            if call[1] not in SETTING and type(simple) is type(argument) and argument != simple:
                yield [*call[:place], simple, *call[place + 1 :]]
    if call[1] in SETTING:
        yield from ([*call[:4], other] for other in ([], *([each] for each in call[4])) if other != call[4])
        if call[3] != "k":
            yield [*call[:3], "k", call[4]]
        if call[1:3] != ["in", 1]:
            yield [call[0], "in", 1, *call[3:]]
