"""What the reference answers to the cases of mutants. A mutant says which cases it may answer otherwise; it need not run the others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from conformance.model.case import Case, program_ref
from conformance.model.engine import Engine
from conformance.model.lateness import LatenessProfile
from conformance.model.program import Program
from conformance.model.runs import Pack, PackRun, added
from conformance.plugins.registry import load_engine


class Specified:
    """The reference's answers to single cases, each asked for once for each reading of *late*."""

    def __init__(self, programs: Mapping[str, Program]) -> None:
        self.programs = programs
        self._reference: Any = load_engine("reference")
        self._known: dict[tuple[LatenessProfile, str], PackRun] = {}

    def of(self, case: Case, lateness: LatenessProfile) -> PackRun:
        """The reference's answer to a case by itself."""
        if (lateness, case.id) not in self._known:
            self._known[lateness, case.id] = self._reference.reading(lateness).run(Pack((case,)), self.programs)
        return self._known[lateness, case.id]

    def answer_of(self, engine: Any, case: Case) -> PackRun:
        """A mutant's answer to a case by itself."""
        if not engine.can_show(case, self.programs[program_ref(case.scenario, case.program)]):
            return self.of(case, engine.capabilities.lateness)
        found: PackRun = engine.run(Pack((case,)), self.programs)
        return found

    def answer(self, engine: Engine, pack: Pack) -> PackRun:
        """An engine's answer to a pack. A mutant that looks at the other cases of a pack runs as a whole, as do engines without seeded bugs."""
        if not hasattr(engine, "can_show") or getattr(engine, "looks_around", False):
            return engine.run(pack, self.programs)
        return together(pack.cases, [self.answer_of(engine, case) for case in pack.cases])


def together(cases: Iterable[Case], runs: list[PackRun], counted: bool = True) -> PackRun:
    """The answers to single cases as that to a pack of them; with its row counts if they are asked for (``counted``)."""
    traces = {case.id: run.traces[case.id] for case, run in zip(cases, runs, strict=True)}
    return PackRun(traces, added(count for run in runs for count in run.counts) if counted else ())
