"""Flips: the single change to a witness after which the guarantee holds."""

from collections.abc import Mapping
from dataclasses import replace

from conformance.confirmation.reduction import RunCases, Target, single_changes, timeline_changes
from conformance.judgement.evidence import ReferenceTraces, Unjudgeable, findings_against
from conformance.model.case import Case
from conformance.model.scenario import Guarantee
from conformance.model.trace import Trace
from conformance.results.witness import Flip, Witness


def with_flips(found: list[tuple[Target, Witness]], run: RunCases, specified: ReferenceTraces) -> list[Witness]:
    """The witnesses of some targets, each with a flip if one exists. A flip is the first single change to the case
    after which the case tests the guarantee and keeps it. Without such a change, the flip is the first change after
    which the case does not fail and the engine gives the same as the reference. A witness that has a flip or
    neighbours, or that speaks of row counts, stays as it is."""
    tried = [[] if _stays(t, witness) else list(single_changes(witness.case, t.program)) for t, witness in found]
    unique = {case.id: case for changes in tried for _, case in changes}
    traces = run(list(unique.values())) if unique else {}
    flipped = []
    for (target, witness), changes in zip(found, tried, strict=True):
        if not _stays(target, witness):
            flip = _flip(target.guarantee, witness, changes, traces, specified)
            if flip is None:
                changes = list(timeline_changes(witness.case, witness.seen, target.program.times))
                flip = _flip(target.guarantee, witness, changes, run([case for _, case in changes]), specified)
            witness = replace(witness, flip=flip)
        flipped.append(witness)
    return flipped


def _stays(target: Target, witness: Witness) -> bool:
    return bool(witness.flip or witness.neighbours or target.guarantee.accounting)


def _flip(
    guarantee: Guarantee,
    witness: Witness,
    tried: list[tuple[str, Case]],
    traces: Mapping[str, Trace],
    specified: ReferenceTraces,
) -> Flip | None:
    standing = [(words, case) for words, case in tried if case.id in traces and not _fails(guarantee, case, traces)]
    expected = specified([case for _, case in standing])
    for words, case in standing:
        if findings_against(guarantee, case, traces[case.id])[0]:
            return Flip(f"{words}: the claim stands", case.schedule)
    for words, case in standing:
        if traces[case.id] == expected[case.id] and witness.seen != witness.specified:
            return Flip(f"{words}: what comes out is as expected", case.schedule)
    return None


def _fails(guarantee: Guarantee, case: Case, traces: Mapping[str, Trace]) -> bool:
    """Whether a case speaks against a guarantee, or gives nothing to judge."""
    try:
        return bool(traces[case.id].error) or bool(findings_against(guarantee, case, traces[case.id])[1])
    except Unjudgeable:
        return True
