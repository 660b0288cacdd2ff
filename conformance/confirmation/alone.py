"""Runs alone, or beside the few neighbours that a case needs to fail: from a reduced case to a witness, and from a
stored witness to one that is confirmed here."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

from conformance.confirmation.bisection import fewest
from conformance.confirmation.owed import RUNS_ALONE, Owed
from conformance.confirmation.reduction import Subject, Target, fewer_changes, tighter_timelines
from conformance.confirmation.replay import failure
from conformance.confirmation.rerun import Rerun
from conformance.confirmation.targets import Targets
from conformance.execution.host import EngineDown
from conformance.judgement.evidence import ReferenceTraces, Unjudgeable
from conformance.model.case import Case
from conformance.model.engine import EngineInfo, NotDriven, bare
from conformance.model.plan import titled
from conformance.model.runs import Pack, PackRun
from conformance.model.scenario import Scenario
from conformance.model.values import Json
from conformance.results.witness import Confirmation, Flip, Witness

PackOf = Callable[[Case], Pack | None]
"""The pack in which the engine ran this case, whatever the case's origin; None if there was none."""

RUNS = 40
"""Maximum number of runs of a pack for one failing case."""

GROWTH = 4
"""How many times as long each prefix that is tried first is as the one before: a run of few cases is cheap, and often
one of the first is enough."""

Fails = Callable[[Sequence[Case]], bool]
"""Whether a case fails beside these cases."""


def neighbours_of(case: Case, pack: Pack, beside: Sequence[Case]) -> tuple[Case, ...]:
    """The other cases of a pack without ``beside``: the cases that run together with ``case`` anyway. In pack order,
    but those of the same program first: they are more likely to be needed."""
    itself = next((member for member in pack.cases if member.digest == case.digest), case)
    taken = {itself.id, case.id, case.digest, *(other.id for other in beside)}
    others = (member for member in pack.cases if member.id not in taken)
    return tuple(sorted(others, key=lambda other: other.ref != case.ref))


def fewest_neighbours(neighbours: Sequence[Case], fails: Fails, runs: int = RUNS) -> tuple[Case, ...]:
    """The fewest neighbours that a case fails beside, after at most ``runs`` runs. The case fails beside all of
    them."""
    search = fewest(tuple(neighbours), runs, GROWTH)
    failed: bool | None = None
    while True:
        try:
            failed = fails(next(search) if failed is None else search.send(failed))
        except StopIteration as end:
            return tuple(end.value)


STEADY = 3
"""How often a case must fail beside all cases of its pack before a search for those that it needs can tell anything."""

RACE = 9
"""Number of runs alone of a case that fails only sometimes beside its neighbours. The failure may be a race that needs
no neighbours."""


class Alone:
    """Runs possible witnesses alone.

    Args:
        reference: the reference engine, which reads *late* as the engine does.
        specified: the reference engine as it is. Witnesses record its traces as expected.
    """

    def __init__(
        self,
        info: EngineInfo,
        scenarios: Iterable[Scenario],
        targets: Targets,
        rerun: Rerun,
        reference: ReferenceTraces,
        specified: ReferenceTraces,
    ) -> None:
        self._info, self._targets, self._rerun = info, targets, rerun
        self._reference, self._specified = reference, specified
        self._scenarios = {scenario.id: scenario for scenario in scenarios}

    def witness(self, target: Target, owed: Owed) -> Witness:
        """The witness of a target. Its confirmation says in how many runs alone the witness failed, perhaps in none.

        Raises:
            Unjudgeable, NotDriven, EngineDown: the run alone gave nothing to judge.
        """
        tried = _with_tighter_timelines(target.subject) if owed.tightened else [target.subject]
        for found in filter(self._targets.within(target.subject), tried):
            # The witness stores exactly the case that ran: its id is part of its keys, and decides what hash tables do.
            subject = found if target.guarantee.same_under else Subject(replace(found.case, base=""))
            runs = self._rerun.alone(subject)
            message = failure(target.program, target.guarantee, subject, runs, self._reference)
            if message:
                break
        failed = 1 if message else 0
        times = owed.alone if message else owed.passes
        for number in range(1, times):
            again = self._rerun.alone(subject, number=number)
            if said := failure(target.program, target.guarantee, subject, again, self._reference):
                failed, message, runs = failed + 1, said, again
        flip = None
        if found.base:
            title = titled(subject.case.perturbation)
            flip = Flip(f"without this: {title}: the claim stands", found.base.schedule)
        made = self._made(target, subject, runs, failed, message or "failed in a pack only", times)
        return replace(made, packed_seen=None if failed else target.seen, flip=flip)

    def beside(self, target: Target, pack: Pack) -> Witness | None:
        """The witness of a target whose reduced subject does not fail alone: the original subject, beside the fewest
        cases of the pack that it failed in. None if the subject does not fail again beside all of them.

        Raises:
            Unjudgeable, NotDriven, EngineDown: the run beside the fewest cases gave nothing to judge.
        """
        begun = target.begun
        subject = begun if target.guarantee.same_under else Subject(replace(begun.case, base=""))

        def failing(neighbours: Sequence[Case]) -> str:
            runs = self._rerun.alone(subject, neighbours)
            return failure(target.program, target.guarantee, subject, runs, self._reference)

        def fails(neighbours: Sequence[Case]) -> bool:
            with suppress(Unjudgeable, NotDriven, EngineDown):
                return bool(failing(neighbours))
            return False

        everybody = neighbours_of(begun.case, pack, subject.cases)
        if not fails(everybody):
            return None
        steady = all(fails(everybody) for _ in range(STEADY - 1))
        race = None if steady else self._counted(target, subject, (), RACE)
        if not (race and race[0]):
            found, times = fewest_neighbours(everybody, fails), RUNS_ALONE
            failed, message, runs = self._counted(target, subject, found, times)
            if found and failed < times and not race:
                race = self._counted(target, subject, (), RACE)
        if race and race[0]:
            found, times, (failed, message, runs) = (), RACE, race
        if not failed:
            return None
        made = self._made(target, subject, runs, failed, message, times)
        before: dict[str, Json] = {"neighbours_before": len(everybody)}
        return replace(made, neighbours=found, reduction=before)

    def _counted(
        self, target: Target, subject: Subject, neighbours: Sequence[Case], times: int
    ) -> tuple[int, str, dict[str, PackRun]]:
        """(number of times that a subject failed, its last failure in words, its runs at the last failure or, without a
        failure, at the first time)."""
        failed, message = 0, ""
        runs: dict[str, PackRun] = {}
        for number in range(times):
            again = self._rerun.alone(subject, neighbours, number)
            said = failure(target.program, target.guarantee, subject, again, self._reference)
            failed += bool(said)
            if said or not runs:
                message, runs = said or message, again
        return failed, message, runs

    def _made(
        self, target: Target, subject: Subject, runs: Mapping[str, PackRun], failed: int, message: str, times: int
    ) -> Witness:
        case, base = subject.case, subject.base
        return Witness(
            guarantee=target.guarantee.id,
            sentence=target.guarantee.claim,
            case=case,
            base=base,
            engine=self._info.id,
            versions=self._info.environment,
            message=message,
            seen=runs[case.id].traces[case.id],
            specified=self._specified([case])[case.id],
            base_seen=runs[base.id].traces[base.id] if base else None,
            reduction=target.to_json(),
            confirmations=(self._confirmation(failed, times),),
        )

    def again(self, witness: Witness, times: int) -> Witness:
        """A stored witness that has just failed once more, and now runs alone again, ``times`` times in all.

        Raises:
            Unjudgeable, NotDriven, EngineDown: the run alone gave nothing to judge.
        """
        if times < 2:  # one failure is enough
            return witness
        scenario = self._scenarios[witness.case.scenario]
        guarantee, program = scenario.askable[witness.guarantee], scenario.programs[witness.case.program]
        subject = Subject(witness.case, witness.base)
        failed = 1
        for number in range(1, times):
            runs = self._rerun.alone(subject, witness.neighbours, number)
            failed += bool(failure(program, guarantee, subject, runs, self._reference))
        mine = self._confirmation(failed, times)
        kept = tuple(other for other in witness.confirmations if other.place != mine.place)
        return replace(witness, confirmations=(*kept, mine))

    def _confirmation(self, failed: int, runs: int) -> Confirmation:
        info = self._info
        return Confirmation(bare(info.id), dict(info.environment), info.adapter, failed, runs)


def _with_tighter_timelines(subject: Subject) -> Iterator[Subject]:
    """The subject with fewer changes of its timeline, if it has several, then on at most three timelines, the shortest
    first."""
    for fewer in fewer_changes(subject.case.schedule):
        yield next(_on_tighter_timelines(Subject(replace(subject.case, schedule=fewer), subject.base)))
    yield from _on_tighter_timelines(subject)


def _on_tighter_timelines(subject: Subject) -> Iterator[Subject]:
    variants = tighter_timelines(subject.case.schedule, keep_first=subject.base is not None)
    bases = tighter_timelines(subject.base.schedule, keep_first=True) if subject.base else []
    for number, schedule in enumerate(variants):
        if not subject.base:
            yield Subject(replace(subject.case, schedule=schedule))
            continue
        base = replace(subject.base, schedule=bases[min(number, len(bases) - 1)])
        yield Subject(replace(subject.case, schedule=schedule, base=base.id), base)
