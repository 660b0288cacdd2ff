"""The ways in which engines read *late*, and the guarantees that a case puts to the test under each of them."""

from collections.abc import Callable, Iterable

from conformance.judgement.evidence import asked_of, puts_to_test
from conformance.judgement.reference import reference_traces
from conformance.model.case import Case
from conformance.model.lateness import Lateness, LatenessProfile
from conformance.model.scenario import Scenario, programs_of

READINGS = (
    None,
    LatenessProfile(Lateness.AT_OR_BEHIND, Lateness.AT_OR_BEHIND),
    LatenessProfile(Lateness.NEVER, Lateness.NEVER),
)
"""The ways in which engines may read *late*. Cases are drawn for all of them, so one file of cases serves every
engine."""


def exercised_by_any_reading(scenarios: Iterable[Scenario]) -> Callable[[list[Case]], list[frozenset[str]]]:
    """A function from cases as drawn to the guarantees (ids) that each of them tests, whichever way an engine reads
    *late*."""
    scenarios = tuple(scenarios)
    guarantees, programs = asked_of(scenarios), programs_of(scenarios)
    references = [reference_traces(programs, reading) for reading in READINGS]

    def tested(case: Case) -> frozenset[str]:
        # A case without late events is the same under every reading.
        late = not all(arrival.on_time for arrival in case.schedule.arrivals)
        by_trace = {r([case])[case.id].text: r for r in (references if late else references[:1])}
        program, asked = programs[case.ref], guarantees[case.scenario, case.program]
        found = (puts_to_test(program, asked, case, case, reference) for reference in by_trace.values())
        return frozenset(name for name, _ in frozenset.intersection(*found))

    return lambda cases: [*map(tested, cases)]
