"""Set and map iteration: an iteration over a map gives each entry once, whatever was put, removed and put again before.

Every event carries one operation. It emits the entries that an iteration gives, whether a second iteration gives the
same entries in the same order, and the elements of a set. No document promises an order, so the programs do not emit
it. The predicates follow the operations of a key in the order of its emissions.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator

from conformance.model.equivalence import Equivalence
from conformance.model.perturbation import BUNDLINGS, INTERLEAVE, RECOVERIES, RENAMINGS, WATERMARKINGS
from conformance.model.program import Cell, Emit, Program, State, Timers
from conformance.model.scenario import Domain, Finding, Guarantee, Observation, Scenario, promise
from conformance.model.schedule import Event
from conformance.model.trace import Emission
from conformance.model.values import canonical
from conformance.scenarios.documents import REMOVE

ALIKE = (("1", "1.0"), ("a", "A"), ("\u00e9", "e\u0301"), ("", " "))
"""Names that an engine might confuse: as numbers, in lower case, in one form of Unicode, without blanks."""


class Iteration(Program):
    """An event's value is "put", "remove" or "remove and put" with names (JSON), or "empty".

    A put stores the event's id under each name and adds the names to the set. "empty" removes every entry that an
    iteration gives, one by one.
    """

    cells = {"entries": Cell.MAP, "names": Cell.SET}

    def on_event(self, event: Event, state: State, timers: Timers, emit: Emit) -> None:
        what, names = operation(event.value)
        for name in [found for found, _ in state.entries.items()] if what == "empty" else names:
            if what != "put":
                state.entries.remove(name)
            if what in ("put", "remove and put"):
                state.entries.put(name, event.id)
                state.names.add(name)
        once, again = list(state.entries.items()), list(state.entries.items())
        emit(
            {
                "id": event.id,
                "did": event.value,
                "entries": sorted(once, key=canonical),
                "again": once == again,
                "set": sorted(state.names.get()),
            }
        )


def operation(text: str) -> tuple[str, list[str]]:
    """(operation, names) of an event's value."""
    what, _, names = text.partition(": ")
    return what, json.loads(names or "[]")


def entries_by_then(run: Observation) -> Iterator[tuple[Emission, dict[str, str], dict[str, list[str]]]]:
    """(emission, the entries that its key has by then, name -> the operations on it in order)."""
    for emissions in run.told.values():
        entries: dict[str, str] = {}
        done: dict[str, list[str]] = {}
        for emission in emissions:
            what, names = operation(emission.value["did"])
            for name in list(entries) if what == "empty" else names:
                done.setdefault(name, []).append(what)
                entries.pop(name, None)
                if what in ("put", "remove and put"):
                    entries[name] = emission.value["id"]
            yield emission, dict(entries), {name: list(found) for name, found in done.items()}


def given(emission: Emission, name: str) -> list[str]:
    """The values that the iteration gave for a name."""
    return [value for found, value in emission.value["entries"] if found == name]


def every_entry_once(run: Observation) -> Iterator[Finding]:
    for emission, entries, _ in entries_by_then(run):
        if entries:
            names = [name for name, _ in emission.value["entries"]]
            yield (
                sorted(names) == sorted(entries)
                or f"the map of key {emission.key} gives the names {canonical(names)}, it has "
                f"{canonical(sorted(entries))}"
            )


def an_overwritten_entry_once(run: Observation) -> Iterator[Finding]:
    for emission, entries, done in entries_by_then(run):
        for name, value in entries.items():
            if done[name][-2:] == ["put", "put"]:
                found = given(emission, name)
                yield (
                    found == [value]
                    or f"the overwritten entry {canonical(name)} of key {emission.key} is given as {found}, not "
                    f"once as {value}"
                )


def removed_and_put_again_once(run: Observation) -> Iterator[Finding]:
    for emission, entries, done in entries_by_then(run):
        for name, value in entries.items():
            if done[name][-1] == "remove and put" or done[name][-2:] in (["remove", "put"], ["empty", "put"]):
                found = given(emission, name)
                yield (
                    found == [value]
                    or f"the entry {canonical(name)} of key {emission.key}, removed and put again, is given as "
                    f"{found}, not once as {value}"
                )


def removing_leaves_the_others(run: Observation) -> Iterator[Finding]:
    for emissions in run.told.values():
        for before, emission in itertools.pairwise(emissions):
            what, names = operation(emission.value["did"])
            if what == "remove":
                others = [entry for entry in before.value["entries"] if entry[0] not in names]
                left = [entry for entry in others if entry not in emission.value["entries"]]
                yield (
                    not left
                    or f"removing {canonical(names)} from the map of key {emission.key} took "
                    f"{canonical(left[0][0])} along"
                )


def an_emptied_map_gives_nothing(run: Observation) -> Iterator[Finding]:
    for emission, entries, done in entries_by_then(run):
        if done and not entries:
            found = emission.value["entries"]
            yield not found or f"the map of key {emission.key} gives {canonical(found)}, all entries were removed"


def twice_the_same(run: Observation) -> Iterator[Finding]:
    for emission in run.emissions:
        if len(emission.value["entries"]) > 1:
            yield emission.value["again"] or f"going through the map of key {emission.key} again gave something else"


def names_that_look_alike(run: Observation) -> Iterator[Finding]:
    for emission, entries, _ in entries_by_then(run):
        for one, other in ALIKE:
            if one in entries and other in entries:
                for name in (one, other):
                    found = given(emission, name)
                    yield (
                        found == [entries[name]]
                        or f"beside an entry like it, {canonical(name)} of key {emission.key} is given as {found}, "
                        f"not as {entries[name]}"
                    )


def elements_that_look_alike(run: Observation) -> Iterator[Finding]:
    """Asks about the set. No operation removes a name from it."""
    for emission, _, done in entries_by_then(run):
        added = {name for name, found in done.items() if {"put", "remove and put"} & set(found)}
        for one, other in ALIKE:
            if one in added and other in added:
                found = emission.value["set"]
                yield (
                    (found.count(one), found.count(other)) == (1, 1)
                    or f"the set of key {emission.key} holds {canonical(sorted(found))}, {canonical([one, other])} "
                    "were added"
                )


SCENARIO = Scenario(
    name="set and map iteration",
    summary="After every operation on a map, emit the entries that going through it gives, twice, "
    "and the elements of a set.",
    programs={"iteration": Iteration()},
    domain={
        "iteration": Domain(
            offsets=(1, 500, 20_000),
            keys=2,
            values=(
                *('put: ["a"]', 'put: ["a"]', 'remove: ["a"]', 'remove and put: ["a"]', 'put: ["b","a","c"]', "empty"),
                *(f"put: {canonical(names)}" for names in ALIKE),
                'remove: ["1"]',
                'remove: [""]',
            ),
        )
    },
    stable_under={
        "iteration": promise((INTERLEAVE, *BUNDLINGS, *WATERMARKINGS, *RECOVERIES, *RENAMINGS), Equivalence.IDENTICAL),
    },
    guarantees=(
        Guarantee("going through a map gives every entry once", "iteration", every_entry_once),
        Guarantee("an overwritten entry is given once, with its last value", "iteration", an_overwritten_entry_once),
        Guarantee("an entry that was removed and put again is given once", "iteration", removed_and_put_again_once),
        Guarantee("removing an entry leaves the others", "iteration", removing_leaves_the_others, source=REMOVE),
        Guarantee("a map whose entries were all removed gives nothing", "iteration", an_emptied_map_gives_nothing),
        Guarantee("going through a map twice gives the same", "iteration", twice_the_same),
        Guarantee("entries whose names look alike are kept apart", "iteration", names_that_look_alike),
        Guarantee("elements of a set that look alike are kept apart", "iteration", elements_that_look_alike),
    ),
)
