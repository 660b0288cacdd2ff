"""The rows of the matrix and the evidence of their cells, as the page shows them."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from markupsafe import Markup

from conformance.judgement.cell import IN_PART, Folded, MatrixCell, Verdict
from conformance.judgement.coverage import in_order
from conformance.judgement.stability import Stability
from conformance.model.values import digest
from conformance.reports.grades import Shown, behind, grade_of
from conformance.reports.grid import Grid, Row
from conformance.reports.page import picture
from conformance.reports.page.leads import Leads
from conformance.reports.page.panels import panels
from conformance.reports.perturbations import UNDECIDED, Part, counts, in_short, not_exercised, told
from conformance.reports.witnesses import alone_lines, witness_lines
from conformance.reports.words import STANDINGS, amount, reason_of, replay_command, some, standing
from conformance.results.record import EngineRecord, GuaranteeRecord
from conformance.results.results import Results
from conformance.results.witness import Witness
from conformance.support.grouping import grouped

LETTERS = {
    Verdict.HOLDS: "h",
    Verdict.VIOLATED: "v",
    Verdict.UNSUPPORTED: "s",
    Verdict.UNKNOWN: "u",
    Verdict.ERROR: "e",
}
"""How a cell tells the script its verdict under each perturbation: a letter each, "-" where it has none."""


QUIET = (Verdict.HOLDS, Verdict.UNSUPPORTED)


@dataclass(frozen=True)
class Link:
    """Where a witness stands on the page; ``whole``: it is the very one."""

    anchor: str
    title: str
    whole: bool


@dataclass(frozen=True)
class Evidence:
    """The witness of a cell as the page shows it.

    Attributes:
        events: the number of its elements, with those of the case that it is the twin of.
        seen: identifies its case and what came out, whatever the engine.
        alone: where the witness failed alone, on this engine in this version.
        others: (perturbation, number of elements, command) of the cell's witnesses that are larger.
        same: where the same witness is shown already, or one of the same case and output.
    """

    witness: Witness
    perturbation: str
    pictures: tuple[Markup, ...]
    text: str
    flip: str
    events: int
    replay: str
    seen: str
    alone: tuple[str, ...] = field(compare=False)
    others: tuple[tuple[str, int, str], ...] = field(compare=False)
    same: Link | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Past:
    """What became of a cell.

    Attributes:
        was: where the cell stood in the run before, "" if it was not there.
        flips: what changed since the run before, in words.
        since: since which release it stands as it does, by the measured releases; "" where fewer than two were
            measured.
    """

    was: str
    flips: tuple[str, ...]
    since: str


@dataclass(frozen=True)
class Entry:
    """A cell of the matrix, and its evidence.

    Attributes:
        record: its engine.
        run: the label of its run.
        about: the anchor of the engine's description.
        letters: the place in ``Cells.letters`` of its verdicts under each perturbation.
        advice: the number of the advice on it, see ``leads.Leads``. None without advice.
        findings: the numbers of the findings that it shows.
        beside: the engines of the run that break the guarantee as well, and how many do not, in words; "" where it does
            not break it.
        under: (verdict, number of cases) under each perturbation of the row; () where the engine cannot be asked at
            all.
        parts: the perturbations that are not decided, with the reasons.
        lack: the number of what an engine lacks that cannot be asked at all, see ``Cells.lacks``; else None.
        notes: the numbers of its notes, see ``Cells.notes``.
    """

    anchor: str
    cell: Folded
    record: EngineRecord
    run: str
    about: str
    past: Past
    letters: int
    advice: int | None
    findings: tuple[int, ...]
    beside: str
    under: tuple[tuple[str, str], ...]
    parts: tuple[Part, ...]
    lack: int | None
    notes: tuple[int, ...]
    witness: Evidence | None

    @property
    def word(self) -> str:
        """Where the cell stands, a key of ``words.STANDINGS``."""
        return standing(self.cell)

    @property
    def symbol(self) -> str:
        return STANDINGS[self.word][0]

    @property
    def shown(self) -> str:
        """How the matrix puts where the cell stands."""
        return IN_PART if self.cell.in_part else self.cell.verdict.value

    @property
    def grade(self) -> Shown | None:
        """The grade of its evidence; None where there is none."""
        return grade_of(self.cell)

    @property
    def before(self) -> str:
        """Where the cell stood in the run before, "" where it stands there still."""
        return self.past.was if self.past.was != self.word else ""

    @property
    def quiet(self) -> bool:
        """Whether the row's table says all there is to say of the cell."""
        told = self.cell.verdict in QUIET or not_exercised(self.cell)
        return told and not (self.witness or self.past.flips or self.parts)

    @property
    def told(self) -> str:
        """The numbers of the cell in the matrix."""
        exercised = f"{self.cell.exercised} of {self.cell.promised}" if self.cell.in_part else ""
        return ", ".join(filter(None, [exercised, counts(self.cell)]))

    @property
    def against(self) -> str:
        """How much speaks against the guarantee, in a sentence; "" where nothing does."""
        cell = self.cell
        if not cell.violations:
            return ""
        alone = f"; alone it failed in {cell.intermittent} runs" if cell.intermittent else ""
        return f"Against it: {cell.violations} of {amount(cell.cases, 'case')}{alone}."

    @property
    def behind(self) -> str:
        """How much the cell rests on, in words."""
        return behind(self.cell)


@dataclass(frozen=True)
class GuaranteeRow:
    """A guarantee, and its entries in each column; with the perturbations that it is asked under, what its cases had in
    them, in words, and the numbers of what findings and advice say of it, see ``leads.Leads``."""

    texts: GuaranteeRecord
    anchor: str
    columns: tuple[tuple[Entry, ...], ...]
    perturbations: tuple[str, ...]
    had: str
    index: tuple[int, ...]

    @property
    def entries(self) -> list[Entry]:
        return [entry for entries in self.columns for entry in entries]

    def has(self, places: Sequence[int]) -> bool:
        """Whether it has a cell in one of these columns, by their places."""
        return any(self.columns[place] for place in places)

    @property
    def lacking(self) -> list[list[Entry]]:
        """The quiet entries of engines that cannot be asked, those that lack the same together."""
        found = grouped((entry.lack, entry) for entry in self.entries if entry.quiet and entry.lack is not None)
        return list(found.values())


@dataclass(frozen=True)
class ScenarioRows:
    id: str
    name: str
    summary: str
    rows: tuple[GuaranteeRow, ...]


class Cells:
    """The entries of a grid."""

    def __init__(self, grid: Grid, leads: Leads) -> None:
        self._grid = grid
        self._leads = leads
        self.notes: dict[str, int] = {}
        """Each note of a cell that was made -> its number on the page."""
        self.lacks: dict[str, int] = {}
        """Why an engine cannot be asked at all, of the cells that were made -> its number on the page."""
        self.letters: dict[str, int] = {}
        """The verdicts under each perturbation of the cells that were made (see ``LETTERS``) -> their place on the
        page."""
        self._stability = [_by_program(run) for run in grid.runs]
        self._decided: list[dict[Row, dict[str, Verdict]]] = [{} for _ in grid.runs]
        for found, folded in zip(self._decided, grid.folded, strict=True):
            for (row, engine), cell in folded.items():
                if cell.verdict in (Verdict.HOLDS, Verdict.VIOLATED):
                    found.setdefault(row, {})[engine] = cell.verdict

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
        grid = self._grid
        there = [(c.run, e) for c in grid.columns for e in c.engines if (row, e) in grid.folded[c.run]]
        cells = [cell for run, engine in there for cell in grid.cells[run][row, engine]]
        asked = {cell.perturbation for cell in cells}
        under = tuple(name for name in grid.perturbations if name in asked)
        columns = [[self._entry(c.run, row, e, under) for e in c.engines if (c.run, e) in there] for c in grid.columns]
        index = self._leads.index_of(row)
        return GuaranteeRow(texts, grid.row_anchor(row), _each_witness_once(columns), under, _had(columns), index)

    def _beside(self, run: int, row: Row, engine: str) -> str:
        """Whether an engine stands alone in breaking a guarantee."""
        decided = self._decided[run][row]
        others = [name for name, verdict in decided.items() if verdict is Verdict.VIOLATED and name != engine]
        hold = amount(len(decided) - len(others) - 1, "engine")
        if not others:
            return f"No other engine of this run breaks it; it holds on {hold}"
        return f"Broken as well on {some(others)}; it holds on {hold}"

    def _entry(self, run: int, row: Row, engine: str, under: tuple[str, ...]) -> Entry:
        grid = self._grid
        parts, cell = grid.cells[run][row, engine], grid.folded[run][row, engine]
        by_perturbation = {part.perturbation: LETTERS[part.verdict] for part in parts}
        letters = "".join(by_perturbation.get(name, "-") for name in grid.perturbations)
        found_under = {part.perturbation: (part.verdict.value, in_short(part)) for part in parts}
        undecided = [part for part in parts if part.verdict in UNDECIDED and not not_exercised(part)]
        found = self._found(run, parts)
        if found:
            cell = replace(cell, reason=found[0][0].reason, intermittent=found[0][0].intermittent)
        before, flips = grid.before(run, row, engine)
        violated, lacking = cell.verdict is Verdict.VIOLATED, cell.verdict is Verdict.UNSUPPORTED
        return Entry(
            anchor=grid.anchor(run, row, engine),
            cell=cell,
            record=grid.runs[run].environment[engine],
            run=grid.labels[run],
            about=grid.engine_anchor(run, engine),
            past=Past(standing(before) if before else "", tuple(flips), self._leads.since(row, engine)),
            letters=self.letters.setdefault(letters.rstrip("-"), len(self.letters)),
            advice=self._leads.advice_on(row, engine) if violated else None,
            findings=self._leads.findings_of(row, engine) if violated else (),
            beside=self._beside(run, row, engine) if violated else "",
            under=() if lacking else tuple(found_under.get(name, ("", "")) for name in under),
            parts=tuple(told(undecided)),
            lack=self.lacks.setdefault(reason_of(cell), len(self.lacks) + 1) if lacking else None,
            notes=tuple(self.notes.setdefault(note, len(self.notes) + 1) for note in cell.notes),
            witness=self._evidence(run, engine, found) if found else None,
        )

    def _found(self, run: int, parts: Iterable[MatrixCell]) -> list[tuple[MatrixCell, Witness]]:
        """The witnesses of a cell, each with the first perturbation that it speaks of, the smallest first."""
        found: dict[str, tuple[MatrixCell, Witness]] = {}
        for part in parts:
            if part.witness:
                found.setdefault(part.witness, (part, self._grid.runs[run].witnesses[part.witness]))
        return sorted(found.values(), key=lambda pair: _events(pair[1]))

    def _evidence(self, run: int, engine: str, found: Sequence[tuple[MatrixCell, Witness]]) -> Evidence:
        """The first of these witnesses of a cell, beside the others."""
        (part, witness), *others = found
        case = witness.case
        stability = self._stability[run].get((case.scenario, case.program, witness.engine), [])
        promised = next((s.promised for s in stability if s.perturbation == case.perturbation), None)
        return Evidence(
            witness=witness,
            perturbation=part.perturbation,
            pictures=tuple(Markup(picture.inline(panel)) for panel in panels(witness, promised)),
            text="\n".join(witness_lines(witness)),
            flip=witness.flip.change if witness.flip else "",
            events=_events(witness),
            replay=replay_command(witness.id),
            seen=_seen(witness),
            alone=tuple(alone_lines(witness, engine, self._grid.runs[run].environment[engine].versions)),
            others=tuple((part.perturbation, _events(w), replay_command(w.id)) for part, w in others),
        )


def _each_witness_once(columns: Iterable[Iterable[Entry]]) -> tuple[tuple[Entry, ...], ...]:
    """Let each case and its output be shown once among the cells of a guarantee; where they come again, it is said
    whose they are."""
    shown: list[Entry] = []

    def once(entry: Entry) -> Entry:
        if not entry.witness:
            return entry
        if same := next(
            (earlier for earlier in shown if earlier.witness and earlier.witness.seen == entry.witness.seen), None
        ):
            title = " ".join(filter(None, [same.cell.engine, same.run]))
            link = Link(same.anchor, title, whole=same.witness == entry.witness)
            return replace(entry, witness=replace(entry.witness, same=link))
        shown.append(entry)
        return entry

    return tuple(tuple(once(entry) for entry in entries) for entries in columns)


def _seen(witness: Witness) -> str:
    case, base = witness.case, witness.base
    schedules = [case.perturbation, case.schedule.to_json(), base and base.schedule.to_json()]
    traces = (witness.seen, witness.base_seen, witness.packed_seen, witness.specified)
    return digest([*schedules, *(trace and trace.to_json() for trace in traces)])


def _events(witness: Witness) -> int:
    return len(witness.case.schedule.arrivals) + (len(witness.base.schedule.arrivals) if witness.base else 0)


def _had(columns: Iterable[Iterable[Entry]]) -> str:
    """How many cases had each circumstance: the fewest and the most that an engine had."""
    counters = [entry.cell.coverage for entries in columns for entry in entries if entry.cell.cases]
    found = {
        name: [each.get(name, 0) for each in counters] for name in in_order(sum(map(Counter, counters), Counter()))
    }
    return ", ".join(
        f"{name} {min(all_)}" + (f" to {max(all_)}" if min(all_) < max(all_) else "") for name, all_ in found.items()
    )


def _by_program(run: Results) -> dict[tuple[str, str, str], list[Stability]]:
    return grouped(
        ((stability.scenario, stability.program, stability.engine), stability) for stability in run.stability
    )
