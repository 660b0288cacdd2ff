"""A move from one engine to another compares what both decided."""

from dataclasses import replace

import pytest

from conformance.comparison.moves import Kind, Move, differences, silent
from conformance.judgement.cell import MatrixCell, Verdict
from conformance.reports import advice
from conformance.reports.advice import Advice
from conformance.reports.text import move_text as moves
from conformance.results.record import EngineRecord, GuaranteeRecord, RunRecord, ScenarioRecord
from conformance.results.results import Results

MOVE = Move("old@1", "new@2")
H, V, U, N = Verdict.HOLDS, Verdict.VIOLATED, Verdict.UNSUPPORTED, None


def results(*rows):
    """Of each row: what the old engine and the new one say as drawn, then under a restart; None for not asked."""
    cells = [
        MatrixCell("s", "p", f"g{n}", under, engine, verdict, "no timers", cases=5, witness="w" * (verdict is V))
        for n, row in enumerate(rows)
        for under, pair in zip(("as drawn", "restart"), (row[:2], row[2:]), strict=False)
        for engine, verdict in zip((MOVE.old, MOVE.new), pair, strict=False)
        if verdict
    ]
    texts = {f"g{n}": GuaranteeRecord(f"claim {n}", "p") for n in range(len(rows))}
    environment = {MOVE.old: EngineRecord(), MOVE.new: EngineRecord()}
    return Results(RunRecord(), environment, {"s": ScenarioRecord("a scenario", "", texts)}, cells)


@pytest.mark.parametrize(
    ("row", "kind", "under", "why"),
    [
        ((H, V), Kind.BROKEN, ("as drawn",), ""),
        ((V, H), Kind.MENDED, ("as drawn",), ""),
        ((V, H, H, V), Kind.BROKEN, ("restart",), ""),
        ((V, V), Kind.BOTH, (), ""),
        ((V, V, U, V), Kind.BOTH, ("restart",), ""),
        ((V, U), Kind.APART, ("as drawn",), "new@2: unsupported: no timers"),
        ((N, V), Kind.APART, ("as drawn",), "old@1: not asked"),
        ((H, U), Kind.APART, ("as drawn",), "new@2: unsupported: no timers"),
        ((H, H, N, V), Kind.APART, ("restart",), "old@1: not asked"),
        ((H, H, H, U), None, (), ""),
        ((U, H), None, (), ""),
    ],
)
def test_only_what_both_decided_is_a_difference_of_behaviour(row, kind, under, why):
    found = [(d.kind, d.perturbations, d.why) for d in differences(results(row), MOVE)]
    assert found == ([(kind, under, why)] if kind else [])


def test_an_engine_that_decided_nothing_cannot_be_compared():
    assert silent(results((H, U)), MOVE) == "no timers"
    assert silent(results((H, V)), MOVE) == ""


def test_a_cause_stands_once_with_its_advice(monkeypatch):
    monkeypatch.setattr(advice, "known_advice", lambda: (Advice("one cause", ("new",), ("s/g?",), "Do *this*."),))
    found = results(*[(H, V)] * 5, (V, H))
    told = moves.Told(found, MOVE, differences(found, MOVE))
    printed = [*moves.lines(told)]
    assert printed[0].startswith("old@1 → new@2: of 6 guarantees, 5 held there, broken here, 1 broken there, holds")
    assert printed[2] == "  5 guarantees: one cause. Do *this*."
    assert printed[3] == "    a scenario: claim 0 (as drawn) [conformance replay w]"
    assert printed[6] == "    and 2 more"
    assert len([*moves.lines(told, everything=True)]) == len(printed) + 1
    text = moves.markdown(replace(told, accepted=frozenset(told.found[:1])), {"w": "conformance replay out/w"})
    assert text.count("Do *this*.") == 1
    assert "claim 0 (as drawn, accepted)\n  - `conformance replay out/w`" in text
