"""The table of crash points: only cases that were killed at a point speak of it."""

from dataclasses import replace

import pytest

from conformance.comparison.crashes import POINTS, Killed
from conformance.judgement.cell import MatrixCell, Verdict
from conformance.model.case import Case
from conformance.model.schedule import Advance, Crash, Deliver, renumbered
from conformance.model.trace import Trace
from conformance.reports.grid import Grid
from conformance.reports.page import crashes, html
from conformance.reports.page.crashes import lines
from conformance.results.record import EngineRecord, GuaranteeRecord, RunRecord, ScenarioRecord
from conformance.results.results import Results
from conformance.results.witness import Witness


def results(*told):
    """Cells of (guarantee, perturbation, verdict, points)."""
    cells = [
        MatrixCell("s", "p", g, of, "toy", verdict, "", cases=3, coverage={f"killed: {point}": 2 for point in points})
        for g, of, verdict, points in told
    ]
    texts = {g: GuaranteeRecord(g, "p") for g, *_ in told}
    environment = {
        "toy": EngineRecord(
            versions={"toy": "1.2", "toy.store": "org.toy.RocksStore", "toy.fast": "true"}, shown_as="toy"
        )
    }
    return Results(RunRecord(), environment, {"s": ScenarioRecord("s", guarantees=texts)}, cells)


@pytest.fixture(autouse=True)
def known(monkeypatch):
    """What was measured beside the runs."""
    rows = []
    monkeypatch.setattr(crashes, "measured", lambda name, kind: rows)
    return rows


def test_a_point_counts_what_is_kept_and_what_is_violated():
    run = results(
        ("a", "crash", Verdict.HOLDS, ["offsets", "sink"]),
        ("b", "crash", Verdict.HOLDS, ["sink"]),
        ("c", "crash+restart", Verdict.VIOLATED, ["sink"]),
        ("d", "restart", Verdict.VIOLATED, ["commit"]),
        ("e", "as drawn", Verdict.VIOLATED, []),
        ("e", "crash", Verdict.VIOLATED, ["sink"]),
    )
    [line] = lines(Grid([run]))
    points = dict(zip(POINTS, line.points, strict=True))
    assert (points["offsets"], points["sink"]) == ((1, 0), (2, 1))
    assert points["commit"] is None, "nothing was killed"
    assert line.store == "RocksStore"
    assert "✗ 1 ✓ 2" in html.render([run])


def test_without_a_kill_there_is_no_table():
    run = results(("a", "restart", Verdict.HOLDS, []))
    assert lines(Grid([run])) == []
    assert 'id="crashes"' not in html.render([run])


def test_a_violation_counts_at_the_points_of_its_witness():
    """The cases of its cell were killed at others, too."""
    run = results(("a", "crash", Verdict.VIOLATED, ["offsets", "sink", "commit"]))
    steps = [Advance(0, 10), Crash(0, "offsets"), Crash(0, "sink"), Deliver(0), Advance(0, 90)]
    case = Case("s", "p", renumbered(steps), "crash", "base")
    witness = Witness("a", "a", case, None, "toy", {}, "", Trace(()), Trace(()))
    run = replace(run, cells=[replace(cell, witness=witness.id) for cell in run.cells], witnesses={witness.id: witness})
    [line] = lines(Grid([run]))
    violated = [name for name, point in zip(POINTS, line.points, strict=True) if point and point[1]]
    assert violated == ["offsets", "sink", "twice"]


def test_a_point_where_nothing_was_being_written_is_none():
    run = results(("a", "crash", Verdict.HOLDS, ["commit", "maintenance"]))
    note = "killed: maintenance: no snapshot was being written"
    run = replace(run, cells=[replace(cell, notes=(note,)) for cell in run.cells])
    [line] = lines(Grid([run]))
    assert [name for name, point in zip(POINTS, line.points, strict=True) if point] == ["commit"]


def test_what_was_measured_of_other_stores_stands_beside_the_run(known):
    known += [
        Killed("toy", "memory", "1.1", {"sink": 3}, {"commit": 1}, {"s/g": "a count twice"}),
        Killed("another", "memory", "1.1", {"sink": 3}),
        Killed("toy", "disk", "1.1", failure="no answer"),
    ]
    run = results(("a", "crash", Verdict.HOLDS, ["sink"]))
    assert [(line.label, line.store) for line in lines(Grid([run]))] == [
        ("", "RocksStore"),
        ("measured in 1.1", "memory"),
    ]
    page = html.render([run])
    assert "toy on memory: s/g: a count twice" in page
