"""A tiny stream processor in memory, and its adapter for conformance: a package of somebody else's.

It runs a whole pack step by step. State is kept as JSON text by (program, case, key, window start), and a checkpoint is
a file.
"""

from __future__ import annotations

import itertools
import json
import platform
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from conformance.model.case import Case, program_ref
from conformance.model.engine import Capabilities
from conformance.model.feature import NATIVE, Feature, emulated, unsupported
from conformance.model.lateness import Lateness, LatenessProfile
from conformance.model.program import Cell, EngineFault, FixedWindows, Output, Program, State, Timer, call, check_timer
from conformance.model.runs import Pack, PackRun, StepCount
from conformance.model.schedule import Advance, Deliver, Event, FailOnce, Restart
from conformance.model.trace import DRAIN, Emission, Trace
from conformance.model.values import Json

Scope = tuple[str, str, str, int]
"""(program, case, key, window start)."""

CAPABILITIES = Capabilities(
    features={
        **dict.fromkeys(Feature, NATIVE),
        Feature.SET: emulated("set as the keys of a map"),
        Feature.COMBINING: emulated("sum in a value cell"),
        Feature.COALESCED: unsupported("toy 0.1 fires what is due as soon as the watermark moves"),
        Feature.NO_DATA: unsupported("toy 0.1 has no bundle without elements"),
        Feature.OUTPUT_TIME: unsupported("toy 0.1 gives an output no time"),
        Feature.SINK_FAILURE: unsupported("toy 0.1 has no sink"),
        Feature.CRASH: unsupported("toy 0.1 writes its state once a bundle is done"),
        Feature.CURRENT_TIME: unsupported("toy 0.1 has no clock"),
        Feature.PARTITIONS: unsupported("toy 0.1 keeps its state in one place"),
        Feature.PROCESSING_TIME: unsupported("toy 0.1 has no clock"),
        Feature.PROCESSING_TIMERS: unsupported("toy 0.1 has no clock"),
        Feature.TTL: unsupported("toy 0.1 has no clock"),
        Feature.INSPECTION: unsupported("toy 0.1 shows nobody its state"),
        Feature.ROW_COUNT: unsupported("toy 0.1 counts no rows"),
        Feature.TYPED: unsupported("toy 0.1 keeps JSON alone"),
        Feature.CONTAINERS: unsupported("toy 0.1 keeps JSON alone"),
        Feature.TYPED_KEYS: unsupported("toy 0.1 has texts as keys"),
        Feature.NULL_KEYS: unsupported("toy 0.1 has texts as keys"),
        Feature.MISFITS: unsupported("toy 0.1 keeps JSON alone"),
        Feature.INITIAL_STATE: unsupported("toy 0.1 starts without state"),
    },
    lateness=LatenessProfile(Lateness.AT_OR_BEHIND, Lateness.WINDOW_EXPIRED),
    largest_pack=60,
    parallel=2,
)


class Stored:
    """The text of one cell in one scope; a read of it is a read of the store, and so is a write."""

    def __init__(self, job: Job, scope: Scope, name: str) -> None:
        self.job, self.at, self.case = job, (scope, name), scope[1]

    def read(self, default: Json) -> Json:
        text = self.job.state.get(self.at)
        return default if text is None else json.loads(text)

    def write(self, value: Json) -> None:
        self.job.state[self.at] = json.dumps(value)
        self.job.touched.add(self.case)

    def clear(self) -> None:
        self.job.state.pop(self.at, None)
        self.job.touched.add(self.case)


class Value(Stored):
    def get(self, default: Json = None) -> Json:
        return self.read(default)

    def set(self, value: Json) -> None:
        self.write(value)


class Bag(Stored):
    def get(self) -> list[Json]:
        return self.read([])

    def add(self, value: Json) -> None:
        self.write([*self.read([]), value])

    def set(self, values: list[Json]) -> None:
        self.write(values)


class Map(Stored):
    def get(self, key: str, default: Json = None) -> Json:
        return self.read({}).get(key, default)

    def put(self, key: str, value: Json) -> None:
        self.write(self.read({}) | {key: value})

    def remove(self, key: str) -> None:
        self.write({k: v for k, v in self.read({}).items() if k != key})

    def items(self) -> list[tuple[str, Json]]:
        return list(self.read({}).items())


class Set(Stored):
    def get(self) -> list[str]:
        return list(self.read({}))

    def add(self, value: str) -> None:
        self.write(self.read({}) | {value: None})


class Combining(Stored):
    def get(self) -> int:
        return self.read(0)

    def add(self, value: int) -> None:
        self.write(self.read(0) + value)


class Timers:
    def __init__(self, job: Job, scope: Scope, declared: tuple[str, ...]) -> None:
        self.job, self.scope, self.declared = job, scope, declared

    def set(self, name: str, time: int, tag: str = "") -> None:
        check_timer(self.declared, name)
        if type(time) is not int:
            raise EngineFault(f"toy 0.1 cannot set a timer for {time!r}")
        self.job.set_timer(self.scope, name, tag, time)

    def clear(self, name: str, tag: str = "") -> None:
        check_timer(self.declared, name)
        self.job.timers.pop((self.scope, name, tag), None)


class Job:
    """One pack, from the first step to the last."""

    cells: Mapping[Cell, type[Stored]] = {
        Cell.VALUE: Value,
        Cell.BAG: Bag,
        Cell.MAP: Map,
        Cell.SET: Set,
        Cell.COMBINING: Combining,
    }

    def __init__(self, pack: Pack, programs: Mapping[str, Program], checkpoint: Path) -> None:
        self.pack, self.programs, self.checkpoint = pack, programs, checkpoint
        self.state: dict[tuple[Scope, str], str] = {}
        self.timers: dict[tuple[Scope, str, str], int] = {}
        self.emissions: dict[str, list[Emission]] = {case.id: [] for case in pack.cases}
        self.touched: set[str] = set()
        self.untouched: set[str] = set()
        self.counts: list[StepCount] = []
        self.watermark = 0
        self.step = 0
        self.fails = False

    def run(self) -> PackRun:
        for step in self.pack.timeline:
            self.step = step.id
            if isinstance(step, Advance):
                self.advance(step)
            elif isinstance(step, Deliver):
                self.deliver(step)
            elif isinstance(step, FailOnce):
                self.fails = True
            elif isinstance(step, Restart):
                self.restart()
            else:
                raise NotImplementedError(f"toy 0.1 knows no {type(step).__name__}")
        self.end()
        return self.result()

    def result(self) -> PackRun:
        traces = {case: Trace.collect(found) for case, found in self.emissions.items()}
        return PackRun(traces, tuple(self.counts), frozenset(self.untouched))

    def advance(self, step: Advance) -> None:
        self.watermark = step.watermark
        self.fire()

    def end(self) -> None:
        """The end of the stream: what is still set fires."""
        self.watermark, self.step = 2**62, DRAIN
        self.fire()

    def deliver(self, step: Deliver) -> None:
        if self.fails:
            self.fails = False
            self.fail(step)
        rows = list(self.pack.bundle(step.id))
        late = len(rows) - self.attempt(step)
        self.counts.append(StepCount(step.id, len(rows), len(rows) - late, late))
        self.fire()

    def fail(self, step: Deliver) -> None:
        """An attempt that comes to nothing."""
        self.save()
        self.touched.clear()
        output = {case: list(found) for case, found in self.emissions.items()}
        self.attempt(step)
        self.untouched = {case.id for case in self.pack.cases} - self.touched
        self.emissions = output
        self.load()

    def restart(self) -> None:
        self.save()
        self.load()

    def save(self) -> None:
        stored = [list(self.state.items()), list(self.timers.items())]
        self.checkpoint.write_text(json.dumps(stored), encoding="utf-8")

    def load(self) -> None:
        state, timers = json.loads(self.checkpoint.read_text(encoding="utf-8"))
        self.state = {(tuple(scope), name): text for (scope, name), text in state}
        self.timers = {(tuple(scope), name, tag): time for (scope, name, tag), time in timers}

    def attempt(self, step: Deliver) -> int:
        """How many rows of a bundle were not late."""
        accepted = [row for row in self.pack.bundle(step.id) if not self.late(*row)]
        for case, event in accepted:
            self.process(case, event)
        return len(accepted)

    def late(self, case: Case, event: Event) -> bool:
        windowing = self.programs[program_ref(case.scenario, case.program)].windowing
        if isinstance(windowing, FixedWindows):
            return windowing.expiry(event.event_time) <= self.watermark
        return event.event_time <= self.watermark

    def scope(self, case: Case, event: Event) -> Scope:
        name = program_ref(case.scenario, case.program)
        windowing = self.programs[name].windowing
        return name, case.id, event.key, windowing.start(event.event_time) if isinstance(windowing, FixedWindows) else 0

    def process(self, case: Case, event: Event) -> None:
        self.call(self.scope(case, event), "on_event", event)

    def set_timer(self, scope: Scope, name: str, tag: str, time: int) -> None:
        self.timers[scope, name, tag] = time
        self.touched.add(scope[1])

    def fire(self) -> None:
        while due := [(time, which) for which, time in self.timers.items() if time <= self.watermark]:
            time, which = min(due)
            del self.timers[which]
            self.fire_one(time, which)

    def fire_one(self, time: int, which: tuple[Scope, str, str]) -> None:
        scope, name, tag = which
        self.call(scope, "on_timer", Timer(name, tag, scope[2], time))

    def state_of(self, scope: Scope) -> State:
        cells = self.programs[scope[0]].cells
        return State({name: self.cells[kind](self, scope, name) for name, kind in cells.items()})

    def call(self, scope: Scope, callback: str, subject: Event | Timer) -> None:
        program = self.programs[scope[0]]
        timers = Timers(self, scope, program.timers)
        try:
            outputs = call(getattr(program, callback), subject, self.state_of(scope), timers)
        except EngineFault as fault:
            raise EngineFault(f"[case {scope[1]}] {fault}") from fault
        for output in outputs:
            self.emit(scope, output)

    def emit(self, scope: Scope, output: Output) -> None:
        emission = Emission(scope[2], output.value, self.step, output.event_time, output.error)
        self.emissions[scope[1]].append(emission)


class Toy:
    id = "toy"
    title = "toy (a tiny stream processor in memory)"
    capabilities = CAPABILITIES
    job: type[Any] = Job

    def __init__(self) -> None:
        self.folder: Path | None = None
        self.numbers = itertools.count()

    def check(self) -> None:
        pass

    def open(self, folder: Path) -> None:
        self.folder = folder

    def close(self) -> None:
        self.folder = None

    def environment(self) -> dict[str, str]:
        return {"toy": "0.1", "python": platform.python_version()}

    def evidence(self) -> dict[Feature, str]:
        return {Feature.PARTITIONS: "NotImplementedError: toy 0.1 knows no Partitions"}

    def run(self, pack: Pack, programs: Mapping[str, Program]) -> PackRun:
        assert self.folder
        result: PackRun = self.job(pack, programs, self.folder / f"checkpoint-{next(self.numbers)}.json").run()
        return result
