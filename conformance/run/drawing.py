"""The cases of a run: generated, or read from another run, and stored in batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from conformance.generation.cases import Exercised, draw_cases
from conformance.generation.examples import seeded
from conformance.generation.readings import exercised_by_any_reading
from conformance.model.case import Case
from conformance.model.scenario import Scenario
from conformance.results.store import Digest, Store, read_cases
from conformance.run.options import Options

BATCH = 200
"""Number of cases for each guarantee that are generated, run and checked at a time. Only one batch is in memory."""


def batches(scenarios: Sequence[Scenario], wanted: int, seed: int, exercised: Exercised) -> Iterator[list[Case]]:
    """The cases that a run with this seed generates, ``wanted`` cases for each guarantee, at most BATCH at a time."""
    known: set[str] = set()
    number = -(-wanted // BATCH)
    for batch in range(number):
        mine = wanted // number + (batch < wanted % number)
        cases = draw_cases(scenarios, mine, seeded(seed, "batch", batch) if batch else seed, exercised, known)
        known |= {case.digest for case in cases}
        yield cases


@dataclass
class Drawn:
    """The number of distinct cases over all batches of a run, and their timelines."""

    cases: int = 0
    timelines: set[object] = field(default_factory=set)
    digest: Digest = field(default_factory=Digest)


class Drawing:
    """Generates or reads the cases of a run, and stores them."""

    def __init__(self, options: Options, store: Store) -> None:
        self._options, self._store = options, store
        self._drawing = self._stop_asked = False

    def execute(self) -> Drawn:
        """Stores all batches.

        Raises:
            UnusableCases: the file of cases cannot be used.
            KeyboardInterrupt: ``stop`` was called.
        """
        drawn = Drawn()
        for cases in self._store.replaced_by(self._batches()):
            drawn.digest.add(cases)
            drawn.cases += len({case.digest for case in cases})
            drawn.timelines |= {case.schedule.timeline for case in cases}
        return drawn

    def stop(self) -> None:
        """Raises KeyboardInterrupt. While cases are generated, the exception waits until it is safe: Python's garbage
        collector calls Hypothesis then, and an exception raised in that call is lost."""
        self._stop_asked = True
        if not self._drawing:
            raise KeyboardInterrupt

    def _batches(self) -> Iterator[list[Case]]:
        options = self._options
        if options.cases_from:
            yield from read_cases(options.cases_from, options.scenarios)
            return
        exercised = exercised_by_any_reading(options.scenarios)

        def until_stopped(cases: list[Case]) -> list[frozenset[str]]:
            if self._stop_asked:
                raise KeyboardInterrupt
            return exercised(cases)

        drawn = batches(options.scenarios, options.wanted, options.seed, until_stopped)
        while True:
            self._drawing = True
            try:
                cases = next(drawn, None)
            finally:
                self._drawing = False
            if self._stop_asked:
                raise KeyboardInterrupt
            if cases is None:
                return
            yield cases
