"""Confirmation: one failure in one pack does not make a cell violated.

Failing cases are reduced in packs of another process, then run alone without the steps that they do not need. A case
that fails alone is the witness. A case that does not fail alone runs beside fewer and fewer cases of its pack: the
cases that it needs become the witness's neighbours. A stored witness has failed alone already. If it did so on this
same engine (``replay.resting``), or if the run is brief, one more failure in a pack with others is enough.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from conformance.confirmation.alone import Alone
from conformance.confirmation.flips import with_flips
from conformance.confirmation.isolation import ENDED_ALIKE, MESSAGE
from conformance.confirmation.neighbours import PackOf
from conformance.confirmation.reduction import Target, reduce
from conformance.confirmation.replay import FAILS, Replay, resting, runs_here
from conformance.confirmation.rerun import Rerun
from conformance.confirmation.targets import Kind, Targets, Violation, kind_of
from conformance.execution.host import EngineDown
from conformance.judgement.cell import MatrixCell
from conformance.judgement.evidence import ReferenceTraces, Runs, Unjudgeable, error_of
from conformance.judgement.verdict import confirmed, unanswered_alone
from conformance.model.case import Case
from conformance.model.engine import EngineInfo, NotDriven
from conformance.model.scenario import Scenario, programs_of
from conformance.results.witness import Witness

RUNS_ALONE = 3
"""Number of runs alone of a guarantee's first new witness. Its other witnesses, each of another perturbation, run alone once."""


class Confirmer:
    """Turns the violations of one engine into witnesses.

    Args:
        reference: the reference engine, which reads *late* as this engine does.
        specified: the reference engine as it is. Witnesses record its traces as expected.
        start: starts the engine again, in another process.
        alone: number of runs alone of a new witness. If it is 1, only the first new witness of a guarantee is reduced, and what does not
            fail alone is not looked for beside other cases.
        pack_of: the pack in which a case failed. A case that does not fail alone runs again beside fewer and fewer
            cases of this pack.

    Attributes:
        witnesses: the witnesses of the confirmed cells, by id.
        rounds: number of packed rounds of the reduction.
    """

    def __init__(
        self,
        info: EngineInfo,
        scenarios: Iterable[Scenario],
        *,
        reference: ReferenceTraces,
        specified: ReferenceTraces,
        start: Callable[[], Any],
        alone: int = RUNS_ALONE,
        pack_of: PackOf = lambda case: None,
    ) -> None:
        scenarios = list(scenarios)
        self._info, self._specified = info, specified
        self._pack_of = pack_of
        self._targets = Targets(scenarios, reference, info.capabilities.plans)
        self._rerun = Rerun(info.capabilities, programs_of(scenarios), start)
        self._once = alone == 1
        self._alone = Alone(info, scenarios, self._targets, self._rerun, reference, specified, alone)
        self._beside, self._lock = set[tuple[object, str]](), threading.Lock()
        self.witnesses: dict[str, Witness] = {}
        self.rounds = 0

    @property
    def alone_runs(self) -> int:
        """Number of cases that ran alone."""
        return self._rerun.alone_runs

    def confirm(
        self, violations: list[Violation], runs: Runs, cases: Mapping[str, Case], replays: list[Replay]
    ) -> list[MatrixCell]:
        """The cells of the violations, each with its witness, or with another verdict if there is no witness."""
        kinds = self._targets.kinds(violations, runs, cases)
        stored = {kind_of(r.witness): r.witness for r in replays if r.answer in FAILS}
        enough = resting([r.witness for r in replays], self._info)
        outcomes: dict[Kind, Witness | Unjudgeable | NotDriven | EngineDown] = {
            kind: witness for kind, witness in stored.items() if witness.id in enough
        }
        new = [(v, kind) for v, kind in zip(violations, kinds, strict=True) if kind not in stored]
        targets = self._targets.of(new, cases, runs)
        ended = {kind: error for kind, target in targets.items() if (error := error_of(target.begun.case, runs.traces))}
        further = further_programs({kind: targets[kind].begun.case for kind in ended})
        first = set({kind[:2]: kind for kind in reversed(targets)}.values())
        reduced = [kind for kind in targets if kind not in further and (kind in first or not self._once)]
        packable = [targets[kind] for kind in reduced if not targets[kind].guarantee.accounting]
        self.rounds = reduce(packable, self._rerun.packed)
        with ThreadPoolExecutor(max_workers=self._info.capabilities.parallel) as pool:
            jobs = {
                kind: pool.submit(
                    self._outcome, kind, stored, targets, 0 if kind in first - further else 1, ended.get(kind, "")
                )
                for kind in dict.fromkeys(kinds)
                if kind not in outcomes
            }
            outcomes |= {kind: job.result() for kind, job in jobs.items()}
        made = {kind: found for kind in targets if isinstance(found := outcomes[kind], Witness)}
        flipped = with_flips([(targets[kind], w) for kind, w in made.items()], self._rerun.packed, self._specified)
        outcomes |= dict(zip(made, flipped, strict=True))
        return [self._cell(v.cell, outcomes[kind]) for v, kind in zip(violations, kinds, strict=True)]

    def _outcome(
        self, kind: Kind, stored: Mapping[Kind, Witness], targets: Mapping[Kind, Target], times: int, ended: str
    ) -> Witness | Unjudgeable | NotDriven | EngineDown:
        """The witness of a kind of failure, or the reason why its run alone gave nothing to judge."""
        try:
            if kind in stored:
                return self._alone.again(stored[kind])
            target = targets[kind]
            found = self._alone.witness(target, times)
            never = not any(known.failed for known in found.confirmations)
            if never and self._runs_beside(target, ended) and (pack := self._pack_of(target.begun.case)):
                return self._alone.beside(target, pack) or found
            return found
        except (Unjudgeable, NotDriven) as error:
            return error
        except EngineDown as error:
            self._info.failure = self._info.failure or str(error)
            return error

    def _runs_beside(self, target: Target, ended: str) -> bool:
        """Whether a case that does not fail alone runs beside cases of its pack. If an error ``ended`` the query, it did so for all of them:
        the first says what it takes."""
        if target.guarantee.accounting or self._once:
            return False
        place = (target.begun.case.schedule.timeline, ended[:MESSAGE])
        with self._lock:
            stands = bool(ended) and place in self._beside
            self._beside.add(place)
        return not stands

    def _cell(self, cell: MatrixCell, outcome: Witness | Exception) -> MatrixCell:
        if not isinstance(outcome, Witness):
            return unanswered_alone(cell, outcome)
        self.witnesses[outcome.id] = outcome
        runs = runs_here(outcome, self._info)
        return confirmed(cell, outcome.id, outcome.message, *runs, neighbours=len(outcome.neighbours))


def further_programs(ended: Mapping[Kind, Case]) -> set[Kind]:
    """Of kinds of failure whose cases end with an error, those of each set of perturbations that are not of its first ENDED_ALIKE
    programs."""
    programs: dict[str, list[tuple[str, str]]] = {}
    further = set[Kind]()
    for kind, case in ended.items():
        mine = programs.setdefault(kind[2], [])
        program = case.scenario, case.program
        if program not in mine:
            mine.append(program)
        if kind[2] and mine.index(program) >= ENDED_ALIKE:
            further.add(kind)
    return further
