"""The ways in which engines read *late*, and the guarantees that a case puts to the test under each of them."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterable
from functools import lru_cache

from conformance.judgement.evidence import asked_of
from conformance.judgement.evidence import exercised as put_to_test
from conformance.judgement.reference import reference_traces
from conformance.model.case import Case
from conformance.model.lateness import Lateness, LatenessProfile
from conformance.model.scenario import Scenario, programs_of

KEPT = 200_000
"""About how many cases have their answers kept."""

Place = tuple[str, str]
"""The id and the digest of a case."""

READINGS = (
    None,
    LatenessProfile(Lateness.AT_OR_BEHIND, Lateness.AT_OR_BEHIND),
    LatenessProfile(Lateness.NEVER, Lateness.NEVER),
)
"""The ways in which engines may read *late*. Cases are drawn for all of them, so one file of cases serves every engine."""


def exercised_by_any_reading(scenarios: Iterable[Scenario]) -> ExercisedByAnyReading:
    """A function from cases to the guarantees (ids) that each of them tests, whichever way an engine reads *late*. It is the same
    function for the same scenarios: what drawing asked is not asked again for each engine's choice of packs."""
    return _exercised(_Same(tuple(scenarios)))


class ExercisedByAnyReading:
    """What ``exercised_by_any_reading`` gives. It keeps its answers, because the choice of packs asks again for the cases that were
    drawn. Drawing asks for many more, see ``only``."""

    def __init__(self, scenarios: tuple[Scenario, ...]) -> None:
        self._guarantees = asked_of(scenarios)
        self._references = [reference_traces(programs_of(scenarios), reading) for reading in READINGS]
        self._known: dict[Place, frozenset[str]] = {}
        self._tried: dict[Place, frozenset[str]] = {}

    def __call__(self, cases: list[Case]) -> list[frozenset[str]]:
        if len(self._tried) > KEPT:
            self._tried.clear()
        known = ChainMap(self._tried, self._known)
        new = [case for case in cases if _place(case) not in known]
        wanted = {case.base for case in new}
        beside = [case for case in cases if case.id in wanted and _place(case) in known]
        known.update(zip(map(_place, (*beside, *new)), self._asked([*beside, *new]), strict=True))
        return [known[_place(case)] for case in cases]

    def remember(self, cases: Iterable[Case], tested: Iterable[frozenset[str]]) -> None:
        """Takes over answers, those of an earlier run for example."""
        if len(self._known) > KEPT:
            self._known.clear()
        self._known.update(zip(map(_place, cases), tested, strict=True))

    def only(self, cases: Iterable[Case], tested: Iterable[frozenset[str]]) -> None:
        """Takes over the answers for the cases that drawing chose, and forgets those for the cases that it tried."""
        self.remember(cases, tested)
        self._tried.clear()

    def _asked(self, cases: list[Case]) -> list[frozenset[str]]:
        specified = self._references[0](cases)
        found = put_to_test(self._guarantees, cases, specified)
        # A case without late events is the same under every reading.
        late = [i for i, case in enumerate(cases) if not all(a.on_time for a in case.schedule.arrivals)]
        for reference in self._references[1:] if late else ():
            traces = reference([cases[i] for i in late])
            other = [i for i in late if traces[cases[i].id] != specified[cases[i].id]]
            read = [cases[i] for i in other]
            for i, tested in zip(other, put_to_test(self._guarantees, read, traces), strict=True):
                found[i] &= tested
        return found


def _place(case: Case) -> Place:
    return case.id, case.digest  # a twin tests a relation, an equal case as drawn does not


class _Same:
    """Scenarios that compare by identity: some of what they hold has no hash."""

    def __init__(self, scenarios: tuple[Scenario, ...]) -> None:
        self.scenarios = scenarios
        self._ids = tuple(map(id, scenarios))

    def __hash__(self) -> int:
        return hash(self._ids)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self._ids == other._ids


@lru_cache(maxsize=2)
def _exercised(same: _Same) -> ExercisedByAnyReading:
    return ExercisedByAnyReading(same.scenarios)
