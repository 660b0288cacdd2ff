"""What the reference and its mutants answer to cases. A mutant says which cases it may answer otherwise; it need not run the others."""

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

    def together(self, cases: Iterable[Case], lateness: LatenessProfile) -> PackRun:
        """The reference's answer to a pack of these cases."""
        return together(cases, [self.of(case, lateness) for case in cases])

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


class Answers:
    """What a mutant answers. One that never looks at the other cases of a pack answers each case once for all packs that it is in."""

    def __init__(self, engine: str, specified: Specified) -> None:
        self._engine: Any = load_engine(engine)
        self._specified = specified
        self._readings: dict[LatenessProfile, Any] = {}
        self._known: dict[tuple[LatenessProfile, str], PackRun] = {}
        self._unlike: dict[tuple[LatenessProfile, str], tuple[bool, bool]] = {}

    def unlike(self, pack: Pack, lateness: LatenessProfile, counted: bool) -> bool:
        """Whether the answer to a pack differs from the reference's: by a trace, or, if they are asked for (``counted``), by row counts."""
        if not self._reading(lateness).looks_around:
            return any(self._is_unlike(case, lateness, counted) for case in pack.cases)
        found, specified = self.run(pack, lateness), self._specified.together(pack.cases, lateness)
        return found.traces != specified.traces or (counted and found.counts != specified.counts)

    def run(self, pack: Pack, lateness: LatenessProfile) -> PackRun:
        """The answer to a pack."""
        engine = self._reading(lateness)
        if engine.looks_around:
            return self._specified.answer(engine, pack)
        return together(pack.cases, [self._answer(case, lateness) for case in pack.cases])

    def _reading(self, lateness: LatenessProfile) -> Any:
        return self._readings.setdefault(lateness, self._engine.reading(lateness))

    def _is_unlike(self, case: Case, lateness: LatenessProfile, counted: bool) -> bool:
        if (lateness, case.id) not in self._unlike:
            found, specified = self._answer(case, lateness), self._specified.of(case, lateness)
            unlike = found.traces != specified.traces, found.counts != specified.counts
            self._unlike[lateness, case.id] = unlike
        by_trace, by_counts = self._unlike[lateness, case.id]
        return by_trace or (counted and by_counts)

    def _answer(self, case: Case, lateness: LatenessProfile) -> PackRun:
        if (lateness, case.id) not in self._known:
            self._known[lateness, case.id] = self._specified.answer_of(self._reading(lateness), case)
        return self._known[lateness, case.id]


def together(cases: Iterable[Case], runs: list[PackRun]) -> PackRun:
    """The answers to single cases as that to a pack of them."""
    traces = {case.id: run.traces[case.id] for case, run in zip(cases, runs, strict=True)}
    return PackRun(traces, added(count for run in runs for count in run.counts))
