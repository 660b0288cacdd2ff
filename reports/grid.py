"""Runs side by side: the columns of the matrix, their cells, and the names of these in links."""

import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from conformance.judgement.agreement import REFERENCE
from conformance.judgement.cell import Folded, Verdict
from conformance.model.scenario import slug
from conformance.model.values import digest
from conformance.reports.words import change_in_words, labels
from conformance.results.baseline import Baseline
from conformance.results.changes import Change, Changes, successive
from conformance.results.claims import OnEngine
from conformance.results.record import EngineRecord, ScenarioRecord
from conformance.results.results import Results
from conformance.support.grouping import grouped

Row = tuple[str, str]
"""(scenario, guarantee), by their ids."""


@dataclass(frozen=True)
class Column:
    """A column of the matrix: the engines that are shown as one, or a native operator, in one run. ``label`` tells runs
    apart."""

    name: str
    family: str
    run: int
    label: str
    engines: tuple[str, ...]

    @property
    def native(self) -> bool:
        """Whether it is a native operator, which has a table of its own."""
        return self.family == NATIVE

    @property
    def key(self) -> str:
        """Its own name among the columns of several runs: that of a query, as "engine@2"."""
        return f"{self.name}@{self.run + 1}" if self.label else self.name


class Grid:
    """Some runs, oldest first, with their cells by place.

    Attributes:
        labels: what tells the runs apart, "" for one alone.
        cells: for each run, (row, engine) -> its cells, one for each perturbation.
        folded: for each run, (row, engine) -> one cell over all perturbations.
        changes: (number of a run, the changes since the runs before it).
    """

    def __init__(self, runs: Sequence[Results]) -> None:
        self.runs = runs
        self.labels = labels(runs) if len(runs) > 1 else [""]
        self.columns = list(_columns(runs))
        self.cells = [run.by_row for run in runs]
        self.folded = [
            {(row, engine): cell for row, found in run.folded().items() for engine, cell in found.items()}
            for run in runs
        ]
        between = successive([Baseline.of(run) for run in runs]) if len(runs) > 1 else ()
        self.changes: list[tuple[int, Changes]] = list(enumerate(between, 1))
        self._engines = [frozenset(run.engines) for run in runs]
        self._anchors = _Anchors()

    @property
    def families(self) -> list[tuple[str, int]]:
        """Family -> how many columns it has in the matrix, in order."""
        groups = itertools.groupby((c for c in self.columns if not c.native), key=lambda column: column.family)
        return [(family, len(list(columns))) for family, columns in groups]

    @cached_property
    def perturbations(self) -> list[str]:
        return list(dict.fromkeys(cell.perturbation for run in self.runs for cell in run.cells))

    @cached_property
    def texts(self) -> dict[str, ScenarioRecord]:
        """The texts of every scenario and of every guarantee that a run has, in the words of the last one."""
        found: dict[str, ScenarioRecord] = {}
        for run in self.runs:
            for scenario, texts in run.scenarios.items():
                older = found[scenario].guarantees if scenario in found else {}
                found[scenario] = replace(texts, guarantees={**older, **texts.guarantees})
        return dict(sorted(found.items(), key=lambda item: _asked(item[0])))

    @cached_property
    def rows(self) -> dict[Row, None]:
        """The guarantees that have cells, scenario by scenario. What the query around an operator changes comes last:
        nobody asks it first."""
        found = dict.fromkeys(cell.row for run in self.runs for cell in run.cells)
        return dict.fromkeys(sorted(found, key=lambda row: (_asked(row[0]), row[1].startswith(OF_PLANS))))

    def rows_of(self, run: int, engine: str) -> list[Folded]:
        """The rows of an engine in a run."""
        return [row for (_, name), row in self.folded[run].items() if name == engine]

    def row_anchor(self, row: Row) -> str:
        """The name of a row in links."""
        return self._anchors.of(f"row-{slug(row[0])}-{slug(row[1])}", row)

    def anchor(self, run: int, row: Row, engine: str) -> str:
        """The name of a cell in links; of several runs the last has the plain one."""
        named = f"c{digest([row, engine])[:7]}"
        return self._anchors.of(named if run == len(self.runs) - 1 else f"{named}@{run + 1}", (run, row, engine))

    def change_anchor(self, number: int, change: Change) -> str:
        """The name in links of what changed up to a run; "" where the page has no such cell."""
        row = change.scenario, change.about
        there = [run for run in range(number + 1) if (row, change.engine) in self.folded[run]]
        if change.of_program:
            return "stability"
        return self.anchor(there[-1], row, change.engine) if there else ""

    def claim_anchor(self, on: OnEngine) -> str:
        """The name in links of what decides a claim on an engine of the last run."""
        last = len(self.runs) - 1
        return self.anchor(last, on.because[0].row, on.engine) if on.because else self.engine_anchor(last, on.engine)

    def engine_anchor(self, run: int, engine: str) -> str:
        """The name of an engine's part of the page in links."""
        return self._anchors.of(f"engine-{slug(engine)}-{run + 1}", (run, engine))

    def before(self, run: int, row: Row, engine: str) -> tuple[Folded | None, list[str]]:
        """The cell in the latest earlier run that has the engine; and what changed since, in words."""
        earlier = next((n for n in range(run - 1, -1, -1) if engine in self._engines[n]), None)
        if earlier is None:
            return None, []
        return self.folded[earlier].get((row, engine)), self._flips[run - 1].get((row, engine), [])

    @cached_property
    def _flips(self) -> list[dict[tuple[Row, str], list[str]]]:
        """For each run but the first, what changed in its cells."""
        found: list[dict[tuple[Row, str], list[str]]] = []
        for _, between in self.changes:
            flips = (change for change in between if not change.of_program)
            found.append(grouped((((c.scenario, c.about), c.engine), change_in_words(c)) for c in flips))
        return found


class _Anchors:
    """Names for links. A name that is taken gets a number."""

    def __init__(self) -> None:
        self._given: dict[object, str] = {}
        self._used: Counter[str] = Counter()

    def of(self, name: str, thing: object) -> str:
        if thing not in self._given:
            self._used[name] += 1
            self._given[thing] = name if self._used[name] == 1 else f"{name}~{self._used[name]}"
        return self._given[thing]


ASKED_FIRST = (
    "late-data",
    "event-time-timers",
    "dedup-within-watermark",
    "session-timeout",
    "windowed-counting",
    "sliding-windows",
    "stream-join",
    "event-time-ordering",
    "per-key-counting",
    "index-assignment",
    "state-ttl",
    "value-state",
    "typed-state",
    "typed-keys",
)
"""The scenarios that most people come for, in the order of the page; others come after these."""

OF_PLANS = "the-query-around-it"
"""How the ids of guarantees begin that are about plans."""


def _asked(scenario: str) -> int:
    return ASKED_FIRST.index(scenario) if scenario in ASKED_FIRST else len(ASKED_FIRST)


FRAMEWORKS = ("spark", "beam")
"""The order of frameworks on the page; others come after these."""

NATIVE = "native operators"


def _columns(runs: Sequence[Results]) -> Iterator[Column]:
    """All columns: the engines of each framework, then native operators one by one, then engines without a framework,
    the reference last. Of a framework's engines, those that can be asked most come first. The columns of an engine in
    several runs stand beside each other."""
    expressed = _expressed(runs)
    found: dict[str, tuple[tuple[int, int], str]] = {}
    shown = [_shown(run) for run in runs]
    for run, columns in zip(runs, shown, strict=True):
        for name, engines in columns.items():
            found.setdefault(name, _placed(name, run.environment[engines[0]]))
    for name in sorted(found, key=lambda name: (found[name][0], name == REFERENCE, -expressed[name])):
        there = [number for number, columns in enumerate(shown) if name in columns]
        own = [(runs[n].environment[shown[n][name][0]].framework or ("", ""))[1] for n in there]
        for number, mine in zip(there, own, strict=True):
            label = mine if mine and own.count(mine) == 1 else f"{mine} run {number + 1}".strip()
            within = tuple(shown[number][name])
            yield Column(name, found[name][1], number, label if len(runs) > 1 else "", within)


def _shown(run: Results) -> dict[str, list[str]]:
    """Column -> its engines; a native operator has one of its own."""
    return grouped(
        (engine if run.environment[engine].native_operator else column, engine)
        for column, engines in run.columns.items()
        for engine in engines
    )


def _expressed(runs: Sequence[Results]) -> Counter[str]:
    """Column -> how many guarantees its engines can express, in the run where they can express most."""
    most: Counter[str] = Counter()
    for run in runs:
        asked = {(cell.row, cell.engine) for cell in run.cells if cell.verdict is not Verdict.UNSUPPORTED}
        by_engine = Counter(engine for _, engine in asked)
        for name, engines in _shown(run).items():
            most[name] = max(most[name], sum(by_engine[engine] for engine in engines))
    return most


def _placed(name: str, record: EngineRecord) -> tuple[tuple[int, int], str]:
    """The place of a column among the others, and its family."""
    framework = record.framework[0] if record.framework else ""
    order = FRAMEWORKS.index(framework) if framework in FRAMEWORKS else len(FRAMEWORKS)
    if record.native_operator:
        return (1, order), NATIVE
    return (0 if framework else 2, order), name.partition(":")[0].partition("-")[0]
