"""Ports of one program with a timer that moves, and a scenario of their own: as they should be, and each wrong in one
way."""

from dataclasses import replace

import apache_beam as beam
import pandas as pd
from apache_beam.coders import FastPrimitivesCoder
from apache_beam.transforms import userstate
from apache_beam.transforms.timeutil import TimeDomain
from apache_beam.utils.timestamp import Timestamp
from pyspark.sql import Row
from pyspark.sql.streaming import StatefulProcessor

from conformance.model.program import Cell, Program
from conformance.model.scenario import Domain, Guarantees, Scenario
from conformance.plugins.port import BeamPort, Port, SparkPort, moment

GAP = 10_000


class TellIdle(Program):
    cells = {"seen": Cell.VALUE}
    timers = ("idle",)
    times = ("since",)

    def on_event(self, event, state, timers, emit):
        count, latest = state.seen.get([0, 0])
        latest = max(latest, event.event_time)
        state.seen.set([count + 1, latest])
        timers.set("idle", latest + GAP)

    def on_timer(self, timer, state, timers, emit):
        count, latest = state.seen.get()
        state.seen.clear()
        emit({"events": count, "since": latest})


of_idle = Guarantees("idle")


@of_idle("a key is called idle only after the gap")
def idle_for_the_gap(run):
    """An alert comes no sooner than the gap after the latest event that the key had by then."""
    for emission, since in run.tagged("since"):
        due = run.case.schedule.due(since + GAP)
        yield emission.step == due or f"key {emission.key} was called idle in step {emission.step}, not in step {due}"


@of_idle("every event is counted once")
def every_event_is_counted_once(run):
    for key, arrivals in run.arrivals_by_key.items():
        told = sum(e.value["events"] for e in run.of_key(key))
        yield told == len(arrivals) or f"{len(arrivals)} events of key {key}, {told} were counted"


SCENARIO = Scenario(
    name="idle keys",
    summary=f"Tell of a key when it has had no event for {GAP} ms.",
    programs={"idle": TellIdle()},
    domain={"idle": Domain(offsets=(1, 1, 500, 5_000, GAP - 1, GAP + 1, 15_000), keys=2)},
    guarantees=tuple(of_idle),
)


class IdleFn(beam.DoFn):
    SEEN = userstate.ReadModifyWriteStateSpec("seen", FastPrimitivesCoder())
    IDLE = userstate.TimerSpec("idle", TimeDomain.WATERMARK)

    def process(
        self,
        element,
        at=beam.DoFn.TimestampParam,
        window=beam.DoFn.WindowParam,
        seen=beam.DoFn.StateParam(SEEN),
        idle=beam.DoFn.TimerParam(IDLE),
        gap=GAP,
    ):
        count, latest = seen.read() or (0, 0)
        latest = max(latest, at.micros // 1000)
        assert (element, window) == ((element[0], None), beam.window.GlobalWindow())
        seen.write((count + 1, latest))
        idle.set(Timestamp(micros=(latest + gap) * 1000))

    @userstate.on_timer(IDLE)
    def tell(self, key=beam.DoFn.KeyParam, seen=beam.DoFn.StateParam(SEEN)):
        count, latest = seen.read()
        seen.clear()
        yield {"key": key, "events": count, "since": latest}


class IdleProcessor(StatefulProcessor):
    def init(self, handle):
        self.handle = handle
        self.seen = handle.getValueState("seen", "events long, latest long")

    def handleInputRows(self, key, rows, timerValues):
        count, latest = self.seen.get() if self.seen.exists() else (0, 0)
        for row in rows:
            count, latest = count + 1, max(latest, round(row.ts.timestamp() * 1000))
        self.unset()
        self.handle.registerTimer(latest + GAP)
        self.seen.update((count, latest))
        return iter(())

    def unset(self):
        for timer in list(self.handle.listTimers()):
            self.handle.deleteTimer(timer)

    def handleExpiredTimer(self, key, timerValues, expiredTimerInfo):
        if self.seen.exists():
            count, latest = self.seen.get()
            self.seen.clear()
            yield Row(user=key[0], events=count, latest=latest)

    def close(self):
        pass


class IdleFrames(IdleProcessor):
    """For transformWithStateInPandas."""

    def handleInputRows(self, key, rows, timerValues):
        for frame in rows:
            times = frame["ts"].dt.tz_localize("UTC")
            yield from super().handleInputRows(key, [Row(ts=time.to_pydatetime()) for time in times], timerValues)

    def handleExpiredTimer(self, key, timerValues, expiredTimerInfo):
        for row in super().handleExpiredTimer(key, timerValues, expiredTimerInfo):
            yield pd.DataFrame([row.asDict()])


class TimersPileUp(IdleProcessor):
    """Beam moves a timer that is set again, Spark has one more."""

    def unset(self):
        pass


class KeepsAnAttribute(IdleProcessor):
    """Counts in an attribute, whatever the key."""

    def init(self, handle):
        super().init(handle)
        self.counted = 0

    def handleInputRows(self, key, rows, timerValues):
        for _ in rows:
            self.counted += 1
            yield Row(user=key[0], events=self.counted, latest=0)


class KeepsAnAttributeFn(IdleFn):
    counted = 0

    def process(self, element, seen=beam.DoFn.StateParam(IdleFn.SEEN)):
        self.counted += 1
        yield {"events": self.counted, "since": 0}


class Stops(IdleProcessor):
    def handleInputRows(self, key, rows, timerValues):
        if key == ("b",):
            raise LookupError("no b\nhere")
        return super().handleInputRows(key, rows, timerValues)


class StopsFn(IdleFn):
    def process(self, element, seen=beam.DoFn.StateParam(IdleFn.SEEN), idle=beam.DoFn.TimerParam(IdleFn.IDLE)):
        if element[0] == "b":
            raise LookupError("no b\nhere")
        return super().process(element, Timestamp(5), beam.window.GlobalWindow(), seen, idle)


def tell_idle(key, frames, state):
    """For applyInPandasWithState."""
    if state.hasTimedOut:
        count, latest = state.get
        state.remove()
        yield pd.DataFrame({"user": [key[0]], "events": [count], "latest": [latest]})
        return
    count, latest = state.get if state.exists else (0, 0)
    for frame in frames:
        times = frame["ts"].dt.tz_localize("UTC").map(lambda time: round(time.timestamp() * 1000))
        count, latest = count + len(frame), max(latest, int(times.max()))
    state.update((count, latest))
    state.setTimeoutTimestamp(latest + GAP)


BEAM = BeamPort(dofn=IdleFn, emission=lambda out: {"events": out["events"], "since": out["since"]})
SPARK = SparkPort(
    processor=IdleProcessor,
    input="user string, ts timestamp",
    row=lambda event: {"user": event.key, "ts": moment(event.event_time)},
    output="user string, events long, latest long",
    emission=lambda row: {"events": row["events"], "since": row["latest"]},
)
FUNCTION = replace(SPARK, processor=None, function=tell_idle, state="events long, latest long")
FRAMES = replace(SPARK, processor=None, pandas_processor=IdleFrames)
PORTS = (
    Port(name="idle", scenario=SCENARIO, beam=BEAM, spark=SPARK),
    Port(name="pile-up", scenario=SCENARIO, spark=replace(SPARK, processor=TimersPileUp)),
    Port(name="frames", scenario=SCENARIO, spark=FRAMES),
    Port(name="function", scenario=SCENARIO, spark=FUNCTION),
    Port(
        name="attribute",
        scenario=SCENARIO,
        beam=replace(BEAM, dofn=KeepsAnAttributeFn),
        spark=replace(SPARK, processor=KeepsAnAttribute),
    ),
    Port(name="stops", scenario=SCENARIO, beam=replace(BEAM, dofn=StopsFn), spark=replace(SPARK, processor=Stops)),
)
