"""The table of crash points: only cases that were killed at a point speak of it."""

from conformance.judgement.cell import MatrixCell, Verdict
from conformance.reports.grid import Grid
from conformance.reports.page import html
from conformance.reports.page.crashes import POINTS, Killed, lines
from conformance.results.record import EngineRecord, GuaranteeRecord, RunRecord, ScenarioRecord
from conformance.results.results import Results


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
    points = dict(zip([name for name, _ in POINTS], line.points, strict=True))
    assert (points["offsets"], points["sink"]) == (Killed(1, 0), Killed(2, 1))
    assert points["commit"] is None, "nothing was killed"
    assert line.settings == "RocksStore"
    assert "✗ 1 ✓ 2" in html.render([run])


def test_without_a_kill_there_is_no_table():
    run = results(("a", "restart", Verdict.HOLDS, []))
    assert lines(Grid([run])) == []
    assert 'id="crashes"' not in html.render([run])
