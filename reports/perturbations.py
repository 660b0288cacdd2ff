"""The perturbations of a row: those of one verdict, and one reason where that matters, together."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from conformance.judgement.cell import MatrixCell, Verdict


@dataclass(frozen=True)
class Part:
    """The perturbations of a row that have one verdict, and one reason where that matters; ``names`` has their counts."""

    word: str
    reason: str
    names: str

    @property
    def line(self) -> str:
        return f"{self.word}{f' ({self.reason})' if self.reason else ''}: {self.names}"


def counts(cell: MatrixCell) -> str:
    """The cases behind a cell: "3/90" where 3 of 90 speak against the guarantee, else their number; "" without cases."""
    if not cell.cases:
        return ""
    return f"{cell.violations}/{cell.cases}" if cell.violations else str(cell.cases)


def told(cells: Iterable[MatrixCell]) -> list[Part]:
    """The cells of a row, in the order of ``Verdict``. Several that have no case and one reason are not named: they are all of the row's."""
    cells = list(cells)
    lines: dict[tuple[str, str], list[str]] = {}
    for cell in cells:
        reason = cell.reason if cell.verdict in (Verdict.UNKNOWN, Verdict.ERROR) else ""
        if cell.verdict is Verdict.UNSUPPORTED:
            reason = cell.reason.partition(": ")[0]  # what the engine lacks; the engine's own record says why
        line = lines.setdefault((cell.verdict.value, reason), [])
        numbers = f" {counts(cell)}" if cell.cases else ""
        line.append(cell.perturbation + numbers + (f" ({cell.inapplicable} apart)" if cell.inapplicable else ""))
    if len(lines) == 1 and len(cells) > 1 and not any(cell.cases or cell.inapplicable for cell in cells):
        lines = {place: [f"all {len(cells)}"] for place in lines}
    order = [verdict.value for verdict in Verdict]
    return [
        Part(word, reason, ", ".join(names))
        for (word, reason), names in sorted(lines.items(), key=lambda item: order.index(item[0][0]))
    ]
