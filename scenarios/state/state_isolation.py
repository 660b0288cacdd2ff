"""State isolation: a key has its own state, whatever its name looks like, and so has each window of a key.

Every element adds its id to a bag, and emits all elements of the bag. The names of keys come in families that an engine
might confuse: as numbers, without blanks, in another case or another form of Unicode, cut off, or split at a separator.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from conformance.model.equivalence import Equivalence
from conformance.model.perturbation import BUNDLINGS, INTERLEAVE, RECOVERIES, RENAMINGS, WATERMARKINGS
from conformance.model.program import Cell, Emit, FixedWindows, Program, State, Timer, Timers
from conformance.model.scenario import Domain, Finding, Guarantees, Observation, Scenario, promise
from conformance.model.schedule import Event
from conformance.model.trace import Emission
from conformance.model.values import spelled
from conformance.scenarios.documents import DATABRICKS, SCOPED

WINDOW = FixedWindows(size=10_000)
PAUSE = 5_000
LONG = "k" * 5_000

FAMILIES = (
    ("a", "b", "c"),
    ("1", "1.0", "01", "1e0"),
    ("true", "True", "TRUE"),
    ("", "null", "None", "NULL"),
    ("", " ", "\t"),
    ("a", "A", "a ", " a"),
    ("a b", "ab", "a  b"),
    ("AaAa", "BBBB", "AaBB"),  # of one hash code, as Java has it
    ("a/b", "a", "a/", "/"),
    ("a,b", "a|b", "a;b", "a\x1fb"),
    ('"a"', "a", "'a'", "\\a"),
    ("a\nb", "a", "a\r\nb", "ab"),
    ("a\0", "a", "a\0b", "\0"),
    ("\u00e9", "e\u0301", "e", "\u00c9"),
    ("\u00df", "ss", "\u017fs"),
    ("\U0001f469", "\U0001f469\u200d\U0001f4bb", "\U0001f4bb"),
    ("\u05d0\u05d1", "\u202e\u05d0\u05d1", "\u05d1\u05d0"),
    (LONG, f"{LONG}l", f"{LONG[:-1]}l"),
)
"""Families of key names. A case has keys of one family. The names of the first family do not look alike."""

OWN_KEY = DATABRICKS.says("State values cannot be impacted by records associated with a different grouping key")


class ByKey(Program):
    cells = {"had": Cell.BAG}

    def on_event(self, event: Event, state: State, timers: Timers, emit: Emit) -> None:
        state.had.add(event.id)
        emit({"id": event.id, "had": state.had.get()})


class ByWindow(ByKey):
    windowing = WINDOW


class WithTimers(ByKey):
    """Every element sets a timer of its key, tagged with the element's id. The timer emits all elements of the bag,
    too."""

    timers = ("timer",)

    def on_event(self, event: Event, state: State, timers: Timers, emit: Emit) -> None:
        super().on_event(event, state, timers, emit)
        timers.set("timer", event.event_time + PAUSE, tag=event.id)

    def on_timer(self, timer: Timer, state: State, timers: Timers, emit: Emit) -> None:
        emit({"fired": timer.tag, "had": state.had.get()})


Foreign = tuple[Emission, str, list[str]]
"""(emission, the key of its element or timer, the other keys whose elements were in the bag)."""


def owners(run: Observation) -> dict[str, str]:
    """The key of each element, by its id."""
    return {arrival.event.id: arrival.event.key for arrival in run.arrivals}


def found_in_state(run: Observation, of: str = "id") -> Iterator[Foreign]:
    owner = owners(run)
    for emission, mine in run.tagged(of):
        others = {owner[other] for other in emission.value["had"]} - {owner[mine]}
        yield emission, owner[mine], sorted(others)


def look_alike(one: str, other: str) -> bool:
    return any(one in family and other in family for family in FAMILIES[1:])


def sees_only(run: Observation, *, alike: bool, long: bool = False) -> Iterator[Finding]:
    """Exercised by elements of a key that looks like another key of the case (``alike``), or unlike another one."""
    keys = set(run.arrivals_by_key)
    for emission, key, others in found_in_state(run):
        rivals = {other for other in keys - {key} if look_alike(key, other) is alike}
        if rivals and (len(key) >= len(LONG)) is long:
            seen = [spelled(other) for other in others if other in rivals]
            yield (
                not seen
                or f"{emission.value['id']} of key {spelled(key)} found an element of key {seen[0]} in its state"
            )


of_keys = Guarantees("by key")
of_windows = Guarantees("by window")
of_timers = Guarantees("with timers")


@of_keys("a key sees only its own elements", source=OWN_KEY)
def a_key_sees_only_its_own(run: Observation) -> Iterator[Finding]:
    return sees_only(run, alike=False)


@of_keys("keys that look alike are kept apart")
def keys_that_look_alike_are_kept_apart(run: Observation) -> Iterator[Finding]:
    return sees_only(run, alike=True)


@of_keys("very long keys that differ at their end are kept apart")
def long_keys_are_kept_apart(run: Observation) -> Iterator[Finding]:
    return sees_only(run, alike=True, long=True)


@of_keys("a key sees all of its own elements", source=SCOPED)
def a_key_sees_all_of_its_own(run: Observation) -> Iterator[Finding]:
    for key, emissions in run.told.items():
        had: list[str] = []
        for emission in emissions:
            had.append(emission.value["id"])
            missing = Counter(had) - Counter(emission.value["had"])
            if len(had) > 1:
                yield (
                    not missing
                    or f"{had[-1]} of key {spelled(key)} did not find {min(missing)} in its state, which came before it"
                )


@of_keys("an empty key is a key")
def an_empty_key_is_a_key(run: Observation) -> Iterator[Finding]:
    """Asked of each bundle, because some APIs emit one row for all elements of a key in a bundle."""
    found = {emission.value["id"]: others for emission, key, others in found_in_state(run) if emission.key == key == ""}
    for bundle in run.case.schedule.bundles:
        names = [event.id for event in bundle.events if not event.key]
        came = [name for name in names if name in found]
        if names:
            yield bool(came) or f"{names[0]} of the empty key did not come out under it"
        for name in came:
            yield not found[name] or f"{name} of the empty key found elements of other keys"


@of_keys("a key comes back as it went in")
def a_key_comes_back_as_it_went_in(run: Observation) -> Iterator[Finding]:
    owner = owners(run)
    for emission, name in run.tagged("id"):
        key = owner[name]
        yield emission.key == key or f"{name} of key {spelled(key)} came out under key {spelled(emission.key)}"


@of_windows("state of one window is not seen in another", source=SCOPED)
def a_window_sees_only_its_own(run: Observation) -> Iterator[Finding]:
    """Exercised where the key has elements in other windows."""
    windows = {arrival.event.id: WINDOW.start(arrival.event.event_time) for arrival in run.arrivals}
    owner = owners(run)
    for emission, name in run.tagged("id"):
        if any(owner[other] == owner[name] and windows[other] != windows[name] for other in owner):
            others = [other for other in emission.value["had"] if windows[other] != windows[name]]
            yield (
                not others
                or f"{name} of the window from {windows[name]} found {others[0]}, of the window from "
                f"{windows[others[0]]}"
            )


@of_timers("a timer has the state of its own key")
def a_timer_has_the_state_of_its_key(run: Observation) -> Iterator[Finding]:
    if len(run.arrivals_by_key) > 1:
        for emission, key, others in found_in_state(run, of="fired"):
            told = f"the timer that {emission.value['fired']} of key {spelled(key)} set"
            if emission.key != key:
                yield f"{told} fired under key {spelled(emission.key)}"
            else:
                yield not others or f"{told} found an element of key {spelled(others[0])}"


def _domain(*offsets: int, names: tuple[tuple[str, ...], ...] = FAMILIES) -> Domain:
    return Domain(offsets=offsets, keys=min(map(len, names)), names=names)


SCENARIO = Scenario(
    name="state isolation",
    summary="Every element emits the elements in the state of its key, whose name is easily taken for another one.",
    programs={"by key": ByKey(), "by window": ByWindow(), "with timers": WithTimers()},
    domain={
        "by key": _domain(1, 500, 20_000),
        "by window": _domain(1, 500, 9_999, 10_000, names=FAMILIES[:1]),
        "with timers": _domain(1, 500, 6_000),
    },
    stable_under={
        "by key": promise((INTERLEAVE, *BUNDLINGS, *WATERMARKINGS, *RECOVERIES, *RENAMINGS), Equivalence.IDENTICAL),
        # No document promises an order of the windows of a key, or of timers that are due at one time.
        "by window": promise(
            (INTERLEAVE, *BUNDLINGS, *WATERMARKINGS, *RECOVERIES, *RENAMINGS), Equivalence.SAME_MULTISET
        ),
        "with timers": promise((INTERLEAVE, *BUNDLINGS, *RECOVERIES, *RENAMINGS), Equivalence.SAME_MULTISET),
    },
    guarantees=(*of_keys, *of_windows, *of_timers),
)
