"""The cases of a run: generated, or read from another run, and stored in batches."""

from __future__ import annotations

import json
import platform
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from importlib.metadata import version
from typing import TYPE_CHECKING

from conformance.execution.kept import CONTENT, Kept, unzipped, zipped
from conformance.generation.readings import exercised_by_any_reading
from conformance.model.case import Case
from conformance.model.scenario import Scenario
from conformance.model.values import digest as digest_of
from conformance.plugins.adapter import adapter_digest
from conformance.plugins.registry import load_engine
from conformance.plugins.source import JUDGING, harness_digest, scenario_digest
from conformance.results import tables
from conformance.results.store import Digest, Store, read_cases
from conformance.run.options import Options
from conformance.run.processes import available, workers

if TYPE_CHECKING:
    from conformance.generation.cases import Exercised

BATCH = 200
"""Number of cases for each guarantee that are generated, run and checked at a time. Only one batch is in memory."""


@dataclass(frozen=True)
class PartAsked:
    """What one process draws at a time: the cases of a scenario (an id) in a batch. ``known`` are the digests of cases that exist
    already."""

    scenario: str
    wanted: int
    seed: int
    known: frozenset[str] = frozenset()


PartDrawn = tuple[list[Case], list[frozenset[str]]]
"""The cases of a part, and the guarantees (ids) that each of them puts to the test."""

DrawParts = Callable[[Iterable[PartAsked]], Iterator[PartDrawn]]


def drawing_here(scenarios: Sequence[Scenario], exercised: Exercised) -> Callable[[PartAsked], PartDrawn]:
    """A function that draws a part in the process that calls it."""
    by_id = {scenario.id: scenario for scenario in scenarios}

    def draw(part: PartAsked) -> PartDrawn:
        # Imported here, because Hypothesis takes longer to import than a command that draws nothing takes otherwise.
        from conformance.generation.cases import draw_cases

        cases = draw_cases([by_id[part.scenario]], part.wanted, part.seed, exercised, part.known)
        return cases, exercised(cases)

    return draw


def batches(
    scenarios: Sequence[Scenario],
    wanted: int,
    seed: int,
    kept: Kept | None = None,
    draw: DrawParts | None = None,
) -> Iterator[list[Case]]:
    """The cases that a run with this seed generates, ``wanted`` cases for each guarantee, at most BATCH at a time. Cases of a
    scenario that an earlier run generated in the same way are read from ``kept``. ``draw``, if given, draws in other processes."""
    from conformance.generation.examples import seeded

    asked = exercised_by_any_reading(scenarios)
    draw = draw or partial(map, drawing_here(scenarios, asked))
    known: dict[str, frozenset[str]] = {}
    number = -(-wanted // BATCH)
    drawn_as = {scenario.id: _drawn_as(scenario, wanted, seed) for scenario in scenarios} if kept else {}
    for batch in range(number):
        mine = wanted // number + (batch < wanted % number)
        there: dict[str, PartDrawn] = {}
        for name, how in drawn_as.items():
            if kept and (found := kept.table(f"drawn/{how}-{batch}", tables.drawn_of)) is not None:
                there[name] = found
        batch_seed = seeded(seed, "batch", batch) if batch else seed
        # Most work first, so that no process ends long after the others.
        missing = sorted((s for s in scenarios if s.id not in there), key=lambda s: -len(s.guarantees))
        parts = [PartAsked(scenario.id, mine, batch_seed, known.get(scenario.id, frozenset())) for scenario in missing]
        for part, drawn in zip(parts, draw(parts), strict=True):
            there[part.scenario] = drawn
            if kept:
                kept.keep_table(f"drawn/{drawn_as[part.scenario]}-{batch}", tables.drawn_table(*drawn))
        for name, (cases, tested) in there.items():
            asked.only(cases, tested)
            known[name] = known.get(name, frozenset()) | {case.digest for case in cases}
        yield [case for scenario in scenarios for case in there[scenario.id][0]]


def _drawn_as(scenario: Scenario, wanted: int, seed: int) -> str:
    """Identifies all that the cases of a scenario depend on. The reference is a part of it: it says what a case puts to the test."""
    parts = [list(scenario.programs), [guarantee.id for guarantee in scenario.guarantees]]
    code = [scenario_digest(scenario.id), harness_digest(JUDGING), adapter_digest(load_engine("reference"))]
    return digest_of([scenario.id, parts, code, version("hypothesis"), platform.python_version(), wanted, BATCH, seed])


@dataclass(frozen=True)
class Drawn:
    """The number of distinct cases over all batches of a run, the number of their timelines, and their digest."""

    cases: int
    timelines: int
    digest: str


class Drawing:
    """Generates or reads the cases of a run, and stores them."""

    def __init__(self, options: Options, store: Store, kept: Kept | None = None) -> None:
        self._options, self._store, self._kept = options, store, kept
        self._draws_here, self._drawing, self._stop_asked = True, False, False
        self._draw: DrawParts | None = None
        self._workers = ExitStack()

    @contextmanager
    def begun(self) -> Iterator[None]:
        """Starts the processes that draw. The process of the run has no threads yet. They end with ``execute``."""
        if self._options.cases_from:
            yield
            return
        exercised = exercised_by_any_reading(self._options.scenarios)

        def until_stopped(cases: list[Case]) -> list[frozenset[str]]:
            if self._stop_asked:
                raise KeyboardInterrupt
            return exercised(cases)

        processes = available()
        self._draws_here = processes == 1
        with self._workers:
            draw = workers(drawing_here(self._options.scenarios, until_stopped), processes)
            self._draw = self._workers.enter_context(draw)
            yield

    def execute(self) -> Drawn:
        """Stores all batches.

        Raises:
            UnusableCases: the file of cases cannot be used.
            KeyboardInterrupt: ``stop`` was called.
        """
        number, timelines, digest = 0, set[object](), Digest()
        with self._workers:
            if found := self._read():
                return found
            for cases in self._store.replaced_by(self._batches()):
                digest.add(cases)
                number += len({case.digest for case in cases})
                timelines |= {case.schedule.timeline for case in cases}
        drawn = Drawn(number, len(timelines), str(digest))
        self._keep(drawn)
        return drawn

    @property
    def _file(self) -> str:
        """The name of a kept file with all cases of this run; "" if they are not drawn or not kept."""
        options = self._options
        if not self._kept or options.cases_from:
            return ""
        drawn_as = [_drawn_as(scenario, options.wanted, options.seed) for scenario in options.scenarios]
        return f"drawn/{digest_of(drawn_as)}.zip"

    def _read(self) -> Drawn | None:
        """Stores the cases that an earlier run drew in the same way, as files; None if there are none."""
        if not (self._kept and (name := self._file)):
            return None

        def read(content: bytes) -> Drawn:
            files = unzipped(content)
            drawn = Drawn(**json.loads(files.pop(CONTENT)))
            self._store.replace(files)
            return drawn

        found: Drawn | None = self._kept.content(name, read)
        return found

    def _keep(self, drawn: Drawn) -> None:
        if self._kept and (name := self._file):
            files = {path.name: path.read_bytes() for path in map(self._store.cases, self._store.batches)}
            self._kept.keep_content(name, zipped({CONTENT: json.dumps(asdict(drawn)).encode(), **files}))

    def stop(self) -> None:
        """Raises KeyboardInterrupt. While cases are generated here, the exception waits until it is safe: Python's garbage
        collector calls Hypothesis then, and an exception raised in that call is lost."""
        self._stop_asked = True
        if not self._drawing:
            raise KeyboardInterrupt

    def _batches(self) -> Iterator[list[Case]]:
        options = self._options
        if options.cases_from:
            yield from read_cases(options.cases_from, options.scenarios)
            return
        drawn = batches(options.scenarios, options.wanted, options.seed, self._kept, self._draw)
        while True:
            self._drawing = self._draws_here
            try:
                cases = next(drawn, None)
            finally:
                self._drawing = False
            if self._stop_asked:
                raise KeyboardInterrupt
            if cases is None:
                return
            yield cases
