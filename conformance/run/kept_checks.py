"""Check results of earlier runs: the check of a scenario's cases is read if nothing has changed that it depends on."""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property

import pyarrow as pa

from conformance.execution.kept import Kept
from conformance.judgement.agreement import Agreement
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
        found: Callable[[], list[Agreement]],
    ) -> list[Agreement]:
        """How far engines agree: what an earlier run ``found`` on the same cases and traces, else what is found now."""
        judged = [self._digest(scenario) for scenario in scenarios]
        if not all(judged):
            return found()
        about = hashlib.sha256()
        for path in (f for i in infos for n in store.batches for f in (store.handed(i.id, n), store.traces(i.id, n))):
            about.update(path.read_bytes() if path.exists() else b"")
        read_as = [[info.id, repr(info.capabilities.lateness), info.adapter] for info in infos]
        name = f"{AGREEMENTS}/{digest([self._judge, judged, read_as])}-{about.hexdigest()[:24]}"
        data = self._kept.data(name)
        try:
            known = None if data is None else [Agreement.from_json(one) for one in data]
        except (KeyError, TypeError, ValueError, AttributeError):
            known = None
        if known is None:
            known = found()
            self._kept.keep_data(name, [agreement.to_json() for agreement in known])
        return known

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


def _together(parts: Iterable[Checked]) -> Checked:
    total = Checked()
    for part in parts:
        total.evidence |= part.evidence
        total.stabilities += part.stabilities
    return total
