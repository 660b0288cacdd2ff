"""Choices of packs of earlier runs: which cases an engine runs in which packs, if nothing has changed that the choice depends on."""

from __future__ import annotations

import hashlib
import threading
from collections import defaultdict
from collections.abc import Sequence
from functools import cached_property

from conformance.execution.kept import Kept
from conformance.model.case import Case
from conformance.model.engine import EngineInfo, bare
from conformance.model.runs import Pack
from conformance.model.scenario import Scenario
from conformance.model.values import Json, digest
from conformance.plugins.adapter import adapter_digest
from conformance.plugins.registry import load_engine
from conformance.plugins.source import JUDGING, Untold, harness_digest, judged_digest
from conformance.run.packs import KINDS, selected

CHOICES = "choices"
"""A kind of kept files."""


class KeptChoices:
    """Makes choices for the engines of a run, or reads what was chosen before: in an earlier run, or for another release of the engine.
    Several threads may use one ``KeptChoices`` at a time."""

    def __init__(self, kept: Kept, scenarios: tuple[Scenario, ...]) -> None:
        self._kept, self._scenarios = kept, scenarios
        self._choosing: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)

    def selected(self, info: EngineInfo, cases: list[Case], share: float, all_packs: bool) -> tuple[list[Pack], int]:
        """What ``packs.selected`` gives."""
        places = {case.id: number for number, case in enumerate(cases)}
        name = self._name(info, cases, share, all_packs) if len(places) == len(cases) else ""
        if not name:
            return selected(cases, info.capabilities, self._scenarios, share, all_packs)
        with self._choosing[name]:  # the releases of an engine choose alike, and at one time
            if found := _read(self._kept.data(name), cases):
                return found
            packs, drawn = selected(cases, info.capabilities, self._scenarios, share, all_packs)
            numbers = [[places[case.id] for case in pack.cases] for pack in packs]
            self._kept.keep_data(name, {"packs": numbers, "drawn": drawn})
        return packs, drawn

    @cached_property
    def _asked(self) -> list[Json]:
        """What decides which guarantees a case puts to the test, and which packs are worth their seconds; [] if a scenario cannot be told
        from a changed one."""
        try:
            scenarios = {scenario.id: judged_digest(scenario) for scenario in self._scenarios}
        except Untold:
            return []
        return [harness_digest(JUDGING), adapter_digest(load_engine("reference")), scenarios, KINDS]

    def _name(self, info: EngineInfo, cases: Sequence[Case], share: float, all_packs: bool) -> str:
        """The name of the kept choice, "" if it cannot be kept."""
        if not self._asked:
            return ""
        can = info.capabilities
        budget = [repr(can.packs), can.largest_pack, can.largest_waiting_pack, can.heavy]
        about = hashlib.sha256("\n".join(f"{case.id} {case.digest}" for case in cases).encode()).hexdigest()[:24]
        return f"{CHOICES}/{digest([self._asked, bare(info.id), info.adapter, budget, share, all_packs])}-{about}"


def _read(data: Json | None, cases: Sequence[Case]) -> tuple[list[Pack], int] | None:
    try:
        return data and ([Pack(tuple(cases[n] for n in numbers)) for numbers in data["packs"]], int(data["drawn"]))
    except (KeyError, TypeError, IndexError, ValueError):
        return None
