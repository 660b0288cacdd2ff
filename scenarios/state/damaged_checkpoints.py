"""Damaged checkpoints: what a job kept for a restart is damaged when the job begins again.

The value of a case's first element says what is damaged. Every element of a key adds one to the key's count and emits
the count. A job may refuse to go on; if it goes on, it counts on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from conformance.model.damage import DAMAGES, damage_of
from conformance.model.feature import Feature
from conformance.model.program import Cell, Emit, JobKind, Program, State, Timers
from conformance.model.scenario import Domain, Finding, Guarantee, Observation, Scenario, Source
from conformance.model.schedule import Event, Restart

RECOVERY = Source(
    "Structured Streaming Programming Guide",
    "recover the previous progress and state of a previous query, and continue where it left off",
    "https://spark.apache.org/docs/4.0.0/streaming/apis-on-dataframes-and-datasets.html",
)


class CountedOn(Program):
    cells = {"count": Cell.COMBINING}
    job = JobKind.DAMAGE

    def on_event(self, event: Event, state: State, timers: Timers, emit: Emit) -> None:
        state.count.add(1)
        emit({"id": event.id, "count": state.count.get()})


def noticed(damage: str) -> Callable[[Observation], Iterator[Finding]]:
    def check(run: Observation) -> Iterator[Finding]:
        """Exercised by a key with elements before and after the restart, where the job goes on, and by every
        refusal."""
        if damage_of(run.case) != damage:
            return
        if run.values("refused"):
            yield True
            return
        begins_again = next(step.id for step in run.case.schedule.steps if isinstance(step, Restart))
        for key, arrivals in run.arrivals_by_key.items():
            before = sum(a.step < begins_again for a in arrivals)
            if 0 < before < len(arrivals):
                counts = sorted(e.value["count"] for e in run.of_key(key))
                # An API that puts out one row a call leaves elements out.
                yield (
                    (len({*counts}) == len(counts) and counts[-1:] == [len(arrivals)])
                    or f"the job went on without a word, and the {len(arrivals)} elements of key {key}, {before} "
                    f"of them before the restart, were counted {counts}"
                )

    return check


SCENARIO = Scenario(
    name="damaged checkpoints",
    summary="A job begins again on a damaged checkpoint: it refuses, or counts on.",
    programs={"counted-on": CountedOn()},
    domain={"counted-on": Domain(offsets=(1, 500), keys=2, values=tuple(DAMAGES), cases=4)},
    complete=False,
    planned=False,
    guarantees=tuple(
        Guarantee(
            f"a job refuses a checkpoint that {words}, or goes on as if it were whole",
            "counted-on",
            noticed(damage),
            needs=frozenset({Feature.DAMAGE}),
            source=RECOVERY,
        )
        for damage, words in DAMAGES.items()
    ),
)
