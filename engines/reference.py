"""The reference engine: the executable specification (``case_run``), in process, case by case."""

from __future__ import annotations

import copy
import platform
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from conformance.engines.case_run import CaseRun, TimersOfAnInstantReversed
from conformance.model.case import Case, program_ref
from conformance.model.engine import Capabilities
from conformance.model.feature import NATIVE, Feature
from conformance.model.lateness import Lateness, LatenessProfile
from conformance.model.plan import PlanTwin
from conformance.model.program import Program
from conformance.model.runs import Pack, PackRun, added, of_program
from conformance.model.trace import Trace

SPECIFIED = LatenessProfile(global_window=Lateness.BEHIND, fixed_windows=Lateness.WINDOW_EXPIRED)
"""Late is what lies strictly behind the watermark; in fixed windows, what belongs to an expired window (the readings
of the Beam model, whose guide calls data late that arrives after the watermark passed its timestamp or window)."""

ANOTHER = PlanTwin("another", "a plan in name alone, since the reference builds no query", always=True)


class Reference:
    """The engine that runs cases on ``case_run``, which a mutant replaces."""

    id = "reference"
    title = "reference (executable specification)"
    case_run: type[CaseRun] = CaseRun

    def __init__(self, lateness: LatenessProfile = SPECIFIED) -> None:
        self.capabilities = Capabilities(dict.fromkeys(Feature, NATIVE), lateness, plans=(ANOTHER,))

    def with_timers_of_an_instant_reversed(self) -> Reference:
        """The same engine, but of several timers that are due at one time it fires the last one first."""
        other = type(self)(self.capabilities.lateness)
        other.case_run = TimersOfAnInstantReversed
        return other

    def reading(self, lateness: LatenessProfile) -> Reference:
        """The same engine, with its seeded bugs if it has any, and another reading of *late*."""
        found = copy.copy(self)
        found.capabilities = replace(self.capabilities, lateness=lateness)
        return found

    def check(self) -> None:
        pass

    def open(self, folder: Path) -> None:
        pass

    def close(self) -> None:
        pass

    def environment(self) -> dict[str, str]:
        return {"python": platform.python_version()}

    def evidence(self) -> dict[Feature, str]:
        return {}

    def run(self, pack: Pack, programs: Mapping[str, Program]) -> PackRun:
        traces, counts = {}, []
        for case in pack.cases:
            program = programs[program_ref(case.scenario, case.program)]
            run = self.case_run(case, program, self.capabilities.lateness)
            run.pack = pack
            run.run()
            traces[case.id] = Trace.collect(run.emissions)
            counts += [of_program(count, program_ref(case.scenario, case.program)) for count in run.counts]
        return PackRun(traces, added(counts))

    def ran(self, case: Case, program: Program) -> tuple[Trace, bool]:
        """A case's trace, and whether several timers were due at one time."""
        run = self.case_run(case, program, self.capabilities.lateness)
        run.run()
        return Trace.collect(run.emissions), run.tied
