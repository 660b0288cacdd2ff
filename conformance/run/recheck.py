"""Judges stored traces again, with the current guarantees and without running an engine.

Stored traces that speak against a cell do not decide it, because a violation must have failed alone. The violation is
confirmed if the run has a witness of the cell that speaks against the current guarantee.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

from conformance.confirmation.isolation import Known, known_of, told_apart
from conformance.confirmation.replay import FAILS
from conformance.execution.host import Host
from conformance.judgement.batches import Judgement
from conformance.judgement.cell import MatrixCell, Verdict
from conformance.judgement.evidence import Against, ReferenceTraces, Unjudgeable, findings_of, pair_finding
from conformance.judgement.stability import Stability
from conformance.judgement.verdict import not_run_alone, still_violated
from conformance.model.case import Case
from conformance.model.engine import EngineInfo, bare
from conformance.model.naming import instead, unknown
from conformance.model.scenario import Guarantee, Scenario
from conformance.plugins.registry import UnknownName, load_scenarios, users_scenarios
from conformance.results.record import EngineRecord, ScenarioRecord
from conformance.results.results import RESULTS, Results
from conformance.results.store import Digest, Store, UnusableTraces
from conformance.results.witness import Witness
from conformance.run.checks import Checks, agreements_of


def check_again(
    folder: Path,
    out: Path,
    engines: Iterable[str],
    scenarios: Iterable[str],
    checker: str,
    prepare: Callable[[], None] = lambda: None,
) -> Results:
    """The results of the stored traces of a run in ``folder``. ``out`` receives the check results and a log, if any.
    ``out`` is prepared after the input proved good.

    Raises:
        UnusableTraces: there are no traces, or not of these engines.
        UnknownName: no such scenario, or an engine whose adapter is not here.
    """
    store = Store(folder)
    if not store.batches or not store.engines:
        raise UnusableTraces(f"{folder} has no stored traces; name the folder of a run (its --out)")
    before = Results.read(folder / RESULTS)
    asked = list(engines) or store.engines
    if absent := [name for name in asked if name not in store.engines]:
        raise UnusableTraces(f"{folder} has no traces of {absent[0]!r}; {instead(absent[0], store.engines)}")
    infos = [store.read_engine(name) for name in asked]
    wanted = list(scenarios) or list(before.run.scenarios)
    there = {scenario.id: scenario for scenario in (*load_scenarios(), *users_scenarios())}
    if gone := [name for name in wanted if name not in there]:
        raise UnknownName(unknown("scenario", gone[0], sorted(there)))
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
        cells: list[MatrixCell] = []
        stability: list[Stability] = []
        witnesses: dict[str, Witness] = {}
        drawn, digest, timelines = 0, Digest(), set()
        try:
            for batch in self.store.batches:
                cases = self._mine(self.store.read_cases(batch))
                digest.add(cases)
                drawn += len({case.digest for case in cases})
                timelines |= {case.schedule.timeline for case in cases}
            for info in self.infos:
                judgement = self._judgement(info)
                for cell, guarantee, against in judgement.cells():
                    decided, witness = self._decided(cell, guarantee, against, judgement, info)
                    cells.append(decided)
                    if witness:
                        witnesses[witness.id] = witness
                stability += judgement.stabilities()
            compared = [info for info in self.infos if not (i := info.capabilities.native_operator) or i.compared]
            agreements = agreements_of(self.scenarios, compared, self.store, self.checks)
        finally:
            for host in self.hosts:
                host.close()
        run = replace(
            self.before.run,
            harness=version("conformance"),
            cases=drawn,
            cases_digest=str(digest),
            timelines=len(timelines),
            scenarios=tuple(s.id for s in self.scenarios),
            engines=tuple(info.id for info in self.infos),
        )
        return Results(
            run=run,
            environment={info.id: EngineRecord.of(info) for info in self.infos},
            scenarios={scenario.id: ScenarioRecord.of(scenario) for scenario in self.scenarios},
            cells=cells,
            stability=stability,
            agreements=agreements,
            witnesses=dict(sorted(witnesses.items())),
        )

    def _mine(self, cases: list[Case]) -> list[Case]:
        return [case for case in cases if (case.scenario, case.program) in self.programs]

    def _judgement(self, info: EngineInfo) -> Judgement:
        judgement = Judgement(self.scenarios, info)
        for batch in self.store.batches:
            handed, runs = self.store.read_batch(info.id, batch)
            cases = self._mine(handed)
            by_id = {case.id: case for case in cases}
            checked = self.checks.check(info, batch, cases, runs)
            isolated = told_apart(checked, cases, runs.traces, self.scenarios, self._known(info))
            judgement.add(checked.settled(isolated), by_id, runs.traces, runs.notes)
        return judgement

    def _known(self, info: EngineInfo) -> Known:
        """What the stored witnesses that the run replayed on the engine showed, as its isolation knew it."""
        failed = {replay.witness for replay in self.before.replays if replay.answer in FAILS}
        mine = (w for w in self.before.witnesses.values() if bare(w.engine) == bare(info.id))
        return known_of((w for w in mine if w.id in failed), self.scenarios)

    def _decided(
        self, cell: MatrixCell, guarantee: Guarantee, against: list[Against], judgement: Judgement, info: EngineInfo
    ) -> tuple[MatrixCell, Witness | None]:
        """A cell, and its witness if something speaks against the cell."""
        if (violated := self.violated.get(_place(cell))) and violated.witness in self.before.witnesses:
            witness = self.before.witnesses[violated.witness]
            if self._says(guarantee, witness, self.checks.reference(info.capabilities.lateness)):
                return still_violated(cell, violated), witness
        if not against:
            return cell, None
        witness = _unconfirmed(guarantee, against[0], judgement, info, self.checks.reference(None))
        return not_run_alone(cell, witness.id, against[0].message), witness

    def _says(self, guarantee: Guarantee, witness: Witness, reference: ReferenceTraces) -> str:
        """How a witness that failed alone speaks against the current guarantee."""
        case = witness.case
        if guarantee.accounting:
            return witness.message
        if guarantee.same_under:
            assert witness.base
            assert witness.base_seen
            traces = {witness.base.id: witness.base_seen, case.id: witness.seen}
            program = self.programs[case.scenario, case.program]
            with suppress(Unjudgeable):
                return pair_finding(program, guarantee, witness.base, case, traces, reference)[1]
            return ""
        with suppress(Unjudgeable):
            return next(iter(findings_of(guarantee, case, witness.seen, reference)[1]), "")
        return ""

    def _host(self) -> Host:
        if not self.hosts:
            (self.out / "logs").mkdir(parents=True, exist_ok=True)
            self.hosts.append(Host(self.out / "logs" / "checker.log", 3_600))
        return self.hosts[0]


def _place(cell: MatrixCell) -> tuple[str, ...]:
    return cell.engine, cell.scenario, cell.guarantee, cell.perturbation


def _unconfirmed(
    guarantee: Guarantee, against: Against, judgement: Judgement, info: EngineInfo, specified: ReferenceTraces
) -> Witness:
    """A case against a guarantee, as a file that replays."""
    base = judgement.cases[against.case.base] if guarantee.same_under else None
    case = against.case if base else replace(against.case, perturbation="", base="")
    traces = judgement.runs.traces
    return Witness(
        guarantee=guarantee.id,
        sentence=guarantee.claim,
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
