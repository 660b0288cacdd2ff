"""Replaying many witnesses: in packs, in which one failure is enough, and alone."""

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from conformance.confirmation.owed import Owed
from conformance.confirmation.reduction import Subject
from conformance.confirmation.replay import (
    FAILS,
    FIXED,
    NOT_REPLAYED,
    STANDS,
    STILL_FAILS,
    Replay,
    failure,
    not_expressible,
    reference_of,
    replay,
    speaks_of,
)
from conformance.execution.ask import answered
from conformance.execution.packing import packs_of
from conformance.judgement.evidence import Unjudgeable
from conformance.model.engine import Capabilities
from conformance.model.runs import Pack, PackRun
from conformance.model.scenario import Scenario
from conformance.results.witness import Witness


def replay_all(
    process: Any,
    witnesses: Iterable[Witness],
    owed: Mapping[str, Owed],
    scenarios: Iterable[Scenario],
    can: Capabilities,
    go_on: Callable[[], bool] = lambda: True,
) -> list[Replay]:
    """Replays witnesses on an engine's process, as many at a time as the process takes, as each (by id) is ``owed``.
    Witnesses of one timeline run together. Nothing begins once ``go_on`` says no."""
    witnesses, scenarios = list(witnesses), list(scenarios)

    def alone(witness: Witness) -> Replay:
        if go_on():
            return replay(process, witness, scenarios, can, owed[witness.id].passes)
        return Replay(witness, NOT_REPLAYED, "the budget leaves no time for it")

    def pack_run(pack: Pack) -> PackRun:
        return answered(process, pack) if go_on() else PackRun()

    def is_enough(found: Replay) -> bool:
        mine = owed[found.witness.id]
        return found.answer in FAILS or (mine.trusted and mine.passes == 1)

    with ThreadPoolExecutor(max_workers=can.parallel) as pool:
        answers = _in_packs(pool, pack_run, [w for w in witnesses if owed[w.id].packed], owed, scenarios, can)
        enough = {name: found for name, found in answers.items() if is_enough(found)}
        jobs = {w.id: pool.submit(alone, w) for w in witnesses if w.id not in enough}
        return [enough.get(w.id) or jobs[w.id].result() for w in witnesses]


def _in_packs(
    pool: ThreadPoolExecutor,
    pack_run: Callable[[Pack], PackRun],
    witnesses: list[Witness],
    owed: Mapping[str, Owed],
    scenarios: list[Scenario],
    can: Capabilities,
) -> dict[str, Replay]:
    """The replays of the witnesses that packs gave an answer to, or that stand because of these answers, by witness."""
    can_run = [w for w in witnesses if not not_expressible(w, scenarios, can)]
    subjects = {w.id: subject for w in can_run if (subject := _packable(w, scenarios))}
    cases = {case.id: case for subject in subjects.values() for case in subject.cases}
    packs = packs_of(cases.values(), can.largest_pack, can.largest_waiting_pack)
    sampled = {name: subject for name, subject in subjects.items() if owed[name].stands}
    packs, later = _sample(packs, sampled, [*subjects.values()])
    runs: dict[str, PackRun] = {}

    def run(some: list[Pack]) -> dict[str, Replay]:
        for pack, found in zip(some, pool.map(pack_run, some), strict=True):
            runs.update(
                {case.id: found for case in pack.cases if case.id in found.traces and case.id not in found.untouched}
            )
        there = [w for w in can_run if w.id in subjects and all(case.id in runs for case in subjects[w.id].cases)]
        return {w.id: said for w in there if (said := _said(w, scenarios, can, runs))}

    found = run(packs)
    asked = _within(packs, sampled)
    if asked and all(name in found and found[name].answer == STILL_FAILS for name in asked):
        standing = (w for w in can_run if owed[w.id].stands and w.id not in found)
        return found | {w.id: Replay(w, STANDS, w.message) for w in standing}
    return run(later) if later else found


def _packable(witness: Witness, scenarios: Iterable[Scenario]) -> Subject | None:
    """What a pack with other witnesses runs of a witness; None if it must run by itself."""
    _, guarantee, subject = speaks_of(witness, scenarios)
    return None if guarantee.accounting or witness.neighbours else subject


SAMPLE = 0.2
"""The least fraction of sampled witnesses that run."""


def _sample(
    packs: list[Pack], sampled: Mapping[str, Subject], subjects: Iterable[Subject]
) -> tuple[list[Pack], list[Pack]]:
    """The packs that run at once, and those that do not if the sample fails as a whole. Each case of a witness that is
    not sampled runs at once; of the other packs, those with most cases run until SAMPLE of the sampled witnesses are in
    them."""
    may_wait = {case.id for subject in sampled.values() for case in subject.cases}
    may_wait -= {case.id for subject in subjects if subject not in sampled.values() for case in subject.cases}
    first = [pack for pack in packs if any(case.id not in may_wait for case in pack.cases)]
    later = sorted((pack for pack in packs if pack not in first), key=lambda pack: -len(pack.cases))
    while later and len(_within(first, sampled)) < SAMPLE * len(sampled):
        first.append(later.pop(0))
    return first, later


def _within(packs: Iterable[Pack], subjects: Mapping[str, Subject]) -> list[str]:
    """The witnesses (ids) whose cases are all in these packs."""
    there = {case.id for pack in packs for case in pack.cases}
    return [name for name, subject in subjects.items() if all(case.id in there for case in subject.cases)]


def _said(
    witness: Witness, scenarios: Iterable[Scenario], can: Capabilities, runs: Mapping[str, PackRun]
) -> Replay | None:
    """What the runs of a witness's cases (by id) say; None if they cannot be judged."""
    program, guarantee, subject = speaks_of(witness, scenarios)
    try:
        message = failure(program, guarantee, subject, runs, reference_of(scenarios, can))
    except Unjudgeable:
        return None
    traces = {case.id: runs[case.id].traces[case.id] for case in subject.cases}
    return Replay(witness, STILL_FAILS if message else FIXED, message, traces)
