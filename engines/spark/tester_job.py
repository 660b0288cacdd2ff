"""A pack on PySpark's TwsTester, call by call; and what the tester answers when it is asked for what it lacks.

The tester knows keys and no micro-batches: who calls it says in which order the keys of a bundle come. Here they come in the order
of their first row in the bundle, each with all its rows, in theirs. ``setWatermark`` fires what is due, one key after the other, in the
order in which they last came to have a timer; transformWithState goes by time (PySpark 4.3.0, both).
"""

from __future__ import annotations

import inspect
import json
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta, timezone
from typing import Any

from pyspark.sql import Row
from pyspark.sql.streaming import StatefulProcessor
from pyspark.sql.streaming.tws_tester import TwsTester

from conformance.engine import Feature, NotDriven
from conformance.model import (
    Advance,
    Case,
    Deliver,
    Emission,
    Event,
    Pack,
    PackRun,
    Step,
    StepCount,
    Trace,
    program_ref,
)
from conformance.program import FixedWindows, Program
from engines.spark.operator import HEARTBEAT, Key
from engines.spark.row_processor import RowProcessor

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)

INPUT = Row("program", "case", "key", "window", "step", "id", "value", "event_time", "partition")
"""A row as the stream of the Spark columns has it."""

HEARTBEAT_KEY: Key = (HEARTBEAT, "", "", 0)


class Processor(RowProcessor):
    """The processor of the real operator. The tester hands it ``(key,)`` where transformWithState hands it the grouping columns
    (PySpark 4.3.0). It keeps the watermark of its last call."""

    watermark = -1

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Any:
        self.watermark = timerValues.getCurrentWatermarkInMs()
        return super().handleInputRows(key[0], rows, timerValues)

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Any:
        self.watermark = timerValues.getCurrentWatermarkInMs()
        return super().handleExpiredTimer(key[0], timerValues, expiredTimerInfo)


def run(pack: Pack, programs: Mapping[str, Program]) -> PackRun:
    """Run a pack on a tester of its own.

    Raises:
        NotDriven: the tester was not handed the schedule's rows, or is at another watermark.
        EngineFault: it refused a call; its message names the case.
    """
    return _Job(pack, programs).run()


class _Job:
    def __init__(self, pack: Pack, programs: Mapping[str, Program]) -> None:
        self.pack = pack
        self.programs = {name: programs[name] for name in {program_ref(c.scenario, c.program) for c in pack.cases}}
        self.emissions: dict[str, list[Emission]] = {case.id: [] for case in pack.cases}
        self.seen = Counter[tuple[str, str]]()  # (case, event) of the rows whose time the tester asked for
        self.processor = Processor(self.programs)
        self.tester = TwsTester(self.processor, timeMode="EventTime", eventTimeExtractor=self._event_time)

    def run(self) -> PackRun:
        watermark, counts = 0, []
        for step in self.pack.clock:
            if isinstance(step, Deliver):
                counts.append(self._deliver(step))
            elif isinstance(step, Advance) and not step.coalesced:
                watermark = step.watermark
                self._take(step, self.tester.setWatermark(watermark))
            else:
                raise NotDriven(f"step {step.id}: TwsTester has nothing for {step}")
            self._prove_watermark(step, watermark)
        return PackRun({case: Trace.collect(found) for case, found in self.emissions.items()}, tuple(counts))

    def _deliver(self, step: Deliver) -> StepCount:
        wanted = Counter((case.id, event.id) for case, event in self.pack.bundle(step.id))
        rows: dict[Key, list[Row]] = {}
        for case, event in self.pack.bundle(step.id):
            rows.setdefault(self._key(case, event), []).append(self._row(case, event, step))
        self.seen.clear()
        received = sum(self._take(step, self.tester.test(key, of_key)) for key, of_key in rows.items())
        if self.seen != wanted:
            raise NotDriven(f"step {step.id}: the tester looked at {self.seen.total()} rows, not the {wanted.total()} asked for")
        return StepCount(step.id, self.seen.total(), received, None)

    def _prove_watermark(self, step: Step, watermark: int) -> None:
        """A heartbeat tells the watermark."""
        beat = INPUT(*HEARTBEAT_KEY, step.id, "", "null", EPOCH + timedelta(milliseconds=watermark + 1), 0)
        self.tester.test(HEARTBEAT_KEY, [beat])
        if self.processor.watermark != watermark:
            raise NotDriven(f"after step {step.id} the tester is at watermark {self.processor.watermark}, not {watermark}")

    def _take(self, step: Step, rows: Iterable[Any]) -> int:
        """Keep the emissions among output rows; how many rows programs received."""
        received = 0
        for row in rows:
            if row.step not in (None, step.id):
                raise NotDriven(f"a row of step {row.step} came out in step {step.id}")
            received += row.received or 0
            if row.value is not None:
                emission = Emission(row.key, json.loads(row.value), step.id, row.emitted_at, row.error)
                self.emissions[row.case].append(emission)
        return received

    def _key(self, case: Case, event: Event) -> Key:
        program = program_ref(case.scenario, case.program)
        windowing = self.programs[program].windowing
        window = windowing.start(event.event_time) if isinstance(windowing, FixedWindows) else 0
        return program, case.id, event.key, window

    def _row(self, case: Case, event: Event, step: Step) -> Row:
        time = EPOCH + timedelta(milliseconds=event.event_time)
        return INPUT(*self._key(case, event), step.id, event.id, json.dumps(event.value), time, 0)

    def _event_time(self, row: Any) -> int:
        self.seen[row.case, row.id] += 1
        return (row.event_time - EPOCH) // timedelta(milliseconds=1)


class _Counting(StatefulProcessor):
    """Counts its rows, and fails at the value "fails" after it has counted it. Every row sets a timer for 150 ms."""

    def init(self, handle: Any) -> None:
        self._handle, self._count = handle, handle.getValueState("count", "n long")

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Any:
        for row in rows:
            self._count.update(((self._count.get() or (0,))[0] + 1,))
            self._handle.registerTimer(150)
            if row.value == "fails":
                raise RuntimeError("this failure was asked for")
            yield Row(value=row.value)

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Any:
        yield Row(fired=expiredTimerInfo.getExpiryTimeInMs())


def evidence() -> dict[Feature, str]:
    """What the tester answers when it is asked for what it lacks."""
    made = f"TwsTester{inspect.signature(TwsTester)}".replace("'", "")
    methods = f"its methods: {', '.join(name for name in dir(TwsTester) if not name.startswith('_'))}"
    return {
        Feature.COALESCED: _an_advance(),
        Feature.PARTITIONS: made,
        Feature.RESTART: methods,
        Feature.RETRY: _a_failure(),
        Feature.RESUME: methods,
        Feature.LATE_COUNTER: f"{_a_late_row()}; {methods}",
    }


def _counting() -> TwsTester:
    return TwsTester(_Counting(), timeMode="EventTime", eventTimeExtractor=lambda row: row.time)


def _an_advance() -> str:
    tester = _counting()
    tester.test("k", [Row(value="a", time=120)])
    return f"with a timer for 150 ms, setWatermark(200) itself returned {tester.setWatermark(200)}"


def _a_failure() -> str:
    tester = _counting()
    try:
        tester.test("k", [Row(value="fails", time=120)])
    except RuntimeError as error:
        return f"test() raised {error!r}, and the state that was written before it stayed: {tester.peekValueState('count', 'k')}"
    return "test() did not raise"


def _a_late_row() -> str:
    tester = _counting()
    tester.setWatermark(100)
    given = [Row(value="late", time=90), Row(value="on time", time=120)]
    return f"of {len(given)} rows, one of them late, test() returned {tester.test('k', given)}"
