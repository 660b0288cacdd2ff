"""The perturbations of a row: those of one verdict, and one reason where that matters, together."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from conformance.judgement.cell import MatrixCell, Verdict
from conformance.model.plan import is_plan
from conformance.reports.words import SYMBOLS, amount

UNDECIDED = (Verdict.UNKNOWN, Verdict.ERROR)

NOT_EXERCISED, AS_USUAL = "not exercised", "unsupported as usual"
"""The words of parts that are no verdicts: unknown since no case put the guarantee to the test; unsupported for the
engine's usual lack."""

ORDER = [
    *(verdict.value for verdict in (Verdict.VIOLATED, Verdict.ERROR, Verdict.UNKNOWN)),
    NOT_EXERCISED,
    *(verdict.value for verdict in (Verdict.HOLDS, Verdict.UNSUPPORTED)),
    AS_USUAL,
]


@dataclass(frozen=True)
class Part:
    """The perturbations of a row that have one verdict, and one reason where that matters; ``names`` has their
    counts."""

    word: str
    reason: str
    names: str

    @property
    def line(self) -> str:
        return f"{self.word}{f' ({self.reason})' if self.reason else ''}: {self.names}"


def counts(cell: MatrixCell) -> str:
    """The cases behind a cell: "3/90" where 3 of 90 speak against the guarantee, else their number; "" without
    cases."""
    if not cell.cases:
        return ""
    return f"{cell.violations}/{cell.cases}" if cell.violations else str(cell.cases)


def not_exercised(cell: MatrixCell) -> bool:
    """Whether no case put the guarantee to the test."""
    return cell.verdict is Verdict.UNKNOWN and not cell.cases and cell.reason.startswith(NOT_EXERCISED)


def in_short(cell: MatrixCell) -> str:
    """A cell for a table: its cases, with the symbol of its verdict where it is undecided or has none; in brackets the
    pairs that do not count. "" where nothing was exercised."""
    symbol = "" if not_exercised(cell) or (cell.cases and cell.verdict not in UNDECIDED) else SYMBOLS[cell.verdict]
    apart = f"({cell.inapplicable})" if cell.inapplicable else ""
    return " ".join(filter(None, [symbol, counts(cell), apart]))


def lack(cell: MatrixCell) -> str:
    """What the engine of an unsupported cell lacks. The engine's own record says why."""
    return cell.reason.partition(": ")[0]


def lacks(cells: Iterable[MatrixCell]) -> dict[str, str]:
    """What an engine usually lacks under each perturbation that it cannot be asked about, for a place where it is said
    once."""
    found: dict[str, Counter[str]] = {}
    for cell in cells:
        if cell.verdict is Verdict.UNSUPPORTED:
            found.setdefault(cell.perturbation, Counter())[lack(cell)] += 1
    return {perturbation: counter.most_common(1)[0][0] for perturbation, counter in found.items()}


def told(cells: Iterable[MatrixCell], usual: Mapping[str, str] | None = None) -> list[Part]:
    """The cells of a row, in the order of ``Verdict``. Several that have no case and one reason are not named: they are
    all of the row's. Those that lack what the engine usually lacks (see ``lacks``) are counted, if that is said
    elsewhere, and so are plans that were not
    exercised: a run gives an engine few of its plans."""
    cells = list(cells)
    lines: dict[tuple[str, str], list[str]] = {}
    as_usual = plans = 0
    for cell in cells:
        if usual and cell.verdict is Verdict.UNSUPPORTED and usual.get(cell.perturbation) == lack(cell):
            as_usual += 1
            continue
        word, reason = cell.verdict.value, cell.reason if cell.verdict in UNDECIDED else ""
        if not_exercised(cell):
            if is_plan(cell.perturbation):
                plans += 1
                continue
            word, reason = NOT_EXERCISED, ""
        elif cell.verdict is Verdict.UNSUPPORTED:
            reason = lack(cell)
        numbers = f" {counts(cell)}" if cell.cases else ""
        numbers += f" ({cell.inapplicable} apart)" if cell.inapplicable else ""
        lines.setdefault((word, reason), []).append(cell.perturbation + numbers)
    if plans:
        lines.setdefault((NOT_EXERCISED, ""), []).append(amount(plans, "plan"))
    if len(lines) == 1 and len(cells) > 1 and not as_usual and not any(c.cases or c.inapplicable for c in cells):
        lines = {place: [f"all {len(cells)}"] for place in lines}
    if as_usual:
        lines[AS_USUAL, ""] = [str(as_usual)]
    return [
        Part(word, reason, ", ".join(names))
        for (word, reason), names in sorted(lines.items(), key=lambda item: ORDER.index(item[0][0]))
    ]
