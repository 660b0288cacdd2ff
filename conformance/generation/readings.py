"""The ways in which engines read *late*, and the guarantees that a case puts to the test under each of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from conformance.judgement.evidence import asked_of, exercised
from conformance.judgement.reference import reference_traces
from conformance.model.case import Case
from conformance.model.lateness import Lateness, LatenessProfile
from conformance.model.scenario import Scenario, programs_of

READINGS = (
    None,
    LatenessProfile(Lateness.AT_OR_BEHIND, Lateness.AT_OR_BEHIND),
    LatenessProfile(Lateness.NEVER, Lateness.NEVER),
)
"""The ways in which engines may read *late*. Cases are drawn for all of them, so one file of cases serves every engine."""


def exercised_by_any_reading(scenarios: Iterable[Scenario]) -> Callable[[list[Case]], list[frozenset[str]]]:
    """A function from cases to the guarantees (ids) that each of them tests, whichever way an engine reads *late*."""
    scenarios = tuple(scenarios)
    guarantees = asked_of(scenarios)
    specified_by, *others = (reference_traces(programs_of(scenarios), reading) for reading in READINGS)

    def tested(cases: list[Case]) -> list[frozenset[str]]:
        specified = specified_by(cases)
        found = exercised(guarantees, cases, specified)
        # A case without late events is the same under every reading.
        late = [i for i, case in enumerate(cases) if not all(a.on_time for a in case.schedule.arrivals)]
        for reference in others if late else ():
            traces = reference([cases[i] for i in late])
            other = [i for i in late if traces[cases[i].id] != specified[cases[i].id]]
            read = [cases[i] for i in other]
            for i, names in zip(other, exercised(guarantees, read, traces), strict=True):
                found[i] &= names
        return found

    return tested
