"""Checks of batches, in this process or by a checker in another process."""

from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cached_property

from conformance.execution.host import EngineDown, Host
from conformance.judgement.agreement import Agreement, agreements
from conformance.judgement.batches import Checked, check
from conformance.judgement.evidence import ReferenceTraces, Runs
from conformance.judgement.reference import reference_traces
from conformance.model.case import Case
from conformance.model.checker import Batch
from conformance.model.engine import CannotRun, EngineInfo
from conformance.model.lateness import LatenessProfile
from conformance.model.scenario import Scenario, programs_of
from conformance.plugins import loading
from conformance.plugins.registry import checker_ids, load_checker
from conformance.results import tables
from conformance.results.store import Store
from conformance.run.options import MANY

LOCAL, AUTO = "local", "auto"


class Checks:
    """Checks the batches of one store.

    Args:
        checker: "local", the name of a checker, or "auto".
        host: gives the process of a checker.
        out: where check results go, if not into the same store.
    """

    def __init__(
        self,
        scenarios: Iterable[Scenario],
        store: Store,
        checker: str,
        host: Callable[[], Host],
        out: Store | None = None,
    ) -> None:
        self._scenarios, self._store, self._asked, self._host = list(scenarios), store, checker, host
        self._out = out or store
        self._references: dict[LatenessProfile | None, ReferenceTraces] = {}

    @cached_property
    def checker(self) -> str:
        if self._asked != AUTO:
            return self._asked
        if sum(self._store.count(batch) for batch in self._store.batches) <= MANY:
            return LOCAL
        for name in checker_ids():
            with suppress(CannotRun):
                load_checker(name).check()
                return name
        return LOCAL

    def reference(self, lateness: LatenessProfile | None) -> ReferenceTraces:
        """The reference that reads *late* in this way."""
        if lateness not in self._references:
            self._references[lateness] = reference_traces(programs_of(self._scenarios), lateness)
        return self._references[lateness]

    def check(self, info: EngineInfo, batch: int, cases: list[Case], runs: Runs) -> Checked:
        """The check of the cases of a batch on an engine, whose traces are in the store.

        Raises:
            EngineDown: the checker failed.
        """
        if self.checker == LOCAL:
            return self.check_here(info, cases, runs)
        out = self._out.checks(info.id, batch)
        work = Batch(
            info.id,
            tuple(programs_of(self._scenarios)),
            str(self._store.handed(info.id, batch)),
            str(self._store.traces(info.id, batch)),
            str(out),
            loading.asked(),
        )
        try:
            self._host().check(self.checker, work)
        except CannotRun as error:
            raise EngineDown(str(error)) from None
        return tables.whole_check(tables.read(out))

    def check_here(self, info: EngineInfo, cases: list[Case], runs: Runs) -> Checked:
        """The same check in this process."""
        return check(self._scenarios, cases, runs, info, self.reference(info.capabilities.lateness))


def agreements_of(
    scenarios: Iterable[Scenario], infos: Iterable[EngineInfo], store: Store, checks: Checks
) -> list[Agreement]:
    """How far engines agree, over all batches. Native operators that do not put out what the program does are left
    out."""
    scenarios = list(scenarios)
    infos = [info for info in infos if not (operator := info.capabilities.native_operator) or operator.compared]
    total: dict[tuple[str, str, str, str], Agreement] = {}
    stops = frozenset(info.id for info in infos if info.capabilities.native_operator)
    references = {info.id: checks.reference(info.capabilities.lateness) for info in infos}
    for batch in store.batches:
        cases = store.read_cases(batch)
        traces = {info.id: store.read_traces(info.id, batch) for info in infos}
        for found in agreements(scenarios, cases, traces, references, stops):
            total[found.place] = total[found.place].plus(found) if found.place in total else found
    # A native operator has no cases of programs whose job it does not do.
    return [found for found in total.values() if found.cases or not {found.left, found.right} & stops]
