"""Check results of earlier runs: the check of a scenario's cases is read if nothing has changed that it depends on."""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property

import pyarrow as pa

from conformance.execution.kept import Kept
from conformance.judgement.agreement import Agreement, Pair, pairs_of
from conformance.judgement.batches import Checked, check
from conformance.judgement.evidence import ReferenceTraces, Runs
from conformance.judgement.stability import Stability, twins_asked
from conformance.model.case import Case
from conformance.model.engine import EngineInfo
from conformance.model.scenario import Scenario
from conformance.model.values import digest
from conformance.plugins.adapter import adapter_digest
from conformance.plugins.registry import load_engine
from conformance.plugins.source import JUDGING, Untold, harness_digest, judged_digest
from conformance.results import tables
from conformance.results.store import Store

CHECKS, AGREEMENTS = "checks", "agreements"
"""Kinds of kept files."""


class KeptChecks:
    """Checks scenario by scenario, and compares engines, or reads what an earlier run found on the same scenario, cases and traces."""

    def __init__(self, kept: Kept) -> None:
        self._kept = kept
        self._judged: dict[int, tuple[Scenario, str]] = {}

    def check(
        self,
        scenarios: Sequence[Scenario],
        cases: Sequence[Case],
        runs: Runs,
        info: EngineInfo,
        reference: ReferenceTraces,
    ) -> Checked:
        """The result of ``judgement.batches.check``. Evidence lists its cases by id."""
        by_scenario: dict[str, list[Case]] = {scenario.id: [] for scenario in scenarios}
        for case in cases:
            by_scenario[case.scenario].append(case)
        names = {scenario.id: self._name(scenario, by_scenario[scenario.id], runs, info) for scenario in scenarios}
        found: dict[str, Checked] = {}
        for scenario in scenarios:
            mine = {case.id: case for case in by_scenario[scenario.id]}
            asked = list(twins_asked([scenario], info))

            def read(table: pa.Table, mine: dict[str, Case] = mine, asked: list[Stability] = asked) -> Checked:
                return tables.checked_of(table, asked, mine, runs.traces)

            name = names[scenario.id]
            known = self._kept.table(name, read) if name else None
            if known is None:
                table = tables.check_table(check([scenario], mine.values(), runs, info, reference))
                if name:
                    self._kept.keep_table(name, table)
                known = read(table)
            found[scenario.id] = known
        return _together(found.values())

    def agreements(
        self,
        scenarios: Sequence[Scenario],
        infos: Sequence[EngineInfo],
        store: Store,
        found: Callable[[Sequence[Pair]], list[Agreement]],
    ) -> list[Agreement]:
        """How far engines agree. A pair of engines whose cases and traces are those of an earlier run is read; ``found`` says it of the
        others."""
        judged = [self._digest(scenario) for scenario in scenarios]
        pairs = pairs_of([info.id for info in infos])
        if not all(judged):
            return found(pairs)
        of = {info.id: _compared(info, store) for info in infos}
        names = {
            p: f"{AGREEMENTS}/{digest([self._judge, judged, *(of.get(engine, '') for engine in p)])}" for p in pairs
        }
        known = {pair: self._agreements(name) for pair, name in names.items()}
        if missing := [pair for pair in pairs if known[pair] is None]:
            now = found(missing)
            for pair in missing:
                known[pair] = [one for one in now if (one.left, one.right) == pair]
                self._kept.keep_data(names[pair], [one.to_json() for one in known[pair] or ()])
        by_place = {one.place: one for pair in pairs for one in known[pair] or ()}
        places = ((s.id, program, *pair) for s in scenarios for program in s.programs for pair in pairs)
        return [by_place[place] for place in places if place in by_place]

    def _agreements(self, name: str) -> list[Agreement] | None:
        """What an earlier run found on a pair of engines, None if that is not kept."""
        data = self._kept.data(name)
        try:
            return None if data is None else [Agreement.from_json(one) for one in data]
        except (KeyError, TypeError, ValueError, AttributeError):
            return None

    @cached_property
    def _judge(self) -> list[str]:
        """What judges: the harness and the reference, on this Python."""
        return [harness_digest(JUDGING), adapter_digest(load_engine("reference")), platform.python_version()]

    def _digest(self, scenario: Scenario) -> str:
        """The digest of a scenario, "" if it has none. Each scenario is read once: engines share its digest."""
        if id(scenario) not in self._judged:
            try:
                self._judged[id(scenario)] = scenario, judged_digest(scenario)
            except Untold:
                self._judged[id(scenario)] = scenario, ""
        return self._judged[id(scenario)][1]

    def _name(self, scenario: Scenario, cases: Sequence[Case], runs: Runs, info: EngineInfo) -> str:
        """The name of the check's kept result, "" if the scenario cannot be told from a changed one."""
        if not (judged := self._digest(scenario)):
            return ""
        about = hashlib.sha256()
        # Accounting judges the row counts of whole packs.
        members = {case.id for case in cases}
        counted = [run for run in runs.packs if not members.isdisjoint(case.id for case in run[0].cases)]
        for pack, run in counted if any(g.accounting for g in scenario.guarantees) else ():
            about.update(json.dumps([[c.digest for c in pack.cases], repr(run.counts)]).encode())
            about.update(json.dumps([runs.traces[c.id].text for c in pack.cases if c.id in runs.traces]).encode())
        for case in cases:
            trace = runs.traces.get(case.id)
            told = [case.id, case.digest, trace and trace.text, case.id in runs.untouched]
            about.update(json.dumps([*told, runs.lost.get(case.id), runs.faults.get(case.id)]).encode())
        return f"{CHECKS}/{digest([self._judge, judged, info.id, info.adapter, info.lacks])}-{about.hexdigest()[:24]}"


def _compared(info: EngineInfo, store: Store) -> str:
    """A digest of what an engine is compared by."""
    about = hashlib.sha256()
    for path in (f for n in store.batches for f in (store.handed(info.id, n), store.traces(info.id, n))):
        about.update(path.read_bytes() if path.exists() else b"")
    can = info.capabilities
    return digest([info.id, repr(can.lateness), bool(can.native_operator), info.adapter, about.hexdigest()])


def _together(parts: Iterable[Checked]) -> Checked:
    total = Checked()
    for part in parts:
        total.evidence |= part.evidence
        total.stabilities += part.stabilities
    return total
