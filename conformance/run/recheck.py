"""Judges stored traces again, with the current guarantees and without running an engine.

Stored traces that speak against a cell do not decide it, because a violation must have failed alone. The violation is
confirmed if the run has a witness of the cell that speaks against the current guarantee.
"""

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

from conformance.confirmation.isolation import known_of, told_apart
from conformance.confirmation.replay import FAILS
from conformance.judgement.batches import Judgement
from conformance.judgement.cell import MatrixCell, Verdict
from conformance.judgement.evidence import Against, ReferenceTraces, Unjudgeable, speaks_against
from conformance.judgement.verdict import not_run_alone, still_violated
from conformance.model.case import Case
from conformance.model.engine import EngineInfo, bare
from conformance.model.scenario import Guarantee, Scenario, programs_of
from conformance.plugins.points import DISTRIBUTION
from conformance.plugins.registry import UnknownName, load_scenarios, users_scenarios
from conformance.results.record import EngineRecord, ScenarioRecord
from conformance.results.results import RESULTS, Results
from conformance.results.store import Store, UnusableTraces
from conformance.results.witness import Witness
from conformance.run.checks import Checks, agreements_of
from conformance.run.drawing import Drawn
from conformance.run.hosts import Hosts
from conformance.support.naming import instead, unknown


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
    prepare()
    with Hosts(out / "logs", 3_600) as hosts:
        checks = Checks([there[name] for name in wanted], store, checker, lambda: hosts.named("checker"), Store(out))
        return _Check(store, before, checks, [there[name] for name in wanted]).run(infos)


class _Check:
    def __init__(self, store: Store, before: Results, checks: Checks, scenarios: list[Scenario]) -> None:
        self.store, self.before, self.checks, self.scenarios = store, before, checks, scenarios
        self.programs = programs_of(scenarios)
        self.violated = {_place(cell): cell for cell in before.cells if cell.verdict is Verdict.VIOLATED}
        self.witnesses: dict[str, Witness] = {}

    def run(self, infos: list[EngineInfo]) -> Results:
        judgements = {info.id: self._judgement(info) for info in infos}
        cells = [
            self._decided(cell, guarantee, against, judgements[info.id], info)
            for info in infos
            for cell, guarantee, against in judgements[info.id].cells()
        ]
        drawn = Drawn.of(self._mine(self.store.read_cases(batch)) for batch in self.store.batches)
        run = replace(
            self.before.run,
            harness=version(DISTRIBUTION),
            cases=drawn.cases,
            cases_digest=drawn.digest,
            timelines=drawn.timelines,
            scenarios=tuple(s.id for s in self.scenarios),
            engines=tuple(info.id for info in infos),
        )
        return Results(
            run=run,
            environment={info.id: EngineRecord.of(info) for info in infos},
            scenarios={scenario.id: ScenarioRecord.of(scenario) for scenario in self.scenarios},
            cells=cells,
            stability=[found for judgement in judgements.values() for found in judgement.stabilities()],
            agreements=agreements_of(self.scenarios, infos, self.store, self.checks),
            witnesses=dict(sorted(self.witnesses.items())),
        )

    def _mine(self, cases: list[Case]) -> list[Case]:
        return [case for case in cases if case.ref in self.programs]

    def _judgement(self, info: EngineInfo) -> Judgement:
        judgement = Judgement(self.scenarios, info)
        # What the stored witnesses that the run replayed on the engine showed, as its isolation knew it.
        failed = {replay.witness for replay in self.before.replays if replay.answer in FAILS}
        mine = (w for w in self.before.witnesses.values() if bare(w.engine) == bare(info.id))
        known = known_of((w for w in mine if w.id in failed), self.scenarios)
        for batch in self.store.batches:
            handed, runs = self.store.read_batch(info.id, batch)
            cases = self._mine(handed)
            checked = self.checks.check(info, batch, cases, runs)
            isolated = told_apart(checked, cases, runs.traces, self.scenarios, known)
            judgement.add(checked.settled(isolated), {case.id: case for case in cases}, runs.traces, runs.notes)
        return judgement

    def _decided(
        self, cell: MatrixCell, guarantee: Guarantee, against: list[Against], judgement: Judgement, info: EngineInfo
    ) -> MatrixCell:
        """A cell. Its witness is taken down if something speaks against it."""
        if (violated := self.violated.get(_place(cell))) and violated.witness in self.before.witnesses:
            witness = self.before.witnesses[violated.witness]
            if self._says(guarantee, witness, self.checks.reference(info.capabilities.lateness)):
                self.witnesses[witness.id] = witness
                return still_violated(cell, violated)
        if not against:
            return cell
        witness = _unconfirmed(guarantee, against[0], judgement, info, self.checks.reference(None))
        self.witnesses[witness.id] = witness
        return not_run_alone(cell, witness.id, against[0].message)

    def _says(self, guarantee: Guarantee, witness: Witness, reference: ReferenceTraces) -> str:
        """How a witness that failed alone speaks against the current guarantee."""
        case, base = witness.case, witness.base
        if guarantee.accounting:
            return witness.message
        traces = {case.id: witness.seen}
        if base and witness.base_seen:
            traces[base.id] = witness.base_seen
        program = self.programs[case.ref]
        with suppress(Unjudgeable):
            return speaks_against(program, guarantee, base, case, traces, reference)
        return ""


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
