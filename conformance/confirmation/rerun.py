"""A second process of the engine, with other neighbours, other case numbers and another PYTHONHASHSEED."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from conformance.confirmation.reduction import Subject
from conformance.confirmation.replay import answered, packs_beside, run_of
from conformance.execution.host import EngineDown
from conformance.execution.packing import packs_of
from conformance.model.case import Case, program_ref
from conformance.model.engine import Capabilities
from conformance.model.program import Program
from conformance.model.runs import PackRun
from conformance.model.trace import Trace


class Rerun:
    """Runs cases in a process that starts at the first request.

    Args:
        start: starts the engine. Raises EngineDown if the engine does not start.

    Attributes:
        alone_runs: number of cases that ran alone so far.
    """

    def __init__(self, can: Capabilities, programs: Mapping[str, Program], start: Callable[[], Any]) -> None:
        self._can, self._programs, self._start = can, programs, start
        self._process: Any = None
        self._lock = threading.Lock()
        self._ran: dict[tuple[str, str, int], PackRun] = {}
        self.alone_runs = 0

    def packed(self, cases: list[Case]) -> Mapping[str, Trace]:
        """Traces, by case id, of the cases that the engine can express and answered. A case that a failed attempt did
        not reach has no answer."""
        found: dict[str, Trace] = {}
        can = self._can
        cases = [case for case in cases if can.takes(case, self._programs[program_ref(case.scenario, case.program)])]
        packs = packs_of(cases, can.largest_pack, can.largest_waiting_pack)
        if not packs:
            return found
        try:
            engine = self._engine()
        except EngineDown:
            return found
        with ThreadPoolExecutor(max_workers=can.parallel) as pool:
            for run in pool.map(partial(answered, engine), packs):
                found |= {case: trace for case, trace in run.traces.items() if case not in run.untouched}
        return found

    def alone(self, subject: Subject, neighbours: Sequence[Case] = (), number: int = 0) -> dict[str, PackRun]:
        """The results of each case of a subject, by case id. Each case runs in a pack of its own, or in a pack with
        only its neighbours. A case that ran alone for the time ``number`` does not run so again: twins share their base.

        Raises:
            NotDriven, EngineDown: the run gave nothing.
        """
        found: dict[str, PackRun] = {}
        for pack in packs_beside(subject, neighbours):
            (first, *others) = pack.cases
            place = (first.id, first.digest, number)
            run = None if others else self._ran.get(place)
            if run is None:
                with self._lock:
                    self.alone_runs += sum(case in pack.cases for case in subject.cases)
                run = run_of(self._engine(), pack)
                if not others:
                    self._ran[place] = run
            found |= {case.id: run for case in subject.cases if case in pack.cases}
        return found

    def _engine(self) -> Any:
        with self._lock:
            if self._process is None:
                self._process = self._start()
            return self._process
