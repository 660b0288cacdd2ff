"""Anomaly detection: compare each reading of a sensor with the mean of the readings before it, and emit changed
predictions only.

This is the example of the Beam blog's post on stateful processing. The predictions depend on the order of the readings,
by design. The model, a sum and a number, does not depend on it. A timer reports the model when the sensor has been
quiet.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from conformance.model.equivalence import Equivalence
from conformance.model.perturbation import BUNDLINGS, INTERLEAVE, RECOVERIES, RENAMINGS, REORDERINGS, UNRELATED_KEY
from conformance.model.program import Cell, Emit, Program, State, Timer, Timers
from conformance.model.scenario import Domain, Finding, Guarantee, Guarantees, Observation, Scenario, promise
from conformance.model.schedule import Event
from conformance.model.trace import Emission
from conformance.scenarios.documents import BEAM_BLOG
from conformance.scenarios.shared import survives

FAR = 10
"""A reading is an anomaly if it is further than this from the mean of the readings before it."""

PAUSE = 10_000
"""How long (ms) a sensor is quiet before a timer reports its model."""

BEAM_CHANGED = BEAM_BLOG.says("If the prediction has changed a significant amount since the last time you output")
BEAM_KEY = BEAM_BLOG.says("this is a model just for the UserId of the Event currently being processed")


def is_anomaly(reading: int, total: int, number: int) -> bool:
    """Whether a reading is far from the mean of ``number`` others that add up to ``total``; False for the first
    reading."""
    return abs(reading * number - total) > FAR * number


class DetectAnomalies(Program):
    cells = {"total": Cell.COMBINING, "number": Cell.COMBINING, "anomaly": Cell.VALUE, "latest": Cell.VALUE}
    timers = ("quiet",)

    def on_event(self, event: Event, state: State, timers: Timers, emit: Emit) -> None:
        anomaly = is_anomaly(event.value, state.total.get(), state.number.get())
        state.total.add(event.value)
        state.number.add(1)
        if anomaly is not state.anomaly.get():
            state.anomaly.set(anomaly)
            emit({"id": event.id, "anomaly": anomaly})
        if event.event_time > state.latest.get(-1):
            state.latest.set(event.event_time)
            timers.set("quiet", event.event_time + PAUSE)

    def on_timer(self, timer: Timer, state: State, timers: Timers, emit: Emit) -> None:
        emit({"total": state.total.get(), "number": state.number.get()})


def predictions(run: Observation, key: str) -> list[Emission]:
    return [e for e in run.of_key(key) if "anomaly" in e.value]


of_predictions = Guarantees("predictions")


@of_predictions("the first reading gives a prediction")
def the_first_reading_gives_a_prediction(run: Observation) -> Iterator[Finding]:
    for key, arrivals in run.arrivals_by_key.items():
        first = {arrival.event.id for arrival in arrivals if arrival.step == arrivals[0].step}
        given = predictions(run, key)[:1]
        yield (
            any(e.value["id"] in first for e in given)
            or f"the first bundle of key {key} has {', '.join(sorted(first))}, its first prediction is "
            f"{given and given[0].value}"
        )


@of_predictions("a prediction is put out only when it changed", source=BEAM_CHANGED)
def only_when_it_changed(run: Observation) -> Iterator[Finding]:
    for key in run.arrivals_by_key:
        for one, two in itertools.pairwise(e.value for e in predictions(run, key)):
            yield one["anomaly"] is not two["anomaly"] or (
                f"{one['id']} and after it {two['id']} of key {key} both gave the prediction {one['anomaly']}"
            )


@of_predictions("the predictions follow the readings in the order of their delivery")
def follows_the_readings(run: Observation) -> Iterator[Finding]:
    for key, arrivals in run.arrivals_by_key.items():
        wanted: list[tuple[str, bool]] = []
        for number, event in enumerate(arrival.event for arrival in arrivals):
            anomaly = is_anomaly(event.value, sum(a.event.value for a in arrivals[:number]), number)
            if not wanted or wanted[-1][1] is not anomaly:
                wanted.append((event.id, anomaly))
        given = [(e.value["id"], e.value["anomaly"]) for e in predictions(run, key)]
        yield given == wanted or f"the readings of key {key} ask for the predictions {wanted}, it gave {given}"


@of_predictions("sensors do not share a model", source=BEAM_KEY)
def sensors_do_not_share_a_model(run: Observation) -> Iterator[Finding]:
    """Exercised where there are several sensors.

    A new sensor has an empty model, so its first reading is no anomaly. The predicate asks only where the sensor's
    first bundle has one
    reading: then the first prediction is certainly that of the first reading.
    """
    if len(run.arrivals_by_key) > 1:
        for key, arrivals in run.arrivals_by_key.items():
            alone = sum(arrival.step == arrivals[0].step for arrival in arrivals) == 1
            for first in predictions(run, key)[: int(alone)]:
                yield first.value["anomaly"] is False or f"the first prediction of key {key} is that of an anomaly"


@of_predictions("the last report has every reading")
def the_last_report_has_all_readings(run: Observation) -> Iterator[Finding]:
    for key, arrivals in run.arrivals_by_key.items():
        readings = [arrival.event.value for arrival in arrivals]
        reports = [e.value for e in run.of_key(key) if "total" in e.value]
        wanted = {"total": sum(readings), "number": len(readings)}
        yield reports[-1:] == [wanted] or f"the readings of key {key} are {readings}, its last report is {reports[-1:]}"


SCENARIO = Scenario(
    name="anomaly detection",
    summary=f"Predict whether a reading is further than {FAR} from the mean before it; put out what changed.",
    programs={"predictions": DetectAnomalies()},
    domain={"predictions": Domain(offsets=(1, 2, 500, 5_000, PAUSE, -500), keys=2, values=(10, 12, 15, 21, 40))},
    stable_under={
        "predictions": promise(REORDERINGS, Equivalence.SAME_FINAL_VALUE)
        | promise((INTERLEAVE, *BUNDLINGS, *RECOVERIES, *RENAMINGS), Equivalence.IDENTICAL)
    },
    guarantees=(
        *of_predictions,
        Guarantee(
            "the predictions of a sensor ignore other sensors",
            "predictions",
            same_under=(INTERLEAVE, UNRELATED_KEY),
            source=BEAM_KEY,
        ),
        Guarantee(
            "the last report ignores order", "predictions", same_under=REORDERINGS, alike=Equivalence.SAME_FINAL_VALUE
        ),
        Guarantee("predictions ignore bundling", "predictions", same_under=BUNDLINGS),
        *survives("predictions are", "predictions"),
    ),
)
