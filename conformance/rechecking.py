"""Stored traces judged again, by the guarantees that there are now, without running an engine.

A cell that they speak against is not decided by that: a violation is what has failed alone. It was confirmed where the run has a
witness of it that speaks against the guarantee as it is now.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from conformance.checking import Against, Reference, Unjudgeable, findings_against, pair_differs
from conformance.checks import Checks, agreements_of
from conformance.engine import EngineInfo
from conformance.guarantees import Guarantee, Scenario
from conformance.judging import Judgement
from conformance.model import Case
from conformance.process import Host
from conformance.registry import UnknownName, load_scenarios, users_scenarios
from conformance.results import Cell, Results, Verdict
from conformance.runner import describe, environment
from conformance.storage import Digest, Store, UnusableTraces
from conformance.witnesses import Witness


def check_again(
    folder: Path,
    out: Path,
    engines: Iterable[str],
    scenarios: Iterable[str],
    checker: str,
    prepare: Callable[[], None] = lambda: None,
) -> Results:
    """The results of the stored traces of a run in ``folder``. Check results and a log, if any, go to ``out``, which is prepared
    when the input was found good.

    Raises:
        UnusableTraces: there are no traces, or not of these engines.
        UnknownName: no such scenario, or an engine whose adapter is not here.
    """
    store = Store(folder)
    if not store.batches or not store.engines:
        raise UnusableTraces(f"{folder} has no stored traces; name the folder of a run (its --out)")
    before = Results.read(folder / "results.json")
    asked = list(engines) or store.engines
    if unknown := [name for name in asked if name not in store.engines]:
        raise UnusableTraces(f"{folder} has no traces of {unknown[0]!r}; there are: {', '.join(store.engines)}")
    infos = [store.read_engine(name) for name in asked]
    wanted = list(scenarios) or list(before.run["options"]["scenarios"])
    there = {scenario.id: scenario for scenario in (*load_scenarios(), *users_scenarios())}
    if gone := [name for name in wanted if name not in there]:
        raise UnknownName(f"unknown scenario {gone[0]!r}; there are: {', '.join(sorted(there))}")
    return _Check(store, before, infos, [there[name] for name in wanted], out, checker).run(prepare)


class _Check:
    def __init__(
        self,
        store: Store,
        before: Results,
        infos: list[EngineInfo],
        scenarios: list[Scenario],
        out: Path,
        checker: str,
    ) -> None:
        self.store, self.before, self.infos, self.scenarios, self.out = store, before, infos, scenarios, out
        self.hosts: list[Host] = []
        self.checks = Checks(scenarios, store, checker, self._host, Store(out))
        self.programs = {(s.id, name): p for s in scenarios for name, p in s.programs.items()}
        self.violated = {_place(cell): cell for cell in before.cells if cell.verdict is Verdict.VIOLATED}

    def run(self, prepare: Callable[[], None]) -> Results:
        prepare()
        cells: list[Cell] = []
        survivals: list[Any] = []
        witnesses: dict[str, Witness] = {}
        drawn, digest, clocks = 0, Digest(), set()
        try:
            for batch in self.store.batches:
                cases = self._mine(self.store.read_cases(batch))
                digest.add(cases)
                drawn += len({case.digest for case in cases})
                clocks |= {case.schedule.clock for case in cases}
            for info in self.infos:
                judgement = self._judgement(info)
                for cell, guarantee, against in judgement.cells():
                    decided, witness = self._decided(cell, guarantee, against, judgement, info)
                    cells.append(decided)
                    if witness:
                        witnesses[witness.id] = witness
                survivals += [survival.to_json() for survival in judgement.survivals()]
            compared = [info for info in self.infos if not (i := info.capabilities.idiom) or i.compared]
            agreements = agreements_of(self.scenarios, compared, self.store, self.checks)
        finally:
            for host in self.hosts:
                host.close()
        run = self.before.run | {
            "harness": version("conformance"),
            "cases": drawn,
            "cases_digest": str(digest),
            "clocks": len(clocks),
            "options": {"scenarios": [s.id for s in self.scenarios], "engines": [info.id for info in self.infos]},
        }
        return Results(
            run=run,
            environment={info.id: environment(info) for info in self.infos},
            scenarios={scenario.id: describe(scenario) for scenario in self.scenarios},
            cells=cells,
            survivals=survivals,
            agreements=[found.to_json() for found in agreements],
            witnesses={name: witness.to_json() for name, witness in sorted(witnesses.items())},
        )

    def _mine(self, cases: list[Case]) -> list[Case]:
        return [case for case in cases if (case.scenario, case.program) in self.programs]

    def _judgement(self, info: EngineInfo) -> Judgement:
        judgement = Judgement(self.scenarios, info)
        for batch in self.store.batches:
            handed, runs = self.store.read_batch(info.id, batch)
            cases = self._mine(handed)
            by_id = {case.id: case for case in cases}
            judgement.add(self.checks.check(info, batch, cases, runs), by_id, runs.traces, runs.notes)
        return judgement

    def _decided(
        self, cell: Cell, guarantee: Guarantee, against: list[Against], judgement: Judgement, info: EngineInfo
    ) -> tuple[Cell, Witness | None]:
        """A cell, and its witness where something speaks against it."""
        if (violated := self.violated.get(_place(cell))) and violated.witness in self.before.witnesses:
            witness = Witness.from_json(self.before.witnesses[violated.witness])
            if self._says(guarantee, witness):
                decided = replace(cell, verdict=Verdict.VIOLATED, reason=violated.reason, witness=witness.id)
                return replace(decided, intermittent=violated.intermittent), witness
        if not against:
            return cell, None
        witness = _unconfirmed(guarantee, against[0], judgement, info, self.checks.reference(None))
        reason = f"stored traces speak against it, not run alone yet (conformance replay): {against[0].message}"
        return replace(cell, verdict=Verdict.UNKNOWN, reason=reason, witness=witness.id), witness

    def _says(self, guarantee: Guarantee, witness: Witness) -> str:
        """What a witness that failed alone says against a guarantee as it is now."""
        case = witness.case
        if guarantee.accounting:
            return witness.message
        if guarantee.same_under:
            assert witness.base
            assert witness.base_seen
            traces = {witness.base.id: witness.base_seen, case.id: witness.seen}
            program = self.programs[case.scenario, case.program]
            return pair_differs(program, guarantee, witness.base, case, traces)
        with suppress(Unjudgeable):
            return next(iter(findings_against(guarantee, case, witness.seen)[1]), "")
        return ""

    def _host(self) -> Host:
        if not self.hosts:
            (self.out / "logs").mkdir(parents=True, exist_ok=True)
            self.hosts.append(Host(self.out / "logs" / "checker.log", 3_600))
        return self.hosts[0]


def _place(cell: Cell) -> tuple[str, ...]:
    return cell.engine, cell.scenario, cell.guarantee, cell.perturbation


def _unconfirmed(
    guarantee: Guarantee, against: Against, judgement: Judgement, info: EngineInfo, specified: Reference
) -> Witness:
    """A case against a guarantee as a file that replays."""
    base = judgement.cases[against.case.base] if guarantee.same_under else None
    case = against.case if base else replace(against.case, perturbation="", base="")
    traces = judgement.runs.traces
    return Witness(
        guarantee=guarantee.id,
        claim=guarantee.claim,
        case=case,
        base=base,
        engine=info.id,
        versions=info.environment,
        message=against.message,
        seen=traces[against.case.id],
        specified=specified([case])[case.id],
        base_seen=traces[base.id] if base else None,
        packed_seen=traces[against.case.id],
    )
