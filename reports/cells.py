"""The rows of the matrix and the evidence of their cells, as the page shows them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from markupsafe import Markup

from conformance.judgement.cell import IN_PART, Folded, MatrixCell, Verdict
from conformance.judgement.stability import Stability
from conformance.results.record import GuaranteeRecord
from conformance.results.results import Results
from conformance.results.witness import Witness
from reports import picture
from reports.grid import Grid, Row
from reports.likeness import promise
from reports.panels import panels
from reports.witnesses import alone_lines, witness_lines
from reports.words import BARS, STANDINGS, coverage_line, replay_command, standing

LETTERS = {
    Verdict.HOLDS: "h",
    Verdict.VIOLATED: "v",
    Verdict.UNSUPPORTED: "s",
    Verdict.UNKNOWN: "u",
    Verdict.ERROR: "e",
}
"""How a cell tells the script its verdict under each perturbation: a letter each, "-" where it has none."""


@dataclass(frozen=True)
class Evidence:
    """A witness as the page shows it; ``events`` counts its elements, with those of the case that it is the twin of."""

    perturbation: str
    pictures: tuple[Markup, ...]
    text: str
    flip: str
    events: int
    replay: str


@dataclass(frozen=True)
class Link:
    """Where something stands on the page."""

    anchor: str
    title: str


@dataclass(frozen=True)
class Part:
    """The perturbations of a cell that have one verdict, and one reason where that matters."""

    word: str
    reason: str
    names: str


@dataclass(frozen=True)
class Entry:
    """A cell of the matrix, and its evidence.

    Attributes:
        run: the label of the cell's run.
        word: where the cell stands, a key of ``words.STANDINGS``; ``shown`` is how the matrix puts it.
        strength: (mark, meaning) of the strength of a cell that holds as a whole.
        letters: the verdict under each perturbation, see ``LETTERS``.
        before: the verdict in the run before, "" where it is the same.
        flips: what changed since the run before, in words.
        alike: what was promised of the program under perturbations, and what was observed.
        alone: where the witness failed alone, on this engine in this version.
        same: where the same witness is shown already.
        others: (perturbation, number of elements, command) of the witnesses that are larger.
    """

    anchor: str
    cell: Folded
    engine: str
    run: str
    native_operator: str
    about: str
    versions: str
    symbol: str
    word: str
    shown: str
    strength: tuple[str, str]
    letters: str
    before: str
    flips: tuple[str, ...]
    counts: str
    parts: tuple[Part, ...]
    coverage: str
    alike: str
    witness: Evidence | None
    others: tuple[tuple[str, int, str], ...]
    alone: tuple[str, ...] = ()
    same: Link | None = None


@dataclass(frozen=True)
class GuaranteeRow:
    """A guarantee, and its entries in each column."""

    texts: GuaranteeRecord
    anchor: str
    columns: tuple[tuple[Entry, ...], ...]


@dataclass(frozen=True)
class ScenarioRows:
    id: str
    name: str
    summary: str
    rows: tuple[GuaranteeRow, ...]


class Cells:
    """The entries of a grid."""

    def __init__(self, grid: Grid) -> None:
        self._grid = grid
        self._stability = [_by_program(run) for run in grid.runs]

    def scenarios(self) -> list[ScenarioRows]:
        """Every scenario with its rows."""
        return [
            ScenarioRows(
                scenario,
                texts.name,
                texts.summary,
                tuple(self._row(row, texts.guarantees[row[1]]) for row in self._grid.rows if row[0] == scenario),
            )
            for scenario, texts in self._grid.texts.items()
        ]

    def _row(self, row: Row, texts: GuaranteeRecord) -> GuaranteeRow:
        columns = [
            [self._entry(c.run, row, e, texts.program) for e in c.engines if (row, e) in self._grid.folded[c.run]]
            for c in self._grid.columns
        ]
        return GuaranteeRow(texts, self._grid.row_anchor(row), _each_witness_once(columns))

    def _entry(self, run: int, row: Row, engine: str, program: str) -> Entry:
        grid = self._grid
        parts, cell, record = grid.cells[run][row, engine], grid.folded[run][row, engine], grid.runs[run].environment
        by_perturbation = {part.perturbation: LETTERS[part.verdict] for part in parts}
        found = self._found(run, parts)
        if found:
            cell = replace(cell, reason=found[0][0].reason, intermittent=found[0][0].intermittent)
        before, flips = grid.before(run, row, engine)
        return Entry(
            anchor=grid.anchor(run, row, engine),
            cell=cell,
            engine=engine,
            run=grid.labels[run],
            native_operator=record[engine].native_operator,
            about=grid.engine_anchor(run, engine),
            versions=" ".join(record[engine].framework or ()),
            symbol=STANDINGS[standing(cell)][0],
            word=standing(cell),
            shown=IN_PART if cell.in_part else cell.verdict.value,
            strength=(BARS[cell.strength], f"at least {cell.least} under each perturbation")
            if cell.strength
            else ("", ""),
            letters="".join(by_perturbation.get(name, "-") for name in grid.perturbations),
            before=standing(before) if before and standing(before) != standing(cell) else "",
            flips=tuple(flips),
            counts=_counts(cell),
            parts=tuple(_told(parts)),
            coverage=coverage_line(cell),
            alike=_alike(self._stability[run].get((row[0], program, engine), [])),
            witness=self._evidence(run, *found[0]) if found else None,
            alone=tuple(alone_lines(found[0][1], engine, record[engine].versions)) if found else (),
            others=tuple((part.perturbation, _events(w), replay_command(w.id)) for part, w in found[1:]),
        )

    def _found(self, run: int, parts: Iterable[MatrixCell]) -> list[tuple[MatrixCell, Witness]]:
        """The witnesses of a cell, each with the first perturbation that it speaks of, the smallest first."""
        found: dict[str, tuple[MatrixCell, Witness]] = {}
        for part in parts:
            if part.witness:
                found.setdefault(part.witness, (part, self._grid.runs[run].witnesses[part.witness]))
        return sorted(found.values(), key=lambda pair: _events(pair[1]))

    def _evidence(self, run: int, part: MatrixCell, witness: Witness) -> Evidence:
        case = witness.case
        stability = self._stability[run].get((case.scenario, case.program, witness.engine), [])
        promised = next((s.promised for s in stability if s.perturbation == case.perturbation), None)
        return Evidence(
            perturbation=part.perturbation,
            pictures=tuple(Markup(picture.inline(panel)) for panel in panels(witness, promised)),
            text="\n".join(witness_lines(witness)),
            flip=witness.flip.change if witness.flip else "",
            events=_events(witness),
            replay=replay_command(witness.id),
        )


def _each_witness_once(columns: Iterable[Iterable[Entry]]) -> tuple[tuple[Entry, ...], ...]:
    """Let each witness be shown once among the cells of a guarantee; where it comes again, it is said whose it is."""
    shown: list[Entry] = []

    def once(entry: Entry) -> Entry:
        if not entry.witness:
            return entry
        if same := next((earlier for earlier in shown if earlier.witness == entry.witness), None):
            return replace(entry, same=Link(same.anchor, " ".join(filter(None, [same.engine, same.run]))))
        shown.append(entry)
        return entry

    return tuple(tuple(once(entry) for entry in entries) for entries in columns)


def _events(witness: Witness) -> int:
    return len(witness.case.schedule.arrivals) + (len(witness.base.schedule.arrivals) if witness.base else 0)


def _counts(cell: MatrixCell) -> str:
    """How many cases stand behind a cell, for its corner."""
    if not cell.cases:
        return ""
    return f"{cell.violations}/{cell.cases}" if cell.violations else str(cell.cases)


def _told(parts: Iterable[MatrixCell]) -> list[Part]:
    """The cells of the perturbations, those of one verdict and reason in one line."""
    lines: dict[tuple[str, str], list[str]] = {}
    for part in parts:
        reason = part.reason if part.verdict is Verdict.UNKNOWN else ""
        if part.verdict is Verdict.UNSUPPORTED:
            reason = part.reason.partition(": ")[0]  # what the engine lacks; its own part of the page says why
        line = lines.setdefault((part.verdict.value, reason), [])
        numbers = f" {_counts(part)}" if part.cases else ""
        line.append(part.perturbation + numbers + (f" ({part.inapplicable} apart)" if part.inapplicable else ""))
    order = [verdict.value for verdict in Verdict]
    return [
        Part(word, reason, ", ".join(names))
        for (word, reason), names in sorted(lines.items(), key=lambda item: order.index(item[0][0]))
    ]


def _alike(stability: Iterable[Stability]) -> str:
    """What was promised of a program under perturbations and what was observed, what is rare by name. Where nothing was
    promised, the table of perturbations tells what was observed."""
    found: dict[str, list[str]] = {}
    for under in stability:
        if under.pairs and under.promised:
            found.setdefault(promise(under), []).append(under.perturbation)
    *rare, (usual, names) = sorted(found.items(), key=lambda item: len(item[1])) or [("", [])]
    told = [f"{how} ({', '.join(names)})" for how, names in rare]
    return "; ".join([*told, f"{usual} ({'the other' if rare else 'all'} {len(names)})" if usual else ""])


def _by_program(run: Results) -> dict[tuple[str, str, str], list[Stability]]:
    found: dict[tuple[str, str, str], list[Stability]] = {}
    for stability in run.stability:
        found.setdefault((stability.scenario, stability.program, stability.engine), []).append(stability)
    return found
