"""What a run is asked to do."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from conformance.model.program import by_processing_time
from conformance.model.runs import Pack
from conformance.model.scenario import Scenario

MANY = 50_000
"""The first registered checker that can run here checks a run with more cases than this."""


def of_a_quick_run(scenarios: Iterable[Scenario]) -> list[Scenario]:
    """The scenarios that a quick run has of these if the user names none: those that do not wait for processing
    time."""
    return [scenario for scenario in scenarios if not by_processing_time(scenario.programs.values())]


@dataclass(frozen=True)
class Part:
    """Parts of an engine's packs: pack n is in part n modulo ``of``."""

    numbers: tuple[int, ...] = (0,)
    of: int = 1

    @property
    def whole(self) -> bool:
        """Whether these are all packs."""
        return len(self.numbers) == self.of

    def taken(self, packs: Sequence[Pack]) -> tuple[Pack, ...]:
        return tuple(pack for number, pack in enumerate(packs) if number % self.of in self.numbers)


@dataclass(frozen=True)
class KeptTraces:
    """Kept traces, which answer in the place of engines.

    Attributes:
        folder: theirs; None for none.
        fresh: engines answer everything. Their answers are kept.
        beside: other folders, to read from.
        out: a folder that gets a copy of all kept traces that the run uses or makes.
        shelves: engine -> the name of its kept traces, if they were made elsewhere.
    """

    folder: Path | None = None
    fresh: bool = False
    beside: tuple[Path, ...] = ()
    out: Path | None = None
    shelves: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Excerpt:
    """Some rows of a suite.

    Attributes:
        rows: the most of programs of a kind, the first ones; 0 for all.
        perturbations: those (ids) that are asked about, () for all.
    """

    rows: int = 0
    perturbations: tuple[str, ...] = ()


WHOLE = Excerpt()


@dataclass(frozen=True)
class Options:
    """What to run.

    Attributes:
        engines: their ids.
        out: the folder of results, tables, logs and witnesses.
        wanted: the least number of cases of each program on each timeline; 0 to ask the cases that are given as they
            are.
        cases_from: the folder of another run, or a file, with cases to use instead of new ones.
        witnesses: folders of stored witnesses, which are replayed first.
        timeout: seconds for one pack on one engine.
        checker: where cases are checked: "local", the name of a checker, or "auto", which chooses by the number of
            cases.
        excerpt: which rows of the suite engines are asked.
        brief: for a first look, and for runs whose differences are checked again later. A new witness runs alone once,
            in the existing process; only the first of a guarantee is reduced, and what fails only beside other cases is
            unknown. Every stored witness is replayed in a pack, confirmed here or not; only one that is confirmed here,
            and passes there, runs alone. Those that failed alone on the very engine, version and configuration run
            until a fifth of an engine's failed; the others then stand.
        parts: engine -> the part of its packs that it runs. Without a part, it runs all.
        subjects: the frameworks whose subjects are asked, too.
        budget: seconds for the whole run; None for as long as it takes. Engines run in the order of value.
    """

    engines: tuple[str, ...]
    scenarios: tuple[Scenario, ...]
    out: Path
    wanted: int = 2
    seed: int = 0
    cases_from: Path | None = None
    witnesses: tuple[Path, ...] = ()
    timeout: float = 600.0
    checker: str = "auto"
    excerpt: Excerpt = WHOLE
    brief: bool = False
    traces: KeptTraces = KeptTraces()
    parts: Mapping[str, Part] = field(default_factory=dict)
    budget: float | None = None
    subjects: tuple[str, ...] = ()
