"""Compares the output of two releases of an engine on the same cases, independently of guarantees."""

import datetime
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from conformance.comparison.expectations import Divergence
from conformance.comparison.gate import Outcome, Ruled, Ruling, listing, unless_accepted
from conformance.confirmation.owed import RUNS_ALONE
from conformance.execution.carried import AnyEngine
from conformance.execution.host import EngineDown
from conformance.judgement.agreement import Agreement, agreement
from conformance.model.case import Case
from conformance.model.engine import CannotRun, EngineInfo, NotDriven, bare
from conformance.model.runs import Pack
from conformance.model.scenario import Scenario
from conformance.model.trace import Trace
from conformance.plugins.registry import load_engine
from conformance.results.baseline import Place
from conformance.results.store import Store, file_name, write_cases
from conformance.run.hosts import Hosts
from conformance.support.grouping import grouped
from conformance.support.naming import counted


@dataclass(frozen=True)
class OutputDifference:
    """A program whose output is not identical in two releases of an engine.

    Attributes:
        agreement: the agreement of the old release (``left``) and the new one. It has a smallest case.
        apart: whether the runs alone of the smallest case in one release share no output with those in the other; None
            if the case could not run alone.
        file: the smallest case, for ``--cases-from``.
    """

    agreement: Agreement
    apart: bool | None
    file: Path

    @property
    def place(self) -> Place:
        """The engine without a version, the scenario and the program."""
        return bare(self.agreement.right), self.agreement.scenario, self.agreement.program, ""

    @property
    def signature(self) -> str:
        up_to = " and ".join(how.value for how in self.agreement.agreed)
        return f"output differs, alike up to {up_to}" if up_to else "output differs in every way"

    def ruled(self, divergences: Iterable[Divergence], version: str, today: datetime.date) -> Ruled:
        """The ruling of the gate: the difference blocks unless a divergence accepts it in this version of the new
        release."""
        found, listed = self.agreement, listing(divergences, self.place, version, today, self.signature)
        why = f"to look at: output differs on {found.differing} of {counted(found.cases, 'case')}"
        if self.apart is False and listed is None:
            ruling = Ruling(Outcome.TOLD, f"{why}; the smallest of them, alone, gives the same in both")
        else:
            ruling = unless_accepted(why, self.signature, listed, today)
        again = f"--cases-from {self.file} --scenario {found.scenario} --engine {found.left} --engine {found.right}"
        engine, scenario, program, _ = self.place
        return Ruled(
            ruling,
            engine,
            scenario,
            program,
            (),
            signature=self.signature,
            divergence=listed,
            command=f"conformance run {again}",
        )


def outputs(out: Path, engines: Iterable[tuple[str, str]], scenarios: Sequence[Scenario]) -> list[Agreement]:
    """For each program and engine (its names in the old and in the new release): the agreement of the two releases on
    all cases that both answered, twins included. A program without an answer is left out. ``out`` is the folder of the
    run of both releases."""
    store, engines = Store(out), list(engines)
    sums: dict[tuple[str, str, str, str], Agreement] = {}
    for batch in store.batches:
        cases = grouped(((case.scenario, case.program), case) for case in store.read_cases(batch))
        for one, two in engines:
            sides = (one, store.read_traces(one, batch)), (two, store.read_traces(two, batch))
            for scenario in scenarios:
                for name in scenario.programs:
                    part = agreement(scenario, name, cases.get((scenario.id, name), []), *sides)
                    sums[part.place] = sums[part.place].plus(part) if part.place in sums else part
    return [total for total in sums.values() if total.cases]


def differences(
    found: Iterable[Agreement], scenarios: Sequence[Scenario], folder: Path, timeout: float
) -> Iterator[OutputDifference]:
    """The agreements that are not identical, as differences. The smallest case of each is written into ``folder`` and
    runs alone three times in each release. The processes, one for each release where a run has one, log in
    ``folder``."""
    by_engines = grouped(
        ((one.left, one.right), (one, Case(one.scenario, one.program, one.smallest.case.schedule)))
        for one in found
        if one.smallest
    )
    by_id = {scenario.id: scenario for scenario in scenarios}
    if by_engines:
        folder.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(max_workers=2) as pool, Hosts(folder, timeout) as hosts:
        for engines, differing in by_engines.items():
            cases = {case.id: case for _, case in differing}.values()
            sides = list(pool.map(lambda engine, cases=cases: _alone(hosts, engine, cases), engines))
            for one, case in differing:
                file = folder / f"{file_name(f'{bare(one.right)}-{one.scenario}-{one.program}')}.parquet"
                write_cases(file, [case])
                old, new = (side.get(case.id, []) for side in sides)
                apart = all(_differ(by_id[one.scenario], case, a, b) for a in old for b in new) if old and new else None
                yield OutputDifference(one, apart, file)


def _alone(hosts: Hosts, engine: str, cases: Iterable[Case]) -> Mapping[str, list[Trace]]:
    """The results of the runs alone of each case (by id), empty if the case gave no answer."""
    found: dict[str, list[Trace]] = {}
    try:
        process = hosts.open(EngineInfo(engine, "", load_engine(engine).capabilities))
    except CannotRun:
        return found
    for case in cases:
        try:
            found[case.id] = [_once(process, case) for _ in range(RUNS_ALONE)]
        except (NotDriven, EngineDown):
            if not process.alive:
                break
    return found


def _once(process: AnyEngine, case: Case) -> Trace:
    return process.run(Pack((case,))).traces[case.id]


def _differ(scenario: Scenario, case: Case, one: Trace, other: Trace) -> bool:
    return agreement(scenario, case.program, [case], ("", {case.id: one}), ("", {case.id: other})).differing > 0
