"""A move from one engine to another, each in a release or as it is here: what both decided, and what cannot be
compared."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from conformance.comparison.upgrade import asked_again
from conformance.judgement.cell import MatrixCell, Verdict
from conformance.results.changes import DECIDED
from conformance.results.results import Results
from conformance.results.witness import Witness
from conformance.run.hosts import Hosts
from conformance.run.options import Options

NOT_ASKED = "not asked"


class Kind(Enum):
    """How two engines differ in a guarantee."""

    BROKEN = "held there, broken here"
    MENDED = "broken there, holds here"
    BOTH = "broken on both"
    APART = "cannot be compared"


@dataclass(frozen=True)
class Move:
    """Engines (ids, with a release or without): the one in use, and the one to go to."""

    old: str
    new: str

    @property
    def words(self) -> str:
        return f"{self.old} → {self.new}"


@dataclass(frozen=True)
class Difference:
    """How two engines differ in a guarantee.

    Attributes:
        row: (scenario, guarantee).
        engine: the one that breaks the guarantee, the new one where both do; the old one where it holds and the new one
            cannot be asked.
        perturbations: those that ``kind`` speaks of. For BOTH, those under which one engine alone breaks it.
        why: for APART, what the other engine says in the place of an answer.
        witness: the id of a witness of ``engine``, "" for none.
    """

    kind: Kind
    row: tuple[str, str]
    engine: str
    perturbations: tuple[str, ...]
    why: str = ""
    witness: str = ""


Cells = Mapping[str, MatrixCell]
"""Perturbation -> cell, of one guarantee on one engine."""


def differences(results: Results, move: Move) -> list[Difference]:
    """What differs between the two engines of a move, by guarantee. Only perturbations that both decided count as a
    difference of behaviour. A guarantee that neither breaks is left out, unless it holds on the old engine and the new
    one decided nothing of it."""
    by_engine: dict[str, dict[tuple[str, str], dict[str, MatrixCell]]] = {move.old: {}, move.new: {}}
    for cell in results.cells:
        if cell.engine in by_engine:
            by_engine[cell.engine].setdefault(cell.row, {})[cell.perturbation] = cell
    old, new = by_engine.values()
    found = (_difference(row, move, old.get(row, {}), new.get(row, {})) for row in dict.fromkeys([*old, *new]))
    return [difference for difference in found if difference]


def _difference(row: tuple[str, str], move: Move, old: Cells, new: Cells) -> Difference | None:
    there, here = (_of(cells, Verdict.VIOLATED) for cells in (old, new))
    broken, mended = here & _of(old, Verdict.HOLDS), there & _of(new, Verdict.HOLDS)

    def told(kind: Kind, engine: str, cells: Cells, names: set[str], why: str = "") -> Difference:
        witnesses = (cells[name].witness for name in cells if name in names and cells[name].witness)
        ordered = tuple(name for name in cells if name in names)
        return Difference(kind, row, engine, ordered, why, next(witnesses, ""))

    if broken:
        return told(Kind.BROKEN, move.new, new, broken)
    if mended:
        return told(Kind.MENDED, move.old, old, mended)
    if there and here:
        both = told(Kind.BOTH, move.new, new, here)
        alone = tuple(name for name in {**old, **new} if (name in there) is not (name in here))
        return Difference(Kind.BOTH, row, move.new, alone, "", both.witness)
    if there:
        return told(Kind.APART, move.old, old, there, _lacking(move.new, new, there))
    if here:
        return told(Kind.APART, move.new, new, here, _lacking(move.old, old, here))
    if (held := _of(old, Verdict.HOLDS)) and not _of(new, Verdict.HOLDS):
        return told(Kind.APART, move.old, old, held, _lacking(move.new, new, held))
    return None


def silent(results: Results, move: Move) -> str:
    """Why one of the two engines decided nothing at all, "" if both decided something."""
    for engine in (move.old, move.new):
        cells = [cell for cell in results.cells if cell.engine == engine]
        if not any(cell.verdict in DECIDED for cell in cells):
            failure = results.environment[engine].failure
            return failure or next((cell.reason for cell in cells), f"{engine} was not asked")
    return ""


def _of(cells: Cells, verdict: Verdict) -> set[str]:
    return {name for name, cell in cells.items() if cell.verdict is verdict}


def _lacking(engine: str, cells: Cells, names: set[str]) -> str:
    """Why an engine has no answer under these perturbations: the reason of the first that it was asked, else that it
    was not asked."""
    asked = next((cells[name] for name in cells if name in names), None)
    return f"{engine}: {f'{asked.verdict.value}: {asked.reason}' if asked else NOT_ASKED}"


def shown_on_both(results: Results, move: Move, options: Options) -> Results:
    """Results after the witnesses of what one engine breaks and the other holds were replayed on the other one, so that
    a reported difference is a real one. Starts engines where there is something to ask."""
    found = differences(results, move)
    asked = {
        engine: _witnesses(results, [d for d in found if d.kind is kind])
        for engine, kind in ((move.old, Kind.BROKEN), (move.new, Kind.MENDED))
    }
    if not any(asked.values()):
        return results
    (logs := Path(options.out, "logs", "asked-again")).mkdir(parents=True, exist_ok=True)
    with Hosts(logs, options.timeout) as hosts:
        return asked_again(results, asked, options.scenarios, hosts)


def _witnesses(results: Results, found: Sequence[Difference]) -> list[Witness]:
    places = {(d.engine, d.row, name) for d in found for name in d.perturbations}
    shown = (cell.witness for cell in results.cells if (cell.engine, cell.row, cell.perturbation) in places)
    return [results.witnesses[name] for name in dict.fromkeys(filter(None, shown))]
