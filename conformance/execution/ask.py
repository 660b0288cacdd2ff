"""Asks an engine: makes its packs, runs them, and runs a failed pack again: without a case, in parts, or in a fresh
process."""

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from conformance.execution.host import EngineDown, EngineEnded, NoAnswer
from conformance.execution.packing import Parts, halves, packs_of, whole
from conformance.execution.process import GivenUp, Process, says_nothing
from conformance.judgement.evidence import Runs
from conformance.model.case import Case
from conformance.model.engine import Capabilities, NotDriven, program_needs
from conformance.model.feature import Feature
from conformance.model.next_version import change_of, next_versions
from conformance.model.program import Program
from conformance.model.runs import Pack, PackRun
from conformance.model.trace import Emission, Trace


def packs_for(cases: Iterable[Case], can: Capabilities) -> list[Pack]:
    """The packs that an engine runs of these cases."""
    return packs_of(cases, can.largest_pack, can.largest_waiting_pack, broad=can.heavy)


def _risk(program: Program) -> str:
    """What of a program may end a whole query in an engine, "" if nothing may: keys with types, values that do not fit,
    containers, or other values with types."""
    if program.keys:
        return "keys"
    if program.misfits:
        return "misfits"
    if Feature.CONTAINERS in program_needs(program):
        return "containers"
    return "values" if program.types else ""


def parts_of(programs: Mapping[str, Program], pack: Pack) -> list[Pack]:
    """The parts of a pack, each of programs that may end a query in one way, or, of a pack of such programs, each of
    one program. They run by themselves where the pack fails as a whole, so that no program is blamed for another's
    fault."""
    by_risk: dict[str, list[Case]] = {}
    by_program: dict[str, list[Case]] = {}
    for case in pack.cases:
        ref = case.ref
        program = programs[ref]
        # A next version that reads another's state may take the engine's process along.
        risk = change_of(case, program) if next_versions(program) else _risk(program)
        by_risk.setdefault(risk, []).append(case)
        by_program.setdefault(ref, []).append(case)
    found = by_program if len(by_risk) == 1 and "" not in by_risk else by_risk
    return [Pack(tuple(found[part])) for part in sorted(found)]


def answer_of(process: Any, pack: Pack) -> PackRun:
    """The results of a pack. If a plan fails, and the engine's process lives, the failure is the result.

    Raises:
        NotDriven, EngineDown: the run gave nothing.
    """
    try:
        run: PackRun = process.run(pack)
    except EngineDown as error:
        if failed := failed_plan(pack, error):
            return failed
        raise
    return run


def answered(process: Any, pack: Pack) -> PackRun:
    """The results of a pack, empty if the pack could not run: its cases are then tried alone."""
    try:
        return answer_of(process, pack)
    except (NotDriven, EngineDown):
        return PackRun()


def failed_plan(pack: Pack, error: EngineDown) -> PackRun | None:
    """The results of a pack of plan twins that an engine failed in: each case ends with the failure, for the plain
    query runs. None if the pack has another query, if the engine's process ended, or if the failure names one of
    several cases."""
    if not pack.cases[0].schedule.plan or isinstance(error, EngineEnded):
        return None
    if "[case " in str(error) and len(pack.cases) > 1:
        return None
    trace = Trace.collect([Emission("", None, pack.timeline[-1].id, error=f"the plan failed: {error}")])
    return PackRun({case.id: trace for case in pack.cases})


AGAIN = 2
"""Number of retries of a failed pack: first in a fresh query, then in a fresh process."""


@dataclass
class Ask:
    """Asks one engine. Several threads may ask at a time.

    Attributes:
        process: the engine's process.
        beside: another process beside the first, None if there is no second try.
        parts: what a pack falls into where it fails as a whole.
        parallel: how many packs run at a time.
        go_on: whether to run a further pack.
    """

    process: Process
    beside: Process | None = None
    interrupted: Callable[[], bool] = lambda: False
    parts: Parts = whole
    parallel: int = 1
    go_on: Callable[[], bool] = lambda: True

    def packs(self, packs: Iterable[Pack], done: Callable[[], None] = lambda: None) -> Runs:
        """Runs packs. ``done`` is called after each. One whose schedule waits runs beside as many others as run at a
        time: the engine has nothing to do meanwhile."""

        def run(pack: Pack) -> Runs:
            if not self.go_on():
                return Runs(left_out=[pack])
            given = self.pack(pack)
            done()
            return given

        total = Runs()
        with ThreadPoolExecutor(self.parallel) as busy, ThreadPoolExecutor(1) as idle:
            lane = idle if self.parallel > 1 else busy
            running = [(lane if pack.cases[0].schedule.waits else busy).submit(run, pack) for pack in packs]
            for given in running:
                total.merge(given.result())
        total.failure = self.process.given_up or total.failure
        return total

    def pack(self, pack: Pack) -> Runs:
        """Runs a pack. If the engine fails in a case's call, the pack runs again without the cases of that program,
        which then run by themselves without that case. If the pack was too slow, it runs again in halves. After any
        other failure, where its query ended with an error, and where the schedule was not driven, its parts run by
        themselves. A pack of one part runs again in a fresh query and then in a fresh process. A failure of a plan in
        a case's call, and its last failure, are the plan's answer, which is kept.
        Cases without an answer are lost, or have a fault if the schedule was not driven."""
        given, failed, asked, made = Runs(), 0, pack, False
        process: Process = self.process
        while pack.cases:
            try:
                run = process.run(pack)
            except NotDriven as error:
                if len(apart := self.parts(pack)) > 1:  # a program may have ended the query too early
                    self._apart(apart, given)
                else:
                    given.faults |= {case.id: f"the schedule was not driven: {error}" for case in pack.cases}
                break
            except EngineDown as error:
                stopped = self.interrupted()
                cause = "interrupted" if stopped else str(error)
                ended = isinstance(error, EngineEnded)
                guilty = next((case for case in pack.cases if f"[case {case.id}]" in cause), None)
                if guilty is None or ended:
                    if not (stopped or self.process.given_up) and len(apart := self.parts(pack)) > 1:
                        self._apart(apart, given)
                        break
                    failed += 1
                    if other := self._again(process, error, failed):
                        process = other
                        continue
                    if answer := failed_plan(pack, error):
                        given.add(pack, answer)
                        made = True
                        break
                    given.lost |= {case.id: cause for case in pack.cases}
                    given.failure = cause
                    break
                if answer := failed_plan(Pack((guilty,)), error):
                    given.add(Pack((guilty,)), answer)
                    made = True
                else:
                    given.lost[guilty.id] = cause
                mine, others = _parted(pack, guilty)
                if mine and others:  # what one case of a program does, another one is likely to do
                    given.merge(self.pack(Pack(mine)))
                if not (left := others or mine):
                    break
                pack = Pack(left)
            else:
                smaller = halves(pack) if says_nothing(pack, run) else self.parts(pack) if _ended(run) else (pack,)
                if len(smaller) > 1:
                    self._apart(smaller, given)
                else:
                    given.add(pack, run)
                break
        if made and given.traces.keys() == {case.id for case in asked.cases}:
            process.keep(asked, PackRun(given.traces))
        return given

    def _apart(self, parts: Iterable[Pack], given: Runs) -> None:
        for part in parts:
            given.merge(self.pack(part))

    def _again(self, failed: Process, error: EngineDown, times: int) -> Process | None:
        """The process for another run of a pack that failed for the time ``times``. None if another run cannot help:
        the engine hung, or is given up."""
        if not self.beside or times > AGAIN or self.interrupted() or isinstance(error, (NoAnswer, GivenUp)):
            return None
        other = failed if times < AGAIN or isinstance(error, EngineEnded) else self.beside
        return other if other.starts() else None


def _parted(pack: Pack, guilty: Case) -> tuple[tuple[Case, ...], tuple[Case, ...]]:
    """The other cases of a guilty case's program, and those of other programs."""
    mine = tuple(c for c in pack.cases if c is not guilty and c.ref == guilty.ref)
    return mine, tuple(c for c in pack.cases if c.ref != guilty.ref)


def _ended(run: PackRun) -> bool:
    """Whether a query ended for all of its cases."""
    errors = {trace.error for trace in run.traces.values()}
    return len(errors) == 1 and errors != {None}
