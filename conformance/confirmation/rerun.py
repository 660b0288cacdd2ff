"""Runs of candidates and witnesses in a process of the engine: with other neighbours, other case numbers and another
PYTHONHASHSEED."""

import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from conformance.confirmation.reduction import Subject
from conformance.execution.ask import answer_of, answered
from conformance.execution.packing import packs_of
from conformance.model.case import Case
from conformance.model.engine import Capabilities
from conformance.model.program import Program
from conformance.model.runs import Pack, PackRun
from conformance.model.trace import Trace


class Rerun:
    """Runs cases again.

    Attributes:
        alone_runs: number of cases that ran alone so far.
    """

    def __init__(self, can: Capabilities, programs: Mapping[str, Program], process: Any) -> None:
        self._can, self._programs, self._process = can, programs, process
        self._lock = threading.Lock()
        self._ran: dict[tuple[str, str, int], PackRun] = {}
        self.alone_runs = 0

    def packed(self, cases: list[Case]) -> Mapping[str, Trace]:
        """Traces, by case id, of the cases that the engine can express and answered. A case that a failed attempt did
        not reach has no answer."""
        can = self._can
        cases = [case for case in cases if can.takes(case, self._programs[case.ref])]
        packs = packs_of(cases, can.largest_pack, can.largest_waiting_pack)
        with ThreadPoolExecutor(max_workers=can.parallel) as pool:
            runs = [*pool.map(partial(answered, self._process), packs)]
        return {name: trace for run in runs for name, trace in run.traces.items() if name not in run.untouched}

    def alone(self, subject: Subject, neighbours: Sequence[Case] = (), number: int = 0) -> dict[str, PackRun]:
        """The results of each case of a subject, by case id. Each case runs in a pack of its own, or in a pack with
        only its neighbours. A case that ran alone for the time ``number`` does not run so again: twins share their
        base.

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
                run = answer_of(self._process, pack)
                if not others:
                    self._ran[place] = run
            found |= {case.id: run for case in subject.cases if case in pack.cases}
        return found


def packs_beside(subject: Subject, neighbours: Sequence[Case]) -> list[Pack]:
    """The packs to run for a subject: one pack for each of its cases. With neighbours, one pack holds the neighbours
    and the cases on their timeline, and every other case runs alone."""
    if not neighbours:
        return [Pack((case,)) for case in subject.cases]
    timeline = subject.case.schedule.timeline
    beside = [case for case in subject.cases if case.schedule.timeline == timeline]
    apart = [Pack((case,)) for case in subject.cases if case.schedule.timeline != timeline]
    return [*apart, Pack((*neighbours, *beside))]
