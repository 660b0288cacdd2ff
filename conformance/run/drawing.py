"""The cases of a run as drawn: from Hypothesis, or read from another run, and stored in batches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

from conformance.model.case import Case
from conformance.model.scenario import Scenario
from conformance.results.store import Digest, Store, read_cases
from conformance.run import drawn
from conformance.run.options import Options
from conformance.run.processes import available, workers

BATCH = 50
"""The most cases of a program on a timeline that are drawn, run and checked at a time. Only one batch is in memory."""

Asked = tuple[str, int, int]
"""What one process draws at a time: the cases of a scenario (an id), how many, and the seed."""


def drawing_here(scenarios: Sequence[Scenario]) -> Callable[[Asked], list[Case]]:
    """A function that draws the cases of a scenario, or reads kept ones, in the process that calls it."""
    by_id = {scenario.id: scenario for scenario in scenarios}

    def draw(asked: Asked) -> list[Case]:
        scenario, wanted, seed = asked
        name = drawn.name_of(by_id[scenario], wanted, seed)
        if (found := drawn.kept(name)) is not None:
            return found
        # Imported here, because Hypothesis takes longer to import than a command that draws nothing takes otherwise.
        from conformance.generation.pool import draw_cases
        from conformance.generation.readings import exercised_by_any_reading

        cases = draw_cases([by_id[scenario]], wanted, seed, exercised_by_any_reading([by_id[scenario]]))
        drawn.keep(name, cases)
        return cases

    return draw


def batches(
    scenarios: Sequence[Scenario],
    wanted: int,
    seed: int,
    draw: Callable[[Iterable[Asked]], Iterator[list[Case]]] | None = None,
) -> Iterator[list[Case]]:
    """The cases of a run with this seed, at most BATCH of a program on a timeline at a time, each case once. ``draw``,
    if given, draws in other processes."""
    known: set[str] = set()
    number = -(-wanted // BATCH)
    for batch in range(number):
        mine = wanted // number + (batch < wanted % number)
        # Most work first, so that no process ends long after the others.
        ordered = sorted(scenarios, key=lambda scenario: -len(scenario.programs))
        asked = [(scenario.id, mine, seed + batch * 1_000_003) for scenario in ordered]
        parts = (draw or (lambda each: map(drawing_here(scenarios), each)))(asked)
        there = {name: cases for (name, _, _), cases in zip(asked, parts, strict=True)}
        cases = [case for scenario in scenarios for case in there[scenario.id] if case.digest not in known]
        known |= {case.digest for case in cases}
        yield cases


def few(scenarios: Sequence[Scenario], seed: int) -> list[Case]:
    """Cases as drawn of the shortest timeline of several bundles."""
    return shortest(case for batch in batches(scenarios, 1, seed) for case in batch)


def shortest(cases: Iterable[Case]) -> list[Case]:
    """Those of some cases that are drawn on the shortest timeline of several bundles."""
    from conformance.generation.suite import family_of
    from conformance.generation.timelines import Family

    several = [case for case in cases if not case.base and family_of(case.schedule) is Family.SEVERAL]
    first = min((case.schedule.timeline for case in several), key=len, default=())
    return [case for case in several if case.schedule.timeline == first]


@dataclass(frozen=True)
class Drawn:
    """The number of distinct cases over all batches of a run, the number of their timelines, and their digest."""

    cases: int
    timelines: int
    digest: str

    @classmethod
    def of(cls, batches: Iterable[list[Case]]) -> Drawn:
        """What these batches of cases come to."""
        number, timelines, digest = 0, set[object](), Digest()
        for cases in batches:
            digest.add(cases)
            number += len({case.digest for case in cases})
            timelines |= {case.schedule.timeline for case in cases}
        return cls(number, len(timelines), str(digest))


class Drawing:
    """Generates or reads the cases of a run, and stores them."""

    def __init__(self, options: Options, store: Store) -> None:
        self._options, self._store = options, store
        self._draws_here, self._drawing, self._stop_asked = True, False, False
        self._draw: Any = None
        self._workers = ExitStack()

    @contextmanager
    def begun(self) -> Iterator[None]:
        """Starts the processes that draw. The process of the run has no threads yet. They end with ``execute``."""
        if self._options.cases_from:
            yield
            return
        processes = available()
        self._draws_here = processes == 1
        with self._workers:
            self._draw = self._workers.enter_context(workers(drawing_here(self._options.scenarios), processes))
            yield

    def execute(self) -> Drawn:
        """Stores all batches.

        Raises:
            UnusableCases: the file of cases cannot be used.
            KeyboardInterrupt: ``stop`` was called.
        """
        with self._workers:
            return Drawn.of(self._store.replaced_by(self._batches()))

    def stop(self) -> None:
        """Raises KeyboardInterrupt. While cases are generated here, the exception waits until it is safe: Python's
        garbage collector calls Hypothesis then, and an exception raised in that call is lost."""
        self._stop_asked = True
        if not self._drawing:
            raise KeyboardInterrupt

    def _batches(self) -> Iterator[list[Case]]:
        options = self._options
        if options.cases_from:
            yield from read_cases(options.cases_from, options.scenarios)
            return
        batched = batches(options.scenarios, options.wanted, options.seed, self._draw)
        while True:
            self._drawing = self._draws_here
            try:
                cases = next(batched, None)
            finally:
                self._drawing = False
            if self._stop_asked:
                raise KeyboardInterrupt
            if cases is None:
                return
            yield cases
