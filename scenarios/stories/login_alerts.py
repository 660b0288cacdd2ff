"""Login alerts: keep the last logins of a user, and raise an alert for a login that is out of reach from the one before
it.

A place is a point on a line, in km. Logins come in any order, so event time tells which login is the one before. The
predicates follow the logins in the order in which the engine took them, which is the order of a key's emissions. So the
predicates say nothing about the order of delivery.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from conformance.model.equivalence import Equivalence
from conformance.model.perturbation import (
    BUNDLINGS,
    INTERLEAVE,
    RECOVERIES,
    RENAMINGS,
    REORDERINGS,
    UNRELATED_KEY,
    WATERMARKINGS,
)
from conformance.model.program import Cell, Emit, Program, State, Timers
from conformance.model.scenario import Domain, Finding, Guarantee, Guarantees, Observation, Scenario, promise
from conformance.model.schedule import Event
from conformance.model.values import Json
from conformance.scenarios.documents import SCOPED
from conformance.scenarios.shared import each_once, survives

KEPT = 3
"""How many logins of a user the program keeps."""

MS_PER_KM = 4_000
"""How long (ms) an airliner needs for a kilometre."""


class Login(NamedTuple):
    """Logins sort by their event time (ms). ``place`` is in km."""

    time: int
    id: str
    place: int


def is_jump(before: list[Login], login: Login) -> bool:
    """Whether a login is out of reach from the latest login before it."""
    previous = max((other for other in before if other < login), default=None)
    return previous is not None and abs(login.place - previous.place) * MS_PER_KM > login.time - previous.time


class LoginAlerts(Program):
    """A login emits whether it raises an alert, and then the logins that the program keeps of the user."""

    cells = {"logins": Cell.BAG}

    def on_event(self, event: Event, state: State, timers: Timers, emit: Emit) -> None:
        login = Login(event.event_time, event.id, event.value)
        before = [Login(*kept) for kept in state.logins.get()]
        emit({"login": event.id, "alert": is_jump(before, login)})
        state.logins.clear()
        for kept in sorted([*before, login])[-KEPT:]:
            state.logins.add(list(kept))
        emit({"kept": [id for _, id, _ in sorted(state.logins.get())]})


class Taken(NamedTuple):
    """A login that the engine took, the logins to keep before it, whether it emitted an alert, and the logins that it
    emitted as kept."""

    login: Login
    before: list[Login]
    alert: bool
    kept: Json


def taken(run: Observation) -> Iterator[Taken]:
    """Every login of every user, in the order in which the engine took them."""
    for key, arrivals in run.arrivals_by_key.items():
        logins = {a.event.id: Login(a.event.event_time, a.event.id, a.event.value) for a in arrivals}
        values = [emission.value for emission in run.of_key(key)]
        before: list[Login] = []
        for value, after in zip(values, [*values[1:], {}], strict=True):
            if login := logins.get(value.get("login")):
                yield Taken(login, before, value["alert"], after.get("kept"))
                before = sorted([*before, login])[-KEPT:]


of_alerts = Guarantees("alerts")

every_login_is_checked_once = of_alerts("every login is checked once")(each_once("login", "was checked {} times"))


@of_alerts("no more than the last three logins are kept")
def no_more_are_kept(run: Observation) -> Iterator[Finding]:
    for emission, kept in run.tagged("kept"):
        yield len(kept) <= KEPT or f"of key {emission.key} {', '.join(kept)} are kept, the most is {KEPT}"


@of_alerts("the logins kept are the newest")
def the_newest_are_kept(run: Observation) -> Iterator[Finding]:
    for login, before, _, kept in taken(run):
        wanted = [id for _, id, _ in sorted([*before, login])[-KEPT:]]
        yield kept == wanted or f"after {login.id} the newest logins are {wanted}, kept are {kept}"


def _alerts(run: Observation, wanted: bool) -> Iterator[Finding]:
    for login, before, alert, _ in taken(run):
        if is_jump(before, login) is wanted:
            known = ", ".join(f"{other.id} ({other.place} km, at {other.time})" for other in before) or "none"
            said = "an alert" if alert else "no alert"
            yield (
                alert is wanted
                or f"{login.id} ({login.place} km, at {login.time}) raised {said}; the logins kept: {known}"
            )


@of_alerts("a login out of reach raises an alert")
def a_jump_raises_an_alert(run: Observation) -> Iterator[Finding]:
    yield from _alerts(run, True)


@of_alerts("a login within reach raises no alert")
def within_reach_raises_no_alert(run: Observation) -> Iterator[Finding]:
    yield from _alerts(run, False)


SCENARIO = Scenario(
    name="login alerts",
    summary=f"Keep the last {KEPT} logins of a user; raise an alert for one out of reach from the login before.",
    programs={"alerts": LoginAlerts()},
    domain={
        "alerts": Domain(
            offsets=(1, 500, 3_999, 4_000, 11_999, 12_000, 20_000, -1, -4_000), keys=2, values=(0, 1, 3, 40)
        )
    },
    stable_under={
        "alerts": promise(REORDERINGS, Equivalence.SAME_FINAL_VALUE)
        | promise((INTERLEAVE, *BUNDLINGS, *WATERMARKINGS, *RECOVERIES, *RENAMINGS), Equivalence.IDENTICAL)
    },
    guarantees=(
        *of_alerts,
        Guarantee(
            "the alerts of a user ignore the logins of others",
            "alerts",
            same_under=(INTERLEAVE, UNRELATED_KEY),
            source=SCOPED,
        ),
        Guarantee(
            "the logins kept in the end ignore order",
            "alerts",
            same_under=REORDERINGS,
            alike=Equivalence.SAME_FINAL_VALUE,
        ),
        *survives("alerts are", "alerts"),
    ),
)
