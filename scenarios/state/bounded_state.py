"""Bounded state: a reader outside the job finds nothing of a key for which nothing can happen any more.

Programs in production run for years. A key that is never forgotten costs memory for ever, and no output shows it. Each
program here
forgets: an id when its horizon has passed, a window at its end, a session when it closes, a row when its last partner
would be late. When the schedule has ended, all of that has passed, and a reader outside the job reads what is stored.
The programs are those of the scenarios on deduplication, windows, sessions and joins. One program remembers for longer
than any schedule lasts, so that a reader that finds nothing anywhere is seen.

Who runs a job watches its state by the number of rows that the engine itself reports. For the same programs that number
is compared with what the reader finds.
"""

from __future__ import annotations

from collections.abc import Iterator

from conformance.model.feature import Feature
from conformance.model.perturbation import RECOVERIES
from conformance.model.program import Cell, Emit, JobKind, Program, State, Timer, Timers
from conformance.model.scenario import Domain, Finding, Guarantee, Guarantees, Observation, Scenario, Source
from conformance.model.schedule import Event
from conformance.scenarios.stories.dedup_within_watermark import HORIZON, Deduplicate
from conformance.scenarios.stories.session_timeout import GAP, SessionTimeout
from conformance.scenarios.stories.stream_join import BOUND, LEFT, RIGHT, InnerJoin
from conformance.scenarios.stories.windowed_counting import WINDOW

GUIDE = "https://spark.apache.org/docs/4.3.0/streaming/apis-on-dataframes-and-datasets.html"
AGGREGATES = Source(
    "Spark Structured Streaming guide, Conditions for watermarking to clean aggregation state",
    "the system needs to know when an old aggregate can be dropped from the in-memory state",
    GUIDE,
)


class Forgets(Deduplicate):
    job = JobKind.INSPECTION


class Remembers(Deduplicate):
    """Sets no timer: the horizon of an id is without end."""

    job = JobKind.INSPECTION

    def on_event(self, event: Event, state: State, timers: Timers, emit: Emit) -> None:
        if state.first.get() is None:
            state.first.set(event.id)
            emit({"accepted": event.id})


class CountsPerWindow(Program):
    cells = {"count": Cell.VALUE}
    timers = ("end",)
    times = ("window",)
    windowing = WINDOW
    job = JobKind.INSPECTION

    def on_event(self, event: Event, state: State, timers: Timers, emit: Emit) -> None:
        state.count.set(state.count.get(0) + 1)
        timers.set("end", WINDOW.expiry(event.event_time))

    def on_timer(self, timer: Timer, state: State, timers: Timers, emit: Emit) -> None:
        emit({"window": timer.time - WINDOW.size, "count": state.count.get()})
        state.count.clear()


class Sessions(SessionTimeout):
    job = JobKind.INSPECTION

    def on_timer(self, timer: Timer, state: State, timers: Timers, emit: Emit) -> None:
        super().on_timer(timer, state, timers, emit)
        if not state.open.get():
            state.open.clear()


class Join(InnerJoin):
    job = JobKind.INSPECTION


class CountedIds(Deduplicate):
    job = JobKind.ROW_COUNT


class CountedWindows(CountsPerWindow):
    job = JobKind.ROW_COUNT


class CountedSessions(Sessions):
    job = JobKind.ROW_COUNT


class CountedJoin(InnerJoin):
    job = JobKind.ROW_COUNT


def entries(run: Observation, key: str) -> list[str]:
    """What the reader found under a key."""
    return [f"{e.value['cell']}: {e.value['stored']}" for e in run.of_key(key) if "cell" in (e.value or {})]


READABLE = frozenset({Feature.INSPECTION})

of_dedup, of_remembered, of_windows, of_sessions, of_join = (
    Guarantees(program, needs=READABLE) for program in ("dedup", "remembered", "windows", "sessions", "join")
)


@of_dedup("nothing of an id is stored when the watermark has passed its horizon")
@of_windows("nothing of a window is stored when the watermark has passed its end", source=AGGREGATES)
@of_sessions("nothing of a session is stored when it has closed")
@of_join("no row is stored when the watermark has passed the times of its partners")
def gone(run: Observation) -> Iterator[Finding]:
    """Exercised by a key that had elements on time."""
    for key in sorted({arrival.event.key for arrival in run.on_time}):
        found = entries(run, key)
        yield not found or f"the key {key!r} is stored for ever: {found[0]}"


@of_remembered("an id is stored while it is remembered")
def kept(run: Observation) -> Iterator[Finding]:
    """Exercised by an id that was accepted: its entry is found, once."""
    for emission, first in run.tagged("accepted"):
        found = entries(run, emission.key)
        yield found == [f"first: {first}"] or f"{first} of the key {emission.key!r} is remembered, stored is {found}"


def reported(run: Observation) -> Iterator[Finding]:
    """Exercised by each comparison of the two numbers."""
    for _, surplus in run.tagged("surplus"):
        yield surplus == 0 or f"the engine reports {surplus:+} rows beyond those that a reader finds"


IDS = Domain((1, 500, HORIZON - 1, HORIZON, HORIZON + 1), keys=3)
WINDOWS = Domain((1, WINDOW.size - 1, WINDOW.size, WINDOW.size + 1), keys=3)
SESSIONS = Domain((1, GAP - 1, GAP, GAP + 1), keys=3)
ROWS = Domain((1, BOUND - 1, BOUND, BOUND + 1), keys=3, values=(LEFT, RIGHT))


SCENARIO = Scenario(
    name="bounded state",
    summary="What is left in the state store when the watermark has passed all that a program waits for.",
    programs={
        "dedup": Forgets(),
        "remembered": Remembers(),
        "windows": CountsPerWindow(),
        "sessions": Sessions(),
        "join": Join(),
        "counted-ids": CountedIds(),
        "counted-windows": CountedWindows(),
        "counted-sessions": CountedSessions(),
        "counted-join": CountedJoin(),
    },
    domain={
        "dedup": IDS,
        "remembered": Domain((1, 500, 20_000), keys=3),
        "windows": WINDOWS,
        "sessions": SESSIONS,
        "join": ROWS,
        "counted-ids": IDS,
        "counted-windows": WINDOWS,
        "counted-sessions": SESSIONS,
        "counted-join": ROWS,
    },
    planned=False,
    guarantees=(
        *of_dedup,
        *of_remembered,
        Guarantee(
            "what is remembered is stored after a restart or a failure",
            "remembered",
            same_under=RECOVERIES,
            needs=READABLE,
        ),
        *of_windows,
        *of_sessions,
        *of_join,
        *(
            Guarantee(f"the reported number of stored {what} is what a reader finds", program, reported)
            for what, program in {
                "ids": "counted-ids",
                "windows": "counted-windows",
                "sessions": "counted-sessions",
                "rows of a join": "counted-join",
            }.items()
        ),
    ),
)
