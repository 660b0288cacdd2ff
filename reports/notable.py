"""What stands out in results: violations that a reader would not expect, and violations that no stored witness told."""

from __future__ import annotations

from collections.abc import Iterator

from conformance.confirmation.replay import NOT_REPLAYED
from conformance.judgement.cell import Folded, MatrixCell, Verdict
from conformance.results.record import GuaranteeRecord
from conformance.results.results import Results


def new_witnesses(results: Results) -> list[MatrixCell]:
    """A violated cell for each witness that this run found itself: no stored witness of that id was replayed, and none of that guarantee on
    that engine was left without time for a replay."""
    stored = {replay.witness for replay in results.replays}
    untold = {(r.engine, r.scenario, r.guarantee) for r in results.replays if r.answer == NOT_REPLAYED}
    found: dict[str, MatrixCell] = {}
    for cell in results.cells:
        told = cell.witness in stored or (cell.engine, *cell.row) in untold
        if cell.verdict is Verdict.VIOLATED and cell.witness and not told:
            found.setdefault(cell.witness, cell)
    return list(found.values())


def surprising(results: Results) -> list[Folded]:
    """The violated rows that have a witness, the most surprising first, one for each guarantee.

    A row surprises if a document of its engine's framework claims the guarantee, or else any document; if the guarantee
    holds on most other engines; and if few elements are enough to show the violation, in this order.
    """

    def rank(row: Folded) -> tuple[object, ...]:
        texts = results.scenarios[row.scenario].guarantees[row.guarantee]
        framework, _ = results.environment[row.engine].framework or ("", "")
        own = framework.lower() in texts.source.lower()
        return not texts.quote, not own, _share(folded[row.row]), _elements(results, row), row.engine

    folded = results.folded()
    violated = [row for found in folded.values() for row in found.values() if row.verdict is Verdict.VIOLATED]
    found: dict[tuple[str, str], Folded] = {}
    for row in sorted((row for row in violated if row.witness), key=rank):
        found.setdefault(row.row, row)
    return list(_each_engine_in_turn(list(found.values())))


def sentence(results: Results, row: MatrixCell) -> str:
    """A violated row in words, with the document that claims the guarantee."""
    texts: GuaranteeRecord = results.scenarios[row.scenario].guarantees[row.guarantee]
    source = f" (claimed by {texts.source})" if texts.quote else ""
    return f"{row.engine}: not so: {texts.claim}{source}: {row.reason}"


def _share(found: dict[str, Folded]) -> float:
    """The share of the engines that violate a guarantee, of those that decided it."""
    decided = [row for row in found.values() if row.verdict in (Verdict.HOLDS, Verdict.VIOLATED)]
    return sum(row.verdict is Verdict.VIOLATED for row in decided) / len(decided)


def _elements(results: Results, row: Folded) -> int:
    return len(results.witnesses[row.witness].case.schedule.arrivals)


def _each_engine_in_turn(rows: list[Folded]) -> Iterator[Folded]:
    """The rows in their order, but no engine a second time before each other one came."""
    while rows:
        engines: set[str] = set()
        left = []
        for row in rows:
            if row.engine in engines:
                left.append(row)
            else:
                engines.add(row.engine)
                yield row
        rows = left
