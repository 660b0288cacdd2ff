"""A case on PySpark's TwsTester, call by call.

The tester knows keys and no micro-batches: who calls it says in which order the keys of a bundle come. Here they come
in the order of their first row in the bundle, each with all its rows, in theirs. ``setWatermark`` fires what is due key
by key, in the order in which the keys came to have a timer, and in order of time within a key (PySpark 4.3.0).

Each case has a tester of its own: where a processor's call is refused, the tester's call raises, and what other keys
had to say in it is lost. That is taken for the answer, as a test that catches it would see it: nothing comes out of
that call, the schedule goes on, and the cells have a note.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from typing import Any

from pyspark.errors import IllegalArgumentException
from pyspark.sql import Row
from pyspark.sql.streaming.tws_tester import TwsTester

from conformance.engines.spark.operators.operator import HEARTBEAT, NO_EMISSION, Key, emitted
from conformance.engines.spark.operators.row_processor import RowProcessor
from conformance.engines.spark.operators.tws_operator import Variable, variables
from conformance.engines.spark.state import typed_keys
from conformance.engines.spark.tws import time_mode
from conformance.engines.typed_keys import types_in_use
from conformance.model.case import Case, program_ref
from conformance.model.engine import NotDriven
from conformance.model.program import EngineFault, FixedWindows, JobKind, Program
from conformance.model.runs import Pack, PackRun, StepCount
from conformance.model.schedule import Advance, Deliver, Event, Step, Wait
from conformance.model.trace import Emission, Trace
from conformance.model.values import Json
from conformance.support.grouping import grouped

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)

INPUT = Row("program", "case", "key", "window", "step", "id", "value", "event_time", "partition")
"""A row as the stream of the Spark engines has it."""

HEARTBEAT_KEY: Key = (HEARTBEAT, "", "", 0)


class Tested:
    """Base of processors for the tester, before the class of a real operator's processor. The tester hands a processor
    ``(key,)`` where transformWithState hands it the grouping columns (PySpark 4.3.0). A processor keeps the watermark
    and the processing time of its last call."""

    watermark = now = -1

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Any:
        self._keep(timerValues)
        return super().handleInputRows(key[0], rows, timerValues)  # type: ignore[misc]

    def _keep(self, times: Any) -> None:
        self.watermark, self.now = times.getCurrentWatermarkInMs(), times.getCurrentProcessingTimeInMs()

    def handleInitialState(self, key: Any, initialState: Any, timerValues: Any) -> None:
        super().handleInitialState(key[0], initialState, timerValues)  # type: ignore[misc]

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Any:
        self._keep(timerValues)
        return super().handleExpiredTimer(key[0], timerValues, expiredTimerInfo)  # type: ignore[misc]


class Processor(Tested, RowProcessor):
    """The processor of spark-tws."""


Make = Callable[[Mapping[str, Program], typed_keys.Columns], Any]
"""Makes a processor (``Tested``) for some programs and the columns of their typed keys."""


def _processor(programs: Mapping[str, Program], typed: typed_keys.Columns) -> Processor:
    return Processor(programs, typed=typed)


def _peek(tester: TwsTester, variable: Variable, key: Key) -> list[Json]:
    """What a variable of a key holds; nothing, or one thing."""
    if variable.kind == "value":
        value = tester.peekValueState(variable.name, key)
        return [json.loads(value[0])] if value else []
    if variable.kind == "list":
        elements = [json.loads(stored[0]) for stored in tester.peekListState(variable.name, key)]
        return [elements] if elements else []
    entries = {stored[0]: json.loads(value[0]) for stored, value in tester.peekMapState(variable.name, key).items()}
    return [entries] if entries else []


def run(pack: Pack, programs: Mapping[str, Program], make: Make = _processor) -> PackRun:
    """Run the cases of a pack one after the other, each with a processor of its own.

    Raises:
        NotDriven: the tester was not handed the schedule's rows, or is at another watermark.
        EngineFault: it failed in a call; the message names the case.
    """
    done = {case.id: _Run(case, programs[program_ref(case.scenario, case.program)], make) for case in pack.cases}
    notes: dict[str, set[str]] = {}
    for run in done.values():
        run.run()
        notes.setdefault(run.ref, set()).update(run.refused)
    bundles = (step for step in pack.timeline if isinstance(step, Deliver) and not step.initial)
    counts = {step.id: StepCount(step.id, 0, 0, None) for step in bundles}
    for count in (count for run in done.values() for count in run.counts):
        total = counts[count.step]
        counts[count.step] = replace(
            total, delivered=total.delivered + count.delivered, received=total.received + count.received
        )
    return PackRun(
        {case: Trace.collect(run.emissions) for case, run in done.items()},
        tuple(counts.values()),
        notes={
            ref: f"nothing came out where the tester raised: {'; '.join(sorted(n))}" for ref, n in notes.items() if n
        },
    )


class _Run:
    """One case."""

    def __init__(self, case: Case, program: Program, make: Make) -> None:
        self.case, self.program, self.ref = case, program, program_ref(case.scenario, case.program)
        self.emissions: list[Emission] = []
        self.counts: list[StepCount] = []
        self.refused: set[str] = set()
        self.seen: list[str] = []  # the events whose time the tester asked for
        self.typed = typed_keys.columns_of(types_in_use(Pack((case,)), {self.ref: program}))
        self.beat: Key = (*HEARTBEAT_KEY, *map(typed_keys.filler, self.typed.values()))
        self.processor = make({self.ref: program}, self.typed)
        self.tester = TwsTester(
            self.processor,
            initialStateRow=self._initial() or None,
            timeMode=time_mode({self.ref: program}),
            eventTimeExtractor=None if program.waits else self._event_time,
        )

    def run(self) -> None:
        watermark = elapsed = 0
        for step in self.case.schedule.steps:
            if isinstance(step, Deliver) and step.initial:
                continue  # the tester was made with it
            if isinstance(step, Deliver):
                self._deliver(step)
            elif isinstance(step, Wait):
                elapsed += step.ms
                self._call(step, self.tester.setProcessingTime, elapsed)
            elif self.program.waits and isinstance(step, Advance):
                pass  # in processing time there is no watermark
            elif isinstance(step, Advance) and not step.coalesced:
                watermark = step.watermark
                self._call(step, self.tester.setWatermark, watermark)
            else:
                raise NotDriven(f"step {step.id}: TwsTester has nothing for {step}")
            self._prove_times(step, watermark, elapsed)
        if self.program.job is JobKind.INSPECTION:
            self._inspect(step)

    def _initial(self) -> list[tuple[Key, Row]]:
        first = next((step for step in self.case.schedule.bundles if step.initial), None)
        return [(self._key(event), self._row(event, first)) for event in first.events] if first else []

    def _deliver(self, step: Deliver) -> None:
        rows = grouped((self._key(event), self._row(event, step)) for event in step.events)
        self.seen.clear()
        received = sum(self._call(step, self.tester.test, key, of_key) for key, of_key in rows.items())
        if not self.program.waits and sorted(self.seen) != sorted(event.id for event in step.events):
            raise NotDriven(f"step {step.id}: the tester looked at {self.seen}, the bundle is {step.events}")
        self.counts.append(StepCount(step.id, len(step.events), received, None))

    def _inspect(self, last: Step) -> None:
        """Read from outside what is stored."""
        keys = {self._key(arrival.event) for arrival in self.case.schedule.arrivals}
        for key in sorted(keys):
            for (_, cell), variable in variables({self.ref: self.program}).items():
                for held in _peek(self.tester, variable, key) if cell else ():
                    self.emissions.append(Emission(key[2], {"cell": cell, "stored": held}, last.id))

    def _prove_times(self, step: Step, watermark: int, elapsed: int) -> None:
        """A heartbeat tells the watermark, or the processing time."""
        time = EPOCH + timedelta(milliseconds=watermark + 1)
        self.tester.test(self.beat, [INPUT(*HEARTBEAT_KEY, step.id, "", "null", time, 0)])
        if self.program.waits:
            if (found := self.processor.now) != elapsed:
                raise NotDriven(f"after step {step.id} the tester is at processing time {found}, not {elapsed}")
        elif (found := self.processor.watermark) != watermark:
            raise NotDriven(f"after step {step.id} the tester is at watermark {found}, not {watermark}")

    def _call(self, step: Step, method: Callable[..., Any], *arguments: Any) -> int:
        """Call the tester and keep the emissions among the rows that it returns. Returns how many rows the program
        received."""
        try:
            rows = method(*arguments)
        except EngineFault as fault:
            refusal = _cause(fault)
            if not isinstance(refusal, IllegalArgumentException):
                raise
            # Without the numbers, which differ from case to case.
            self.refused.add(f"IllegalArgumentException: {re.sub('[0-9]+', '…', str(refusal))}")
            return 0
        return self._take(step, rows)

    def _take(self, step: Step, rows: Iterable[Any]) -> int:
        """Keep the emissions among output rows. Returns how many rows the program received."""
        received = 0
        for row in rows:
            own = step.id if row.step is None else row.step
            if own > step.id:
                raise NotDriven(f"a row of step {own} came out in step {step.id}")
            if own == step.id:  # an earlier row that comes out again does so in the trace, and counts once as received
                received += row.received or 0
            if row.value != NO_EMISSION:
                emission = Emission(row.key, emitted(row.value), step.id, row.emitted_at, row.error)
                self.emissions.append(emission)
        return received

    def _key(self, event: Event) -> Key:
        windowing = self.program.windowing
        window = windowing.start(event.event_time) if isinstance(windowing, FixedWindows) else 0
        if not self.typed:
            return self.ref, self.case.id, event.key, window
        key = self.program.typed_key(event.key)
        plain = (self.ref, self.case.id, typed_keys.column(key.type), window)
        return (*plain, *typed_keys.values(key, self.typed))

    def _row(self, event: Event, step: Step) -> Row:
        time = EPOCH + timedelta(milliseconds=event.event_time)
        return INPUT(*self._key(event)[:4], step.id, event.id, json.dumps(event.value), time, 0)

    def _event_time(self, row: Any) -> int:
        self.seen.append(row.id)
        return (row.event_time - EPOCH) // timedelta(milliseconds=1)


def _cause(error: BaseException) -> BaseException:
    """What an exception was raised from, at the end of the chain."""
    while error.__cause__ is not None:
        error = error.__cause__
    return error
