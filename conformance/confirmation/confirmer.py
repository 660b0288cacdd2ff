"""Confirmation: one failure in one pack does not make a cell violated.

Failing cases are reduced in packs of another process, then run alone without the steps that they do not need. A case
that fails alone is the witness. A case that does not fail alone runs beside fewer and fewer cases of its pack: the
cases that it needs become the witness's neighbours. A stored witness has failed alone already. If it did so on this
same engine (``owed``), or if the run is brief, one more failure in a pack with others is enough.
"""

import threading
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from conformance.confirmation.alone import Alone, PackOf
from conformance.confirmation.ended import MESSAGE
from conformance.confirmation.flips import with_flips
from conformance.confirmation.owed import Kind, Mode, Owed, owed_to_new, owed_to_stored
from conformance.confirmation.reduction import Target, reduce
from conformance.confirmation.replay import FAILS, Replay, runs_here
from conformance.confirmation.rerun import Rerun
from conformance.confirmation.targets import Targets, Violation, kind_of
from conformance.execution.host import EngineDown
from conformance.judgement.cell import MatrixCell
from conformance.judgement.evidence import ReferenceTraces, Runs, Unjudgeable, error_of
from conformance.judgement.verdict import confirmed, unanswered_alone
from conformance.model.case import Case
from conformance.model.engine import EngineInfo, NotDriven
from conformance.model.lateness import LatenessProfile
from conformance.model.scenario import Scenario, programs_of
from conformance.results.witness import Witness

Outcome = Witness | Unjudgeable | NotDriven | EngineDown
"""The witness of a kind of failure, or the reason why its run alone gave nothing to judge."""


class Confirmer:
    """Turns the violations of one engine into witnesses.

    Args:
        references: the reference engine as it reads *late* under a profile; as it is, for None. Witnesses record its
            traces as expected.
        process: where the engine runs what is asked again.
        mode: the kind of run.
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
        references: Callable[[LatenessProfile | None], ReferenceTraces],
        process: Any,
        mode: Mode = Mode.FULL,
        pack_of: PackOf = lambda case: None,
    ) -> None:
        scenarios = list(scenarios)
        reference, specified = references(info.capabilities.lateness), references(None)
        self._info, self._specified, self._mode = info, specified, mode
        self._pack_of = pack_of
        self._targets = Targets(scenarios, reference, info.capabilities.plans)
        self._rerun = Rerun(info.capabilities, programs_of(scenarios), process)
        self._alone = Alone(info, scenarios, self._targets, self._rerun, reference, specified)
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
        owed_again = owed_to_stored([r.witness for r in replays], self._info, self._mode)
        new = [(v, kind) for v, kind in zip(violations, kinds, strict=True) if kind not in stored]
        targets = self._targets.of(new, cases, runs)
        ended = {kind: error for kind, target in targets.items() if (error := error_of(target.begun.case, runs.traces))}
        owed = owed_to_new(targets, {kind: targets[kind].begun.case for kind in ended}, self._mode, stored)
        packable = [t for kind, t in targets.items() if owed[kind].reduced and not t.guarantee.accounting]
        self.rounds = reduce(packable, self._rerun.packed)

        def outcome(kind: Kind) -> Outcome:
            try:
                if kind in stored:
                    return self._alone.again(stored[kind], owed_again[stored[kind].id].alone)
                return self._found(targets[kind], owed[kind], ended.get(kind, ""))
            except (Unjudgeable, NotDriven) as error:
                return error
            except EngineDown as error:
                self._info.failure = self._info.failure or str(error)
                return error

        asked = dict.fromkeys(kinds)
        with ThreadPoolExecutor(max_workers=self._info.capabilities.parallel) as pool:
            outcomes = dict(zip(asked, pool.map(outcome, asked), strict=True))
        made = {kind: found for kind in targets if isinstance(found := outcomes[kind], Witness)}
        flipped = with_flips([(targets[kind], w) for kind, w in made.items()], self._rerun.packed, self._specified)
        outcomes |= dict(zip(made, flipped, strict=True))
        return [self._cell(v.cell, outcomes[kind]) for v, kind in zip(violations, kinds, strict=True)]

    def _found(self, target: Target, owed: Owed, ended: str) -> Witness:
        """The witness of a new kind of failure. If an error ``ended`` the query, it did so for all of its pack: the
        first says what it takes."""
        found = self._alone.witness(target, owed)
        if target.guarantee.accounting or not owed.beside or any(known.failed for known in found.confirmations):
            return found
        place = (target.begun.case.schedule.timeline, ended[:MESSAGE])
        with self._lock:
            stands = bool(ended) and place in self._beside
            self._beside.add(place)
        pack = None if stands else self._pack_of(target.begun.case)
        return (pack and self._alone.beside(target, pack)) or found

    def _cell(self, cell: MatrixCell, outcome: Witness | Exception) -> MatrixCell:
        if not isinstance(outcome, Witness):
            return unanswered_alone(cell, outcome)
        self.witnesses[outcome.id] = outcome
        runs = runs_here(outcome, self._info)
        return confirmed(cell, outcome.id, outcome.message, *runs, neighbours=len(outcome.neighbours))
