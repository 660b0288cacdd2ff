"""The neutral stateful program: declared cells, named timers, windowing, and the two callbacks.

An engine's adapter gives a program the engine's own state and timers behind the small protocols below. A program sees
nothing else: no watermark, no clock.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import Any, ClassVar, Protocol, cast

from conformance.model.keys import TypedKey
from conformance.model.schedule import Event, InvalidSchedule
from conformance.model.types import Map, Refused, Type, shown
from conformance.model.values import Json, as_json, canonical


class InvalidProgram(ValueError):
    """A program whose declarations break a rule; the message is one sentence."""


class Cell(Enum):
    """The kinds of state cell that programs may declare."""

    VALUE = "value"
    BAG = "bag"
    MAP = "map"
    SET = "set"
    COMBINING = "combining"  # a running sum of numbers


OF_VALUES = (Cell.VALUE, Cell.BAG, Cell.MAP)
"""Cells whose values are any JSON, where a program declares no type of them."""


class JobKind(Enum):
    """What a program's job is put to, beside its schedule. A member but PLAIN needs the feature of its name.

    Members:
        INITIAL_STATE: it starts with state. ``on_initial`` makes the state of each key that has any, before the key's
            first element.
        DAMAGE: what it kept is damaged when it begins again. Every schedule of the program has one restart. A job that
            refuses to go on puts out ``{"refused": reason}`` under the key of the case's first element.
        NEXT_VERSION: another version of the program goes on behind a restart, see ``next_version.Versioned``: what has
            the same name is kept, and what is new begins empty. Every schedule of the program has one restart. A job
            that refuses to go on puts out ``{"refused": reason}`` under the key of the case's first element, and one
            that fails otherwise ``{"failed": reason}``.
        NEXT_OPERATOR: the same, but the other version answers as if it had run from the first element on.
        INSPECTION: its cells are read from outside when the last step is done. The content of each cell comes out in
            that step as ``{"cell": name, "stored": value}``, by key and in the order of ``cells``: a bag as a list, a
            map as an object. An empty cell gives nothing.
        ROW_COUNT: the engine's own count of stored rows is compared with what is read from outside, after the last
            bundle and when the last step is done. How many rows the engine counts beyond those that are read comes out
            each time, as ``{"surplus": number}``, under the key "". Both numbers are those of all cases that run
            together.
    """

    PLAIN = "plain"
    INITIAL_STATE = "starts with state"
    DAMAGE = "begins again on a damaged checkpoint"
    NEXT_VERSION = "begins again with another version"
    NEXT_OPERATOR = "begins again with another operator"
    INSPECTION = "is read from outside"
    ROW_COUNT = "has its rows counted"


BEGUN_AGAIN = (JobKind.DAMAGE, JobKind.NEXT_VERSION, JobKind.NEXT_OPERATOR)
"""Of these, a job has one restart, which no perturbation adds to."""

READ_FROM_OUTSIDE = (JobKind.INSPECTION, JobKind.ROW_COUNT)


@dataclass(frozen=True, slots=True)
class GlobalWindow:
    """One window for all time."""


@dataclass(frozen=True, slots=True)
class FixedWindows:
    """Windows [start, start + size) aligned to the epoch; both lengths in ms."""

    size: int
    allowed_lateness: int = 0

    def __post_init__(self) -> None:
        if self.size <= 0 or self.allowed_lateness < 0:
            raise InvalidProgram(f"a window's size is above 0 ms and its allowed lateness not below: {self}")

    def start(self, event_time: int) -> int:
        return event_time - event_time % self.size

    def expiry(self, event_time: int) -> int:
        """The watermark (ms) from which on the window of ``event_time`` is closed for good."""
        return self.start(event_time) + self.size + self.allowed_lateness


Windowing = GlobalWindow | FixedWindows


class ValueCell(Protocol):
    def get(self, default: Json = None) -> Json: ...
    def set(self, value: Json) -> None: ...
    def clear(self) -> None: ...


class BagCell(Protocol):
    def add(self, value: Json) -> None: ...
    def set(self, values: list[Json]) -> None: ...
    def get(self) -> list[Json]: ...
    def clear(self) -> None: ...


class MapCell(Protocol):
    def get(self, key: str, default: Json = None) -> Json: ...
    def put(self, key: str, value: Json) -> None: ...
    def remove(self, key: str) -> None: ...
    def items(self) -> list[tuple[str, Json]]: ...
    def clear(self) -> None: ...


class SetCell(Protocol):
    def add(self, value: str) -> None: ...
    def get(self) -> list[str]: ...
    def clear(self) -> None: ...


class CombiningCell(Protocol):
    def add(self, value: int) -> None: ...
    def get(self) -> int: ...
    def clear(self) -> None: ...


class State:
    """A program's cells for the current key (and window), one attribute each."""

    def __init__(self, cells: Mapping[str, Any]) -> None:
        self.__dict__.update(cells)

    def __getattr__(self, name: str) -> Any:
        known = ", ".join(sorted(self.__dict__)) or "none"
        raise AttributeError(f"the program declares no state cell {name!r} (declared: {known})")


class Timers(Protocol):
    """A program's timers. A timer's name and tag identify it: setting it again moves it. ``set`` takes an event time
    (ms since the epoch), ``set_after`` a processing time (ms from now)."""

    def set(self, name: str, time: int, tag: str = "") -> None: ...
    def set_after(self, name: str, ms: int, tag: str = "") -> None: ...
    def clear(self, name: str, tag: str = "") -> None: ...


NO_TIME = -1


@dataclass(frozen=True, slots=True)
class Timer:
    """A timer that fired. ``time`` is the event time (ms) that the timer was set for. A timer in processing time has
    NO_TIME, because no program sees that clock."""

    name: str
    tag: str
    key: str
    time: int


Emit = Callable[..., None]
"""``emit(value, event_time=None)``: put out a JSON value for the current key."""


class Program:
    """Base of the neutral programs. Subclasses declare, and override the callbacks.

    Attributes:
        cells: cell name -> kind.
        ttl: cell -> how long (ms of processing time) an entry lives: a value, each element of a bag, each entry of a
            map. A new write starts the time again.
        types: cell -> its type: that of a value, of each element of a bag, and a ``Map`` for a map. Such a cell gives
            and gets values of Python (see ``types``), and a call on it raises ``Refused`` if it fails. A cell without
            an entry holds JSON.
        keys: name -> the key that it stands for. Events of schedules, and emissions, have the name; the callbacks see
            the value that the engine hands over as the key. A program without entries has texts as keys.
        misfits: whether the program also writes values that do not fit their cell's type.
        timers: the names of its timers.
        processing_time: whether its timers are in processing time, not in event time.
        windowing: one global window, or fixed windows.
        labels: fields of emitted objects whose values a key's elements may get in any order (an index).
        times: fields of emitted objects that hold times (ms). They shift with all times.
        timed: whether an emission has the event time that the engine gave the output, whatever the program says: that
            of the element, or of the timer, that the call was for.
        stamped: whether it puts out what the query's own expressions for the current time say.
        parameters: name -> number that the program depends on, such as a horizon in ms. A native operator in its place
            uses the same numbers.
        job: what its job is put to.
        timer_chain: how many timers may set one another, one after the other, within one advance of the watermark.
    """

    cells: ClassVar[Mapping[str, Cell]] = {}
    ttl: ClassVar[Mapping[str, int]] = {}
    types: ClassVar[Mapping[str, Type]] = {}
    keys: ClassVar[Mapping[str, TypedKey]] = {}
    misfits: ClassVar[bool] = False
    timers: ClassVar[tuple[str, ...]] = ()
    processing_time: ClassVar[bool] = False
    windowing: ClassVar[Windowing] = GlobalWindow()
    labels: ClassVar[tuple[str, ...]] = ()
    times: ClassVar[tuple[str, ...]] = ()
    timed: ClassVar[bool] = False
    stamped: ClassVar[bool] = False
    parameters: ClassVar[Mapping[str, int]] = {}
    job: ClassVar[JobKind] = JobKind.PLAIN
    timer_chain: ClassVar[int] = 0

    def __init_subclass__(cls) -> None:
        for fault in cls._faults():
            raise InvalidProgram(f"{cls.__name__}: {fault}")

    @classmethod
    def _faults(cls) -> Iterator[str]:
        """The rules that the declarations break, each as a sentence."""
        cells: Mapping[str, Any] = cls.cells
        windowing: Any = cls.windowing
        for name, kind in cells.items():
            if not name.isidentifier():
                yield f"a state cell's name is a Python identifier, not {name!r}"
            if not isinstance(kind, Cell):
                yield f"the state cell {name!r} is of the unknown kind {kind!r}"
        for name, ms in cls.ttl.items():
            if cls.cells.get(name) not in OF_VALUES or type(ms) is not int or ms <= 0:
                yield f"a TTL is a number of ms above 0 for a value, bag or map, not {name!r}: {ms!r}"
        read = cls.job in READ_FROM_OUTSIDE
        for name, declared in cls.types.items():
            cell = cls.cells.get(name)
            if cell not in OF_VALUES or not isinstance(declared, Map if cell is Cell.MAP else Type):
                yield f"a value, a bag or a map may have a type, not {name!r}: {declared}"
            if name in cls.ttl or read:
                yield f"a cell with a type has no TTL, and is not read from outside: {name!r}"
        for name, key in cls.keys.items():
            try:
                key.type.fitted(key.value)
            except Refused as refused:
                yield f"the key {name!r} does not fit its type: {refused}"
        if cls.keys and (read or cls.job is JobKind.INITIAL_STATE):
            yield "a program with typed keys has no initial state, and is not read from outside"
        for name in cls.timers:
            if not isinstance(name, str) or not name.isidentifier():
                yield f"a timer's name is a Python identifier, not {name!r}"
        if cls.timed and (cls.processing_time or read):
            yield "what is put out at a processing time, or is read from outside, has no event time"
        if not isinstance(windowing, GlobalWindow | FixedWindows):
            yield f"windowing is GlobalWindow or FixedWindows, not {windowing!r}"
        if read and (cls.ttl or not {*cls.cells.values()}.issubset(OF_VALUES)):
            yield "what is read from outside is values, bags and maps without a TTL"

    @property
    def read_from_outside(self) -> bool:
        """Whether what is stored is read from outside the job."""
        return self.job in READ_FROM_OUTSIDE

    @property
    def waits(self) -> bool:
        """Whether the program depends on processing time: its schedules then have waits."""
        return bool(self.ttl) or self.processing_time

    def has_key(self, name: str) -> bool:
        """Whether an event may have this key."""
        return not self.keys or name in self.keys

    def typed_key(self, name: str) -> TypedKey:
        """The key that a name stands for.

        Raises:
            InvalidSchedule: none.
        """
        if name not in self.keys:
            raise InvalidSchedule(f"{type(self).__name__} has no key {name!r}")
        return self.keys[name]

    def key_name(self, key: str | TypedKey) -> str:
        """The name of the key that an engine handed over: of a typed one, with the type that it was asked for. A value
        that no key of the program is shown as is its own name."""
        if isinstance(key, str):
            return key
        told = canonical(shown(key.value))
        return _names_of(cast(Any, type(self))).get((key.type, told), told)

    def on_event(self, event: Event, state: State, timers: Timers, emit: Emit) -> None:
        raise NotImplementedError

    def on_timer(self, timer: Timer, state: State, timers: Timers, emit: Emit) -> None:
        raise NotImplementedError

    def on_initial(self, event: Event, state: State) -> None:
        raise NotImplementedError


@lru_cache(maxsize=64)
def _names_of(kind: Any) -> Mapping[tuple[Type, str], str]:
    """(type, what a key is shown as) -> its name. Of two names with one value the first counts, and a key's own value
    before that of its type."""
    found: dict[tuple[Type, str], str] = {}
    for place in (0, 1):
        for name, key in kind.keys.items():
            found.setdefault((key.type, canonical(key.spellings[place])), name)
    return found


def by_processing_time(programs: Iterable[Program]) -> bool:
    """Whether a pack of these programs depends on processing time. Such programs have timelines of their own."""
    return any(program.waits for program in programs)


class EngineFault(Exception):
    """An engine's own call (a state read, a timer registration) failed inside a program's callback."""


@dataclass(frozen=True, slots=True)
class Output:
    """An output of a callback: a value, or the program's exception in one line."""

    value: Json
    event_time: int | None = None
    error: str | None = None


def call(
    callback: Callable[[Any, State, Timers, Emit], None], subject: Event | Timer, state: State, timers: Timers
) -> list[Output]:
    """Run one callback. A program's own exception becomes an error output. An engine's exception passes through."""
    out: list[Output] = []

    def emit(value: Json, event_time: int | None = None) -> None:
        out.append(Output(as_json(value), event_time))

    try:
        callback(subject, state, timers, emit)
    except EngineFault:
        raise
    except Exception as error:
        out.append(Output(None, None, f"{type(error).__name__}: {error}".splitlines()[0]))
    return out


def check_timer(declared: Iterable[str], name: str) -> None:
    """Refuse a timer that the program did not declare."""
    if name not in declared:
        known = ", ".join(sorted(declared)) or "none"
        raise KeyError(f"the program declares no timer {name!r} (declared: {known})")
