"""Rate limit: allow the first LIMIT calls of a user in each fixed window, in order of arrival, and refuse the
others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from conformance.model.equivalence import Equivalence
from conformance.model.feature import Feature
from conformance.model.perturbation import BUNDLINGS, INTERLEAVE, RECOVERIES, RENAMINGS, REORDERINGS, WATERMARKINGS
from conformance.model.program import Cell, Emit, Program, State, Timers
from conformance.model.scenario import Domain, Finding, Guarantee, Guarantees, Observation, Scenario, promise
from conformance.model.schedule import Arrival, Event
from conformance.scenarios.documents import ARBITRARY_ORDER, SCOPED
from conformance.scenarios.shared import Predicate, each_once, survives
from conformance.scenarios.stories.windowed_counting import WINDOW, Of, windows

LIMIT = 2
"""How many calls of a user the program allows in a window."""


class LimitRate(Program):
    cells = {"used": Cell.COMBINING}
    labels = ("allowed",)
    windowing = WINDOW

    def on_event(self, event: Event, state: State, timers: Timers, emit: Emit) -> None:
        allowed = state.used.get() < LIMIT
        if allowed:
            state.used.add(1)
        emit({"call": event.id, "allowed": allowed})


def answers(run: Observation, calls: list[Arrival]) -> list[bool]:
    """Whether each call was allowed, in the order in which the engine took them."""
    ids = {call.event.id for call in calls}
    return [e.value["allowed"] for e in run.of_key(calls[0].event.key) if e.value["call"] in ids]


WINDOWED = frozenset({Feature.FIXED_WINDOWS})

of_calls = Guarantees("calls")

every_call_gets_one_answer = of_calls("every call gets one answer")(each_once("call", "got {} answers"))


@of_calls("no more calls than the limit are allowed in a window")
def no_more_than_the_limit(run: Observation) -> Iterator[Finding]:
    """Exercised where a window has more than LIMIT calls."""
    for (key, start), calls in windows(run).items():
        if len(calls) > LIMIT:
            allowed = sum(answers(run, calls))
            yield allowed <= LIMIT or f"{allowed} calls of key {key} were allowed in the window from {start}"


def answered(run: Observation) -> dict[Of, list[Arrival]]:
    """The windows whose calls all got an answer. Another guarantee asks about missing answers."""
    given = {value["call"] for value in run.values("call")}
    return {of: calls for of, calls in windows(run).items() if all(call.event.id in given for call in calls)}


@of_calls("the first calls of a window are allowed")
def the_first_are_allowed(run: Observation) -> Iterator[Finding]:
    """Exercised where a window has more than LIMIT calls. The first calls are the first in order of delivery."""
    allowed = {value["call"]: value["allowed"] for value in run.values("call")}
    for calls in answered(run).values():
        if len(calls) > LIMIT:
            for call in calls[:LIMIT]:
                said = allowed.get(call.event.id)
                yield (
                    said is True or f"{call.event.id} is among the first {LIMIT} of its window and was answered {said}"
                )


@of_calls("a call is refused only when the quota is used up")
def refused_when_the_quota_is_used_up(run: Observation) -> Iterator[Finding]:
    """The order of the calls is that in which the engine took them."""
    for (key, start), calls in answered(run).items():
        given = answers(run, calls)
        first = given.index(False) if False in given else len(given)
        yield (
            first == len(given)
            or first >= LIMIT
            or f"a call of key {key} in the window from {start} was refused after {first} that were allowed"
        )


def _quota_of_its_own(place: int, others: str) -> Predicate:
    """Exercised where several windows (key, start) have this ``place`` in common. Each has a quota of its own."""

    def predicate(run: Observation) -> Iterator[Finding]:
        found = answered(run)
        alike = Counter(of[place] for of in found)
        for of, calls in found.items():
            if alike[of[place]] > 1:
                wanted, allowed = min(LIMIT, len(calls)), sum(answers(run, calls))
                yield allowed == wanted or (
                    f"{allowed} of {len(calls)} calls of key {of[0]} were allowed in the window from {of[1]}, beside "
                    f"other {others}"
                )

    return predicate


the_quota_starts_anew = of_calls("the quota starts anew in each window", source=SCOPED, needs=WINDOWED)(
    _quota_of_its_own(0, "windows")
)
users_do_not_share_a_quota = of_calls("users do not share a quota", source=SCOPED)(_quota_of_its_own(1, "users"))


SCENARIO = Scenario(
    name="rate limit",
    summary=f"Allow {LIMIT} calls of a user in each window of {WINDOW.size} ms, refuse the others.",
    programs={"calls": LimitRate()},
    domain={"calls": Domain(offsets=(1, 1, 2, 500, 3_000, 5_000, 10_000, -1, -500), keys=2, events=10)},
    # Which calls are allowed depends on their order; how many does not. Order is kept within a window of a key, not
    # between windows.
    stable_under={
        "calls": promise(REORDERINGS, Equivalence.SAME_UP_TO_RELABELLING)
        | promise((INTERLEAVE, *BUNDLINGS, *WATERMARKINGS, *RECOVERIES, *RENAMINGS), Equivalence.SAME_MULTISET)
    },
    guarantees=(
        *of_calls,
        Guarantee(
            "how many calls are allowed ignores order",
            "calls",
            same_under=REORDERINGS,
            alike=Equivalence.SAME_UP_TO_RELABELLING,
            source=ARBITRARY_ORDER,
        ),
        *survives("answers are", "calls", Equivalence.SAME_MULTISET),
    ),
)
