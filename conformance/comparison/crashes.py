"""What is kept by jobs that are killed at each point of a bundle, with their state in each store of their engine."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from conformance.comparison.checkpoints import in_any_order
from conformance.comparison.upgrade import KILLS, surviving
from conformance.judgement.cell import AS_DRAWN, MatrixCell, Verdict
from conformance.judgement.coverage import KILLED_AGAIN, kills
from conformance.model.case import Case
from conformance.model.perturbation import CRASH, Perturbation, factors_of, together
from conformance.model.steps import CRASH_POINTS, Crash
from conformance.plugins.registry import load_engine
from conformance.results.results import Results
from conformance.results.store import write_cases
from conformance.run.drawing import few
from conformance.run.options import Options
from conformance.support.grouping import grouped

POINTS: Mapping[str, tuple[str, str]] = {
    **{name: (Crash(0, name).circumstance, words) for name, words in CRASH_POINTS.items()},
    "twice": (KILLED_AGAIN, "another job is killed in the bundle in which the one before was"),
}
"""The points -> (the circumstance of cases that were killed there, what is so at that instant), in the order in which a
job comes to them."""


@dataclass(frozen=True)
class Killed:
    """What came of jobs of an engine that were killed, with their state in a store.

    Attributes:
        release: that of the engine's framework.
        kept: point -> how many guarantees were kept in cases that were killed there; as measured by ``kill``, how many
            programs put out what they put out in a job that was not killed.
        violated: point -> how many were violated there, each by the case that shows it.
        broken: guarantee ("scenario/id") -> what is wrong.
        failure: why there is no more to say, in a line; "" for nothing.
    """

    engine: str
    store: str
    release: str = ""
    kept: Mapping[str, int] = field(default_factory=dict)
    violated: Mapping[str, int] = field(default_factory=dict)
    broken: Mapping[str, str] = field(default_factory=dict)
    failure: str = ""

    @property
    def place(self) -> tuple[str, str]:
        return self.engine, self.store


def killed(results: Results, engine: str, store: str) -> Killed:
    """What results say of an engine. What it breaks without a kill says nothing of kills."""
    mine = [cell for cell in results.cells if cell.engine == engine]
    always = {cell.row for cell in mine if cell.perturbation == AS_DRAWN and cell.verdict is Verdict.VIOLATED}
    cells = [cell for cell in mine if CRASH.id in factors_of(cell.perturbation) and cell.row not in always]
    at = {name: [cell.verdict for cell in cells if is_at(results, cell, name)] for name in POINTS}
    record = results.environment[engine]
    errors = (f"{c.scenario}/{c.guarantee}: {c.reason}" for c in cells if c.verdict is Verdict.ERROR)
    return Killed(
        engine,
        store,
        next(iter(record.versions.values()), ""),
        {name: number for name, told in at.items() if (number := told.count(Verdict.HOLDS))},
        {name: number for name, told in at.items() if (number := told.count(Verdict.VIOLATED))},
        {f"{c.scenario}/{c.guarantee}": c.reason for c in cells if c.verdict is Verdict.VIOLATED},
        record.failure or next(errors, ""),
    )


def is_at(results: Results, cell: MatrixCell, point: str) -> bool:
    """Whether a cell speaks of a point: one that holds, of each that its cases were killed at, unless a note says that
    nothing was being written there; one that is violated, of those of its witness."""
    circumstance, _ = POINTS[point]
    if cell.verdict is Verdict.VIOLATED and (witness := results.witnesses.get(cell.witness)):
        return circumstance in kills(witness.case.schedule)
    vain = any(note.startswith(f"{circumstance}: ") for note in cell.notes)
    return bool(cell.coverage.get(circumstance)) and not vain


def stores_of(engines: Iterable[str]) -> Mapping[tuple[str, str], list[str]]:
    """(a store, the plan that has state there, "" for the plain query) -> the engines that have their state there so,
    of those whose jobs can be killed."""
    can = {engine: load_engine(engine).capabilities for engine in engines}
    able = (engine for engine in can if can[engine].first_missing(CRASH.needs) is None)
    return grouped((way, engine) for engine in able for way in can[engine].stores.items())


def kill(
    stores: Mapping[tuple[str, str], Sequence[str]],
    options: Options,
    run: Callable[[Options], Results],
    known: Iterable[Killed] = (),
) -> Iterator[list[Killed]]:
    """What comes of jobs that are killed, a list for each of the ``stores_of`` engines. What is ``known`` is not asked
    again. ``run`` makes a run, ``options`` describes the rest of it."""
    there = {row.place for row in known if not row.failure}
    drawn = few(options.scenarios, options.seed)
    for (store, plan), engines in stores.items():
        asked = tuple(engine for engine in engines if (engine, store) not in there)
        if not asked:
            continue
        place = options.out / f"{store.replace(', ', '-').replace(' ', '-')}{'-' * bool(plan)}{plan}"
        file = place / "cases.parquet"
        place.mkdir(parents=True, exist_ok=True)
        moved = [load_engine(asked[0]).capabilities.plan(plan).perturbation] if plan else []
        scenarios = in_any_order(surviving(each, (), KILLS, moved) for each in options.scenarios)
        promised = {(scenario.id, guarantee.program) for scenario in scenarios for guarantee in scenario.guarantees}
        cases = [case for case in drawn if (case.scenario, case.program) in promised]
        write_cases(file, _killed(cases, moved, options.seed))
        mine = replace(options, engines=asked, scenarios=scenarios, out=place, cases_from=file, wanted=0)
        results = run(replace(mine, brief=True))
        yield [killed(results, engine, store) for engine in asked]


def _killed(cases: Iterable[Case], plans: Sequence[Perturbation], seed: int) -> Iterator[Case]:
    """The cases, each with a twin under these plans for each way in which a job is killed."""
    for case in cases:
        yield case
        for level in range(CRASH.levels):
            if twin := together(case, ((CRASH, level), *((plan, 0) for plan in plans)), seed):
                yield twin
