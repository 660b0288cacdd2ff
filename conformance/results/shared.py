"""What a results file has once: texts, schedules, traces and lists, of which its parts speak by their places."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

from conformance.judgement.coverage import CIRCUMSTANCES
from conformance.model.values import Json, canonical

SHARED: Mapping[str, tuple[Json, ...]] = {
    "texts": ("",),
    "perturbations": (),
    "equivalences": ([],),
    "sayings": (),
    "circumstances": CIRCUMSTANCES,
    "coverages": ([],),
    "versions": (),
    "schedules": (),
    "traces": (),
}
"""What a file has once, with the entries that every file has: place 0 is nothing where an entry may lack it."""

WITNESS = {
    "versions": "versions",
    "schedule": "schedules",
    "base_schedule": "schedules",
    "seen": "traces",
    "specified": "traces",
    "base_seen": "traces",
    "packed_seen": "traces",
}
TWINS = {"base": "schedules", "twin": "schedules", "base_seen": "traces", "twin_seen": "traces"}
DIFFERENCE = {"schedule": "schedules", "left_seen": "traces", "right_seen": "traces"}

Swap = Callable[[str, Json], Json]
"""(the name of a shared list, an entry or its place) -> the other of the two."""


class Pool:
    """The shared lists of a file that is being made."""

    def __init__(self) -> None:
        self.lists: dict[str, list[Json]] = {name: [] for name in SHARED}
        self._places: dict[tuple[str, str], int] = {}
        for name, entries in SHARED.items():
            for entry in entries:
                self.place(name, entry)

    def place(self, name: str, entry: Json) -> int:
        # Traces come in one spelling from files, and as programs spell their output from this process.
        spelled = canonical(entry) if name == "traces" else json.dumps(entry)
        found = self._places.setdefault((name, spelled), len(self.lists[name]))
        if found == len(self.lists[name]):
            self.lists[name].append(json.loads(spelled))
        return found


def witness(found: Json, swap: Swap) -> Json:
    """A witness in which the entries of shared lists and their places are swapped."""
    made = swapped(found, WITNESS, swap)
    if made.get("flip"):
        made["flip"] = swapped(made["flip"], WITNESS, swap)
    if "confirmations" in made:
        made["confirmations"] = [swapped(one, WITNESS, swap) for one in made["confirmations"]]
    return made


def swapped(found: Json, kinds: Mapping[str, str], swap: Swap) -> Json:
    """A copy in which the entries of shared lists and their places are swapped."""
    return {
        name: swap(kinds[name], value) if name in kinds and value is not None else value
        for name, value in found.items()
    }
