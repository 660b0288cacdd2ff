"""The current time: within a micro-batch all expressions for it give one time, also when the micro-batch is run again.

The program stands for a query with such expressions before and behind a stateful operator. It puts out which of them
agree with ``current_timestamp()`` before the operator, and no time, since no two runs have the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

from conformance.model.equivalence import Equivalence
from conformance.model.perturbation import RECOVERIES
from conformance.model.program import Emit, Program, State, Timers
from conformance.model.scenario import Domain, Finding, Guarantee, Guarantees, Observation, Scenario, Source, promise
from conformance.model.schedule import Event
from conformance.scenarios.shared import once

SQL = "https://spark.apache.org/docs/4.3.0/api/sql/index.html"

EXPRESSIONS = {
    "current_timestamp() behind the operator": Source(
        "Spark SQL functions, current_timestamp", "Returns the current timestamp at the start of query evaluation", SQL
    ),
    "now() before the operator": Source(
        "Spark SQL functions, now", "Returns the current timestamp at the start of query evaluation", SQL
    ),
    "now() behind the operator": Source(
        "Spark SQL functions, now", "Returns the current timestamp at the start of query evaluation", SQL
    ),
    "localtimestamp() before the operator": Source(
        "Spark SQL functions, localtimestamp",
        "Returns the current timestamp without time zone at the start of query evaluation",
        SQL,
    ),
}
"""Expression -> who says what it gives."""


class OneTime(Program):
    """Puts out the expressions that agree, for each id once."""

    stamped = True

    def on_event(self, event: Event, state: State, timers: Timers, emit: Emit) -> None:
        emit({"id": event.id, "agree": list(EXPRESSIONS)})


def agrees(expression: str) -> Callable[[Observation], Iterator[Finding]]:
    def predicate(run: Observation) -> Iterator[Finding]:
        for emission, agreeing in run.tagged("agree"):
            told = f"for element {emission.value['id']} of key {emission.key}, {expression} is another time"
            yield expression in agreeing or told

    return predicate


of_one_time = Guarantees("one time")


@of_one_time("each on-time element comes out once")
def comes_out_once(run: Observation) -> Iterator[Finding]:
    came = Counter((emission.key, emission.value["id"]) for emission, _ in run.tagged("agree"))
    for arrival in run.on_time:
        key, id = arrival.event.key, arrival.event.id
        yield once(f"element {id} of key {key} came out", came[key, id])


SCENARIO = Scenario(
    name="current time",
    summary="Put out which expressions for the current time agree with current_timestamp(), for each element.",
    programs={"one time": OneTime()},
    domain={"one time": Domain(offsets=(1, 500, 20_000), keys=2, events=6)},
    stable_under={"one time": promise(RECOVERIES, Equivalence.SAME_MULTISET)},
    planned=False,
    guarantees=(
        *(
            Guarantee(
                f"{expression} is the time of current_timestamp() in its micro-batch",
                "one time",
                agrees(expression),
                source=source,
            )
            for expression, source in EXPRESSIONS.items()
        ),
        *of_one_time,
    ),
)
