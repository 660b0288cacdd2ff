"""The cases of a run: generated, or read from another run, and stored in batches."""

from __future__ import annotations

import platform
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import TYPE_CHECKING

from conformance.execution.kept import Kept
from conformance.model.case import Case
from conformance.model.scenario import Scenario
from conformance.model.values import digest
from conformance.plugins.adapter import adapter_digest
from conformance.plugins.registry import load_engine
from conformance.plugins.source import JUDGING, harness_digest, scenario_digest
from conformance.results import tables
from conformance.results.store import Digest, Store, read_cases
from conformance.run.options import Options

if TYPE_CHECKING:
    from conformance.generation.cases import Exercised

BATCH = 200
"""Number of cases for each guarantee that are generated, run and checked at a time. Only one batch is in memory."""


def batches(
    scenarios: Sequence[Scenario], wanted: int, seed: int, exercised: Exercised, kept: Kept | None = None
) -> Iterator[list[Case]]:
    """The cases that a run with this seed generates, ``wanted`` cases for each guarantee, at most BATCH at a time. Cases of a
    scenario that an earlier run generated in the same way are read from ``kept``."""
    # Imported here, because Hypothesis takes longer to import than a command that draws nothing takes otherwise.
    from conformance.generation.cases import draw_cases
    from conformance.generation.examples import seeded
    from conformance.generation.readings import exercised_by_any_reading

    asked = exercised_by_any_reading(scenarios)
    known: set[str] = set()
    number = -(-wanted // BATCH)
    drawn_as = {scenario.id: _drawn_as(scenario, wanted, seed) for scenario in scenarios} if kept else {}
    for batch in range(number):
        mine = wanted // number + (batch < wanted % number)
        there: dict[str, list[Case]] = {}
        for name, how in drawn_as.items():
            if kept and (found := kept.table(f"drawn/{how}-{batch}", tables.drawn_of)) is not None:
                there[name], tested = found
                asked.remember(there[name], tested)
        if missing := [scenario for scenario in scenarios if scenario.id not in there]:
            batch_seed = seeded(seed, "batch", batch) if batch else seed
            for scenario in missing:
                drawn = there[scenario.id] = draw_cases([scenario], mine, batch_seed, exercised, known)
                asked.only(drawn)
                if kept:
                    kept.keep_table(f"drawn/{drawn_as[scenario.id]}-{batch}", tables.drawn_table(drawn, asked(drawn)))
        cases = [case for scenario in scenarios for case in there[scenario.id]]
        known |= {case.digest for case in cases}
        yield cases


def _drawn_as(scenario: Scenario, wanted: int, seed: int) -> str:
    """Identifies all that the cases of a scenario depend on. The reference is a part of it: it says what a case puts to the test."""
    parts = [list(scenario.programs), [guarantee.id for guarantee in scenario.guarantees]]
    code = [scenario_digest(scenario.id), harness_digest(JUDGING), adapter_digest(load_engine("reference"))]
    return digest([scenario.id, parts, code, version("hypothesis"), platform.python_version(), wanted, BATCH, seed])


@dataclass
class Drawn:
    """The number of distinct cases over all batches of a run, and their timelines."""

    cases: int = 0
    timelines: set[object] = field(default_factory=set)
    digest: Digest = field(default_factory=Digest)


class Drawing:
    """Generates or reads the cases of a run, and stores them."""

    def __init__(self, options: Options, store: Store, kept: Kept | None = None) -> None:
        self._options, self._store, self._kept = options, store, kept if not options.fresh else None
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
        from conformance.generation.readings import exercised_by_any_reading

        exercised = exercised_by_any_reading(options.scenarios)

        def until_stopped(cases: list[Case]) -> list[frozenset[str]]:
            if self._stop_asked:
                raise KeyboardInterrupt
            return exercised(cases)

        drawn = batches(options.scenarios, options.wanted, options.seed, until_stopped, self._kept)
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
