"""Damaged checkpoints: what a job kept for a restart is damaged when the job begins again.

A job may refuse to go on; if it goes on, what comes out is what comes out of a job whose checkpoint is whole. A program
for each form of state: a count, ids that were seen, counts of windows, rows of a join. The value of a case's first
element says what is damaged; in a join, where values name sides, its key does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import NamedTuple

from conformance.model.damage import DAMAGES, damage_of
from conformance.model.feature import Feature
from conformance.model.program import Cell, Emit, JobKind, Program, State, Timers
from conformance.model.scenario import Domain, Finding, Guarantee, Observation, Scenario, Source
from conformance.model.schedule import Arrival, Event
from conformance.scenarios.stories import stream_join as joins
from conformance.scenarios.stories import windowed_counting as windows
from conformance.scenarios.stories.dedup_within_watermark import Deduplicate

RECOVERY = Source(
    "Structured Streaming Programming Guide",
    "recover the previous progress and state of a previous query, and continue where it left off",
    "https://spark.apache.org/docs/4.0.0/streaming/apis-on-dataframes-and-datasets.html",
)


class CountedOn(Program):
    """Every element of a key adds one to the key's count and emits the count."""

    cells = {"count": Cell.COMBINING}
    job = JobKind.DAMAGE

    def on_event(self, event: Event, state: State, timers: Timers, emit: Emit) -> None:
        state.count.add(1)
        emit({"id": event.id, "count": state.count.get()})


class DeduplicatedOn(Deduplicate):
    job = JobKind.DAMAGE


class WindowedOn(windows.CountPerWindow):
    job = JobKind.DAMAGE


class JoinedOn(joins.InnerJoin):
    job = JobKind.DAMAGE


class Outcome(NamedTuple):
    """Elements that belong together, what they are in words, and what is wrong with what came out of them, or ""."""

    arrivals: list[Arrival]
    words: str
    wrong: str


def counted(run: Observation) -> Iterator[Outcome]:
    for key, arrivals in run.arrivals_by_key.items():
        counts = [e.value["count"] for e in run.of_key(key)]
        yield Outcome(arrivals, f"the {len(arrivals)} elements of key {key}", _counted(counts, arrivals))


def deduplicated(run: Observation) -> Iterator[Outcome]:
    """Asked about ids whose elements have one time: some operators tell elements apart by it."""
    for key, arrivals in run.arrivals_by_key.items():
        if len({a.event.event_time for a in arrivals}) == 1:
            came = [event for emission, event in run.tagged("accepted") if emission.key == key]
            wrong = "" if len(came) == 1 else f"came out as {came}"
            yield Outcome(arrivals, f"the {len(arrivals)} elements of the id {key}", wrong)


def windowed(run: Observation) -> Iterator[Outcome]:
    told = windows.counts(run)
    for (key, start), arrivals in windows.windows(run).items():
        counts = [emission.value["count"] for emission in told.get((key, start), [])]
        words = f"the {len(arrivals)} elements of key {key} in the window from {start}"
        yield Outcome(arrivals, words, _counted(counts, arrivals))


def joined(run: Observation) -> Iterator[Outcome]:
    """Asked about the pairs that are alone to come out for their key in a step: an API that puts out one row a call
    leaves pairs out."""
    came, wanted = joins.pairs(run), joins.matching(run)
    due = [(right.event.key, max(left.step, right.step)) for left, right in wanted.values()]
    for ((left, right), rows), place in zip(wanted.items(), due, strict=True):
        if due.count(place) == 1:
            times = came[left, right]
            wrong = "" if times == 1 else f"came out as a pair {times} times"
            yield Outcome([*rows], f"the rows {left} and {right} of key {place[0]}", wrong)


def _counted(counts: list[int], arrivals: list[Arrival]) -> str:
    """An API that puts out one row a call leaves counts out, and so does an operator that puts out its last one."""
    found = sorted(counts)
    right = len({*found}) == len(found) and found[-1:] == [len(arrivals)]
    return "" if right else f"were counted {found}"


CameOut = Callable[[Observation], Iterator[Outcome]]


def noticed(damage: str, came_out: CameOut = counted) -> Callable[[Observation], Iterator[Finding]]:
    def check(run: Observation) -> Iterator[Finding]:
        """Exercised by what has elements before and behind the restart, where the job goes on, and by every
        refusal."""
        if damage_of(run.case) != damage:
            return
        if run.values("refused"):
            yield True
            return
        begins_again = run.case.schedule.restart
        for arrivals, words, wrong in came_out(run):
            before = sum(a.step < begins_again for a in arrivals)
            if wrong:
                yield f"the job went on without a word, and {words}, {before} of them before the restart, {wrong}"
            elif 0 < before < len(arrivals):
                yield True

    return check


class Job(NamedTuple):
    """A job in words, its program, the inputs to try it on, and what comes out where it goes on."""

    words: str
    program: Program
    domain: Domain
    came_out: CameOut


NAMED = Domain(offsets=(1, 500), keys=2, values=tuple(DAMAGES), cases=4)
"""A value names the damage."""

JOBS = {
    "counted-on": Job("a job", CountedOn(), NAMED, counted),
    "deduplicated-on": Job("a deduplication", DeduplicatedOn(), replace(NAMED, offsets=(0, 1)), deduplicated),
    "windowed-on": Job("a count in windows", WindowedOn(), replace(NAMED, offsets=(1, windows.WINDOW.size)), windowed),
    "joined-on": Job(
        "a join",
        JoinedOn(),
        Domain((1, joins.BOUND), keys=1, names=tuple((d,) for d in DAMAGES), values=(joins.LEFT, joins.RIGHT), cases=4),
        joined,
    ),
}
"""By program."""

SCENARIO = Scenario(
    name="damaged checkpoints",
    summary="A job begins again on a damaged checkpoint: it refuses, or goes on as if nothing were amiss.",
    programs={name: job.program for name, job in JOBS.items()},
    domain={name: job.domain for name, job in JOBS.items()},
    complete=False,
    planned=False,
    guarantees=tuple(
        Guarantee(
            f"{job.words} refuses a checkpoint that {words}, or goes on as if it were whole",
            name,
            noticed(damage, job.came_out),
            needs=frozenset({Feature.DAMAGE}),
            source=RECOVERY,
        )
        for name, job in JOBS.items()
        for damage, words in DAMAGES.items()
    ),
)
