"""Known changes between releases, and whether a comparison of the two releases shows each of them.

A catalogue has changes, each with a ticket, and *quiet* pairs of releases between which nothing in reach of an engine
changed. A change of a guarantee is shown if the guarantee is violated in the bad release and holds in the good one,
both under one perturbation: that which the change names, if any. A change of a question is shown if the two releases
answer it differently. A quiet pair raises a false alarm if a guarantee is violated in one release and holds in the
other, or if they answer a question differently.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path

from conformance.judgement.cell import Verdict
from conformance.model.perturbation import factors_of
from conformance.results.results import Results
from conformance.support.grouping import grouped
from conformance.support.reading import BadInput, tables_of, text_of

BUDGET, ROWS = "10m", 2
"""The time of a run; what is left out of it is not shown. And the rows of a run about a change that needs no
perturbation."""

MENDED = (Verdict.VIOLATED, Verdict.HOLDS)
"""The verdicts of the bad release and of the good one where a cell shows a change."""

UNASKED = Verdict.UNKNOWN.value


class UnusableCatalogue(BadInput):
    """A catalogue of changes cannot be used. The message says what is wrong with it."""


@dataclass(frozen=True)
class Change:
    """A change between two releases, or a quiet pair of releases.

    Attributes:
        id: that of the ticket, or a name of the quiet pair.
        engine: the engine, without a release.
        bad, good: the releases; of a quiet pair, the older and the newer one.
        says: what changed, in a sentence.
        guarantee: "scenario/guarantee", or "" where a question shows the change.
        question: "scenario/question": a query that a release may refuse, and the scenario of the run that asks it.
        under: the perturbation that shows the change; "" for any.
        cases: cases of each program on each timeline.
        scenario: of a quiet pair, the scenario that both releases are asked.
    """

    id: str
    engine: str
    bad: str
    good: str
    says: str
    guarantee: str = ""
    question: str = ""
    under: str = ""
    cases: int = 5
    scenario: str = ""

    def __post_init__(self) -> None:
        if [bool(self.guarantee), bool(self.question), bool(self.scenario)].count(True) != 1:
            raise UnusableCatalogue(f"{self.id}: give one of guarantee, question and scenario")

    @property
    def quiet(self) -> bool:
        return bool(self.scenario)

    @property
    def engines(self) -> tuple[str, str]:
        return f"{self.engine}@{self.bad}", f"{self.engine}@{self.good}"

    @property
    def asked(self) -> tuple[str, ...]:
        """The options of the run that shows the change, but for its engines. A run with a budget reduces no witness. An
        engine answers the questions whatever it runs, so one row is enough for those."""
        scenario = self.scenario or (self.guarantee or self.question).split("/")[0]
        if self.question:
            return (f"--scenario={scenario}", "--quick", "--rows=1", "--seed=1")
        size = (f"--cases={self.cases}", f"--budget={BUDGET}")
        some = f"--perturbation={self.under}" if self.under else f"--rows={ROWS}"
        return (f"--scenario={scenario}", *size, *(() if self.quiet else (some,)), "--seed=1")


@dataclass(frozen=True)
class Answer:
    """What the two releases gave, and whether that is as the catalogue says: a change is shown, a quiet pair raises no
    alarm."""

    change: Change
    bad: str
    good: str
    right: bool

    @property
    def line(self) -> str:
        change = self.change
        what = ("quiet" if self.right else "FALSE ALARM") if change.quiet else ("shown" if self.right else "NOT SHOWN")
        return f"{change.id}: {self.bad} in {change.bad}, {self.good} in {change.good}: {what}"


def read_catalogue(path: Path) -> list[Change]:
    """The changes in a TOML file, tables ``change`` and ``quiet``. Raises UnusableCatalogue."""
    tables = tables_of(text_of(path, UnusableCatalogue), path, UnusableCatalogue)
    known = {field.name for field in fields(Change)}
    found = []
    for kind in ("change", "quiet"):
        for number, table in enumerate(tables.get(kind, ()), 1):
            place = f"{path}: {kind} {number}"
            if odd := sorted(set(table) - known):
                raise UnusableCatalogue(f"{place}: there is no field {odd[0]!r}")
            if lacking := [name for name in ("id", "engine", "bad", "good", "says") if name not in table]:
                raise UnusableCatalogue(f"{place}: {lacking[0]} is missing")
            found.append(Change(**table))
            if found[-1].quiet != (kind == "quiet"):
                raise UnusableCatalogue(f"{place}: a quiet pair has a scenario, and a change has none")
    return found


@dataclass(frozen=True)
class Run:
    """A ``conformance run`` that asks all releases in which some changes show alike."""

    changes: tuple[Change, ...]

    def arguments(self, out: Path) -> list[str]:
        engines = dict.fromkeys(engine for change in self.changes for engine in change.engines)
        return ["run", *(f"--engine={engine}" for engine in engines), *self.changes[0].asked, f"--out={out}"]


def runs_of(changes: Iterable[Change]) -> list[Run]:
    """The runs that show changes. What two runs would ask of one release is asked once."""
    return [Run(tuple(together)) for together in grouped((change.asked, change) for change in changes).values()]


def answered(change: Change, results: Results) -> Answer:
    """What a run on both releases says of a change."""
    if change.quiet:
        alarms = sorted(_alarms(change, results))
        first = alarms[0] if alarms else ("alike", "alike")
        return Answer(change, *first, not alarms and _answered_at_all(change, results))
    if change.question:
        _, question = change.question.split("/")
        records = (results.environment.get(engine) for engine in change.engines)
        bad, good = (record.answers.get(question, UNASKED) if record else UNASKED for record in records)
        return Answer(change, bad, good, bad != good and UNASKED not in (bad, good))
    old, new = (_cells(engine, results) for engine in change.engines)
    shown = any(
        place == change.guarantee and change.under in ("", *factors_of(under)) for place, under in _broken(old, new)
    )
    before, after = MENDED if shown else (_worst(change, old), _worst(change, new))
    return Answer(change, before.value, after.value, shown)


Cells = Mapping[tuple[str, str], Verdict]
"""("scenario/guarantee", perturbation) -> what an engine was found to do."""


def _cells(engine: str, results: Results) -> Cells:
    return {("/".join(c.row), c.perturbation): c.verdict for c in results.cells if c.engine == engine}


def _broken(bad: Cells, good: Cells) -> Iterator[tuple[str, str]]:
    """What is violated in the one release and holds in the other. Several changes that one release needs together to
    fail hold in the other if each of them does."""
    for (place, under), verdict in bad.items():
        if verdict is Verdict.VIOLATED:
            asked = [under] if (place, under) in good else factors_of(under)
            if asked and all(good.get((place, name)) is Verdict.HOLDS for name in asked):
                yield place, under


def _worst(change: Change, cells: Cells) -> Verdict:
    verdicts = {v for (place, under), v in cells.items() if place == change.guarantee and change.under in ("", under)}
    worst = (Verdict.VIOLATED, Verdict.ERROR, Verdict.HOLDS, Verdict.UNKNOWN)
    return next((verdict for verdict in worst if verdict in verdicts), Verdict.UNKNOWN)


def _answered_at_all(change: Change, results: Results) -> bool:
    there = {cell.engine for cell in results.cells if cell.verdict in (Verdict.HOLDS, Verdict.VIOLATED)}
    return there >= set(change.engines)


def _alarms(change: Change, results: Results) -> Iterator[tuple[str, str]]:
    """What the releases of a quiet pair say differently, of each guarantee and of each question."""
    old, new = (_cells(engine, results) for engine in change.engines)
    violated, holds = Verdict.VIOLATED.value, Verdict.HOLDS.value
    for place, under in _broken(old, new):
        yield f"{place} {under} {violated}", f"{place} {under} {holds}"
    for place, under in _broken(new, old):
        yield f"{place} {under} {holds}", f"{place} {under} {violated}"
    answers = [record.answers if (record := results.environment.get(e)) else {} for e in change.engines]
    for question in answers[0].keys() & answers[1].keys():
        if answers[0][question] != answers[1][question]:
            yield answers[0][question], answers[1][question]
