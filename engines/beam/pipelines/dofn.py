"""The stateful DoFn that runs neutral programs.

State and timer specs must stand as default values in the signatures of ``process`` and the timer callback, so a class
is built per set of declared cells. It is pickled by reference to the module's register: Beam copies a DoFn at every
bundle, and a copy of a class built at run time would drag the globals of its module along.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import apache_beam as beam
from apache_beam.coders import FastPrimitivesCoder, StrUtf8Coder
from apache_beam.transforms import userstate
from apache_beam.transforms.timeutil import TimeDomain
from apache_beam.utils.timestamp import Timestamp

from conformance.engines.beam.pipelines import sink, typed_cells
from conformance.engines.beam.pipelines.inspected import inspected
from conformance.engines.beam.pipelines.typed_keys import Typed
from conformance.engines.failing import INJECTED, SENTINEL
from conformance.engines.map_in_a_value import MapInAValue
from conformance.model.keys import TypedKey, seen
from conformance.model.program import (
    NO_TIME,
    Cell,
    EngineFault,
    Output,
    Program,
    State,
    Timer,
    by_processing_time,
    call,
    check_timer,
)
from conformance.model.schedule import Event
from conformance.model.values import Json, digest

Key = tuple[str, str, Any]
"""(program, case, key): what state is kept by. The key is a text, or the value of a typed key."""

Emitted = tuple[str, str, str, int | None, Output]
"""(program, case, key, step of the event that caused it or None for a timer's, what was put out)."""


@dataclass
class Attempts:
    """What the bundles of one pipeline did: ``touched`` are the cases whose state the attempt at hand has written;
    ``failed`` holds those of each attempt that failed, by step and DoFn."""

    case: str = ""
    touched: set[str] = field(default_factory=set)
    failed: dict[tuple[int, int], set[str]] = field(default_factory=dict)

    def fail_first(self, step: int, dofn: int) -> None:
        """Fail the attempt at hand at the bundle of a step, if it is the DoFn's first.

        Raises:
            RuntimeError: it is.
        """
        if (step, dofn) not in self.failed:
            self.failed[step, dofn] = set(self.touched)
            raise RuntimeError(INJECTED)


moments: dict[int, int] = {}
"""Step -> the processing time (ms) of TestStream's clock in it, which a DoFn cannot read (Beam 2.77.0); of the pipeline
that runs in this process."""

attempts = Attempts()
"""The attempts of the pipeline that runs in this process. The adapter clears them before each pipeline."""


def guarded(method: Callable[..., Any], *arguments: Any) -> Any:
    """Call Beam, and tell its failures apart from the program's own exceptions."""
    try:
        return method(*arguments)
    except Exception as error:
        raise EngineFault(f"{type(error).__name__}: {error}") from error


def guarded_write(method: Callable[..., Any], *arguments: Any) -> None:
    """``guarded`` for what changes state or timers."""
    guarded(method, *arguments)
    attempts.touched.add(attempts.case)


class Value:
    """ReadModifyWriteState. A value is boxed, because Beam's read() gives None for an empty cell (Beam 2.77.0)."""

    def __init__(self, state: Any) -> None:
        self._state = state

    def get(self, default: Json = None) -> Json:
        stored = guarded(self._state.read)
        return default if stored is None else stored[0]

    def set(self, value: Json) -> None:
        guarded_write(self._state.write, (value,))

    def clear(self) -> None:
        guarded_write(self._state.clear)


class Bag(Value):
    """BagState, and SetState, which has the same methods."""

    def add(self, value: Json) -> None:
        guarded_write(self._state.add, value)

    def set(self, values: list[Json]) -> None:
        self.clear()
        for value in values:
            self.add(value)

    def get(self, default: Json = None) -> list[Json]:
        return guarded(lambda: list(self._state.read()))


class Combining(Bag):
    """CombiningValueState with a sum."""

    def get(self, default: Json = None) -> int:  # type: ignore[override]
        return guarded(self._state.read)


class Map(MapInAValue):
    """No such state in Beam Python 2.77.0: a dictionary in a ReadModifyWriteState."""

    def __init__(self, state: Any) -> None:
        super().__init__(Value(state))


ANY = FastPrimitivesCoder()
CELLS: Mapping[Cell, tuple[type, Callable[[str], Any]]] = {
    Cell.VALUE: (Value, lambda name: userstate.ReadModifyWriteStateSpec(name, ANY)),
    Cell.BAG: (Bag, lambda name: userstate.BagStateSpec(name, ANY)),
    Cell.SET: (Bag, lambda name: userstate.SetStateSpec(name, StrUtf8Coder())),
    Cell.MAP: (Map, lambda name: userstate.ReadModifyWriteStateSpec(name, ANY)),
    Cell.COMBINING: (Combining, lambda name: userstate.CombiningValueStateSpec(name, ANY, sum)),
}


def _spec(program: Program, cell: str, variable: str) -> Any:
    kind = program.cells[cell]
    typed = program.types.get(cell)
    return typed_cells.spec(variable, kind, typed) if typed else CELLS[kind][1](variable)


def _cell(program: Program, cell: str, state: Any) -> Any:
    kind = program.cells[cell]
    if cell in program.types:
        return typed_cells.TYPED[kind](state, program.types[cell], guarded, guarded_write)
    return CELLS[kind][0](state)


class TaggedTimers:
    """One Beam timer, its dynamic tag made of the neutral timer's name and tag. ``now`` is the processing time (ms) of
    the call at hand."""

    def __init__(self, timer: Any, declared: tuple[str, ...], key: Key, now: int) -> None:
        self._timer, self._declared, self._key, self._now = timer, declared, key, now

    def set(self, name: str, time: int, tag: str = "") -> None:
        check_timer(self._declared, name)
        guarded_write(lambda: self._timer.set(Timestamp(micros=time * 1000), dynamic_timer_tag=f"{name}/{tag}"))
        sink.note(sink.Kind.TIMER_SET, self._key)

    def set_after(self, name: str, ms: int, tag: str = "") -> None:
        self.set(name, self._now + ms, tag)

    def clear(self, name: str, tag: str = "") -> None:
        check_timer(self._declared, name)
        guarded_write(lambda: self._timer.clear(dynamic_timer_tag=f"{name}/{tag}"))


_BUILT: dict[int, type] = {}
_bundles = itertools.count()


def _rebuild(number: int) -> Any:
    return _BUILT[number]()


def states(programs: Mapping[str, Program]) -> dict[tuple[str, str], str]:
    """(program, cell) -> the name of the state that keeps the cell. Programs share states, since the key keeps them
    apart: Beam hands every state of a DoFn to each call, and looks through all of them in each bundle."""
    found: dict[tuple[str, str], str] = {}
    for name, program in programs.items():
        used: Counter[str] = Counter()
        for cell, kind in program.cells.items():
            sort = f"{kind.value}_{digest(repr(program.types[cell]))}" if cell in program.types else kind.value
            found[name, cell] = f"{sort}_{used[sort]}"
            used[sort] += 1
    return found


def build(programs: Mapping[str, Program], typed: Typed | None = None) -> Any:
    """A DoFn for elements ((program, case, key), (step, event id, value)) that runs ``programs`` by name. ``typed``
    says what is done with typed keys."""
    variables = states(programs)
    specs = {variable: _spec(programs[name], cell, variable) for (name, cell), variable in variables.items()}
    processing_time = by_processing_time(programs.values())
    timer = userstate.TimerSpec("timer", TimeDomain.REAL_TIME if processing_time else TimeDomain.WATERMARK)
    number = len(_BUILT)

    def state_of(program: str, given: Mapping[str, Any]) -> State:
        mine = programs[program]
        return State({cell: _cell(mine, cell, given[variables[program, cell]]) for cell in mine.cells})

    def run(
        key: Key, step: int | None, callback: str, subject: Event | Timer, given: Mapping[str, Any], now: int
    ) -> Iterator[Emitted]:
        program, case, _ = key
        name = programs[program].key_name(key_of(key))
        attempts.case = case
        timers = TaggedTimers(given["timer_"], programs[program].timers, key, now)
        try:
            outputs = call(getattr(programs[program], callback), subject, state_of(program, given), timers)
        except EngineFault as fault:
            raise EngineFault(f"[case {case}] {fault}") from fault
        for output in outputs:
            yield program, case, name, step, output

    def key_of(key: Any) -> str | TypedKey:
        return typed.handed(key[2]) if typed else key[2]

    def start_bundle(self: Any) -> None:
        attempts.touched.clear()
        self.bundle = next(_bundles)

    def process(self: Any, element: Any, **given: Any) -> Iterator[Emitted]:
        key, (step, event_id, value) = element
        if key[0] == SENTINEL:
            attempts.fail_first(step, number)
            return iter(())
        sink.note(sink.Kind.HANDED, sink.Handed(number, self.bundle, key, step, event_id))
        event = Event(event_id, seen(key_of(key)), value, given["time_"].micros // 1000)
        return run(key, step, "on_event", event, given, moments.get(step, 0))

    def on_timer(self: Any, **given: Any) -> Iterator[Emitted]:
        key = given["key_"]
        name, _, tag = given["tag_"].partition("/")
        time = given["time_"].micros // 1000
        told = NO_TIME if processing_time else time
        # TestStream's clock jumps from moment to moment: the timer fires at the first that is not before its time.
        now = min((moment for moment in moments.values() if moment >= time), default=time)
        return run(key, None, "on_timer", Timer(name, tag, seen(key_of(key)), told), given, now)

    common = {"time_": beam.DoFn.TimestampParam, "timer_": beam.DoFn.TimerParam(timer)}
    common |= {variable: beam.DoFn.StateParam(spec) for variable, spec in specs.items()}
    process = with_defaults(process, ["self", "element"], common)
    fired = {"key_": beam.DoFn.KeyParam, "tag_": beam.DoFn.DynamicTimerTagParam}
    on_timer = userstate.on_timer(timer)(with_defaults(on_timer, ["self"], {**fired, **common}))
    members = {
        "start_bundle": start_bundle,
        "process": process,
        "on_timer": on_timer,
        "__reduce__": lambda self: (_rebuild, (number,)),
    }
    _BUILT[number] = inspected(type("NeutralDoFn", (beam.DoFn,), members))
    return _BUILT[number]()


def with_defaults(function: Any, positional: list[str], defaults: Mapping[str, Any]) -> Any:
    """``function(*positional, **given)`` behind the signature that Beam looks for: a named parameter with a default
    for everything it is to hand in."""
    names = list(defaults)
    name = function.__name__  # Beam finds the timer callback by it
    source = f"def {name}({', '.join(positional + [f'{n}=defaults[{n!r}]' for n in names])}):\n"
    source += f"    return function({', '.join(positional + [f'{n}={n}' for n in names])})\n"
    scope: dict[str, Any] = {"function": function, "defaults": defaults}
    exec(source, scope)
    return scope[name]
