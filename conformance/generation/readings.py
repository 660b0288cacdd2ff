"""The ways in which engines read *late*, and the guarantees that a case puts to the test under each of them."""

from __future__ import annotations

from collections.abc import Iterable

from conformance.generation.cases import Exercised
from conformance.judgement.evidence import exercised as put_to_test
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


def exercised_by_any_reading(scenarios: Iterable[Scenario]) -> Exercised:
    """A function from cases to the guarantees (ids) that each of them tests, whichever way an engine reads *late*."""
    scenarios = list(scenarios)
    references = [reference_traces(programs_of(scenarios), reading) for reading in READINGS]

    def exercised(cases: list[Case]) -> list[frozenset[str]]:
        found = put_to_test(scenarios, cases, references[0](cases))
        # A case without late events is the same under every reading.
        late = [i for i, case in enumerate(cases) if not all(a.on_time for a in case.schedule.arrivals)]
        for reference in references[1:]:
            read = [cases[i] for i in late]
            for i, tested in zip(late, put_to_test(scenarios, read, reference(read)), strict=True):
                found[i] &= tested
        return found

    return exercised
