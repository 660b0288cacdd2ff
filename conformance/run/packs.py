"""Runs packs: makes the packs of an engine, runs a failed pack again (without a case, in halves or in
a fresh process), and reports the failures."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field

from conformance.confirmation.replay import failed_plan
from conformance.execution.cached import Cached, Process
from conformance.execution.host import EngineDown, NoAnswer
from conformance.execution.packing import Parts, halves, packs_of, whole
from conformance.execution.watched import GivenUp
from conformance.judgement.evidence import Runs
from conformance.model.case import Case, program_ref
from conformance.model.engine import CannotRun, Capabilities, NotDriven, program_needs
from conformance.model.feature import Feature
from conformance.model.program import Program, has_types
from conformance.model.runs import Pack, PackRun


def packs_for(cases: Iterable[Case], can: Capabilities, programs: Mapping[str, Program]) -> list[Pack]:
    """The packs that an engine runs of these cases. Programs with types share none with those without: on some engines each declared
    state costs every micro-batch time, and such programs declare many."""
    kinds: dict[bool, list[Case]] = {False: [], True: []}
    for case in cases:
        kinds[has_types(programs[program_ref(case.scenario, case.program)])].append(case)
    return [
        pack
        for mine in kinds.values()
        for pack in packs_of(mine, can.largest_pack, can.largest_waiting_pack, broad=can.heavy)
    ]


def _risk(program: Program) -> str:
    """What of a program may end a whole query in an engine, "" if nothing may: keys with types, values that do not fit, containers, or other
    values with types."""
    if program.keys:
        return "keys"
    if program.misfits:
        return "misfits"
    if Feature.CONTAINERS in program_needs(program):
        return "containers"
    return "values" if program.types else ""


def parts_of(programs: Mapping[str, Program], pack: Pack) -> list[Pack]:
    """The parts of a pack, each of programs that may end a query in one way. They run by themselves where the pack fails as a whole."""
    found: dict[str, list[Case]] = {}
    for case in pack.cases:
        found.setdefault(_risk(programs[program_ref(case.scenario, case.program)]), []).append(case)
    return [Pack(tuple(found[risk])) for risk in sorted(found)]


@dataclass
class Given:
    """The results of packs, the failure of the engine's process, "" if it did not fail, and the packs that did not run."""

    runs: Runs = field(default_factory=Runs)
    failure: str = ""
    left_out: list[Pack] = field(default_factory=list)

    def add(self, other: Given) -> None:
        self.runs.merge(other.runs)
        self.failure = self.failure or other.failure
        self.left_out += other.left_out


AGAIN = 2
"""Number of retries of a failed pack: first in a fresh query, then in a fresh process."""


class Processes:
    """The processes that an engine's packs run in. Several threads may use one ``Processes`` at a time.

    Args:
        engine: the engine in its process.
        restart: starts the engine again after its process has ended.
        beside: starts the engine in another process beside the first. Both raise CannotRun.
        parts: what a pack falls into where it fails as a whole.
    """

    def __init__(
        self,
        engine: Process,
        restart: Callable[[], Process] | None = None,
        beside: Callable[[], Process] | None = None,
        interrupted: Callable[[], bool] = lambda: False,
        parts: Parts = whole,
    ) -> None:
        self._engine, self._restart, self._beside, self.interrupted = engine, restart, beside, interrupted
        self.parts = parts
        self._fresh: Process | None = None
        self._lock = threading.Lock()

    @property
    def given_up(self) -> str:
        """The reason why the engine gets no more packs, "" while it gets packs."""
        return self._engine.given_up

    def living(self) -> Process:
        """The engine, restarted if its process has ended."""
        with self._lock:
            if not self._engine.alive and self._restart and not (self.interrupted() or self.given_up):
                with suppress(CannotRun):  # the pack is then lost, and its cause is the end of the process
                    self._engine = self._restart()
            return self._engine

    def again(self, failed: Process, error: EngineDown, times: int) -> Process | None:
        """The process for another run of a pack that failed for the time ``times``. None if another run cannot help:
        the engine hung, or is given up."""
        if times > AGAIN or self.interrupted() or not self._restart or isinstance(error, (NoAnswer, GivenUp)):
            return None
        if not failed.alive:
            return engine if (engine := self.living()).alive else None
        return failed if times < AGAIN else self._other()

    def _other(self) -> Process | None:
        with self._lock:
            if (self._fresh is None or not self._fresh.alive) and self._beside:
                with suppress(CannotRun):
                    self._fresh = self._beside()
            return self._fresh if self._fresh and self._fresh.alive else None


def run_packs(
    processes: Processes,
    packs: tuple[Pack, ...],
    parallel: int,
    done: Callable[[], None],
    go_on: Callable[[], bool] = lambda: True,
) -> Given:
    """Runs packs, ``parallel`` of them at a time. ``done`` is called after each pack. Once ``go_on`` says no, no further pack
    runs."""

    def run(pack: Pack) -> Given:
        if not go_on():
            return Given(left_out=[pack])
        given = run_pack(processes, pack)
        done()
        return given

    total = Given()
    with ThreadPoolExecutor(max_workers=parallel) as pool:
        for given in pool.map(run, packs):
            total.add(given)
    total.failure = processes.given_up or total.failure
    return total


def run_pack(processes: Processes, pack: Pack) -> Given:
    """Runs a pack. If the engine fails in a case's call, the pack runs again without the cases of that program, which then run by
    themselves without that case. If the pack was too slow, it runs again in halves. After any other failure, and where its query ended with
    an error, its parts run by themselves. A pack of one part runs again in a fresh query and then in a fresh process. A failure of a plan in
    a case's call, and its last failure, are the plan's answer, which is kept.
    Cases without an answer are lost, or have a fault if the schedule was not driven."""
    given, failed, asked, made = Given(), 0, pack, False
    engine: Process | None = processes.living()
    while engine and pack.cases:
        try:
            run = engine.run(pack)
            smaller: Sequence[Pack] = (pack,)
            if _too_slow(pack, run):
                smaller = halves(pack)
            elif _ended(run):
                smaller = processes.parts(pack)
            if len(smaller) > 1:
                for part in smaller:
                    given.add(run_pack(processes, part))
            else:
                given.runs.add(pack, run)
            break
        except NotDriven as error:
            given.runs.faults |= {case.id: f"the schedule was not driven: {error}" for case in pack.cases}
            break
        except EngineDown as error:
            cause = "interrupted" if processes.interrupted() else str(error)
            guilty = [case for case in pack.cases if f"[case {case.id}]" in cause]
            if not guilty or not engine.alive:
                if len(apart := processes.parts(pack)) > 1 and not (processes.given_up or processes.interrupted()):
                    for part in apart:
                        given.add(run_pack(processes, part))
                    break
                failed += 1
                if other := processes.again(engine, error, failed):
                    engine = other
                    continue
                if engine.alive and (answer := failed_plan(pack, error)):
                    given.runs.add(pack, answer)
                    made = True
                    break
                given.runs.lost |= {case.id: cause for case in pack.cases}
                given.failure = cause
                break
            if answer := failed_plan(Pack((guilty[0],)), error):
                given.runs.add(Pack((guilty[0],)), answer)
                made = True
            else:
                given.runs.lost[guilty[0].id] = cause
            mine, others = _parted(pack, guilty[0])
            if mine and others:  # what one case of a program does, another one is likely to do
                given.add(run_pack(processes, Pack(mine)))
            if not (left := others or mine):
                break
            pack = Pack(left)
    if made and isinstance(engine, Cached) and given.runs.traces.keys() == {case.id for case in asked.cases}:
        engine.keep(asked, PackRun(given.runs.traces))
    return given


def _parted(pack: Pack, guilty: Case) -> tuple[tuple[Case, ...], tuple[Case, ...]]:
    """The other cases of a guilty case's program, and those of other programs."""
    program = guilty.scenario, guilty.program
    mine = tuple(c for c in pack.cases if c is not guilty and (c.scenario, c.program) == program)
    return mine, tuple(c for c in pack.cases if (c.scenario, c.program) != program)


def _too_slow(pack: Pack, run: PackRun) -> bool:
    """Whether a pack says nothing because more processing time passed than the schedule waited for."""
    return pack.cases[0].schedule.waits and all(case.id in run.untouched for case in pack.cases)


def _ended(run: PackRun) -> bool:
    """Whether a query ended for all of its cases."""
    errors = {trace.error for trace in run.traces.values()}
    return len(errors) == 1 and errors != {None}
