"""The history of guarantees over releases: what holds since when, what is broken since when, which releases are
alike."""

from pathlib import Path

import pytest

from conformance.comparison.history import history, sources
from conformance.judgement.cell import Verdict
from conformance.reports.site.places import place, since
from conformance.results.baseline import Baseline, Standing, UnreadableBaseline

HOLDS, UNSUPPORTED = Standing(Verdict.HOLDS, 9), Standing(Verdict.UNSUPPORTED)


def broken(way, witness="45bff12a76ef"):
    return Standing(Verdict.VIOLATED, 9, witness, way, 1)


def measured(number, cases="c", engine="e", **standings):
    """A baseline of one engine in one release: guarantee -> its standing as drawn."""
    cells = {(engine, "s", guarantee, "as drawn"): standing for guarantee, standing in standings.items()}
    return Baseline("0.1.0", cases, {engine: {"toy": number}, "reference": {"python": "3.11"}}, cells)


def told(*baselines):
    return history({Path(f"{n}.jsonl"): baseline for n, baseline in enumerate(baselines)})


def test_since_when_a_guarantee_stands_as_it_does():
    found = told(
        measured("1.10", g=HOLDS, h=broken("x"), k=HOLDS),
        measured("1.9", g=broken("x"), h=broken("x"), k=HOLDS),
        measured("1.2", g=HOLDS, h=broken("x"), k=UNSUPPORTED),
    )
    words = {guarantee: since(course) for (_, _, guarantee), course in found.courses.items()}
    assert words == {
        "g": "holds since 1.10 (broken in 1.9)",
        "h": "broken since 1.2 or earlier",
        "k": "holds since 1.9 (unsupported in 1.2)",
    }
    assert [point.version for point in found.courses["e", "s", "g"].points] == ["1.2", "1.9", "1.10"]
    assert {number: dict(counts) for number, counts in found.scores("e").items()}["1.9"] == {
        Verdict.VIOLATED: 2,
        Verdict.HOLDS: 1,
    }


def test_releases_with_the_same_results_are_one_stage():
    """The same way to fail, and the same verdicts."""
    found = told(
        measured("1.0", g=HOLDS, h=broken("in 0 sessions")),
        measured("1.1", g=HOLDS, h=broken("in 0 sessions")),
        measured("1.2", g=HOLDS, h=broken("in 1 sessions")),
        measured("2.0", g=broken("x"), h=HOLDS),
    )
    stages = found.stages["toy"]
    assert [stage.name for stage in stages] == ["1.0 to 1.1", "1.2", "2.0"]
    assert [[len(s.broken), len(s.mended), len(s.otherwise)] for s in stages] == [[0, 0, 0], [0, 0, 1], [1, 1, 0]]
    assert found.stages.keys() == {"toy"}  # the reference has no releases


def test_an_engine_that_a_release_lacks_is_told_once():
    found = told(measured("1.0", g=UNSUPPORTED), measured("2.0", g=HOLDS), measured("3.0", g=UNSUPPORTED))
    stages = found.stages["toy"]
    assert [(stage.added, stage.gone, stage.turns) for stage in stages] == [
        ((), (), ()),
        (("e",), (), ()),
        ((), ("e",), ()),
    ]


def test_a_newer_measurement_of_a_release_replaces_an_older_one():
    """Also where an engine is named with its release, as in results of several."""
    found = told(measured("1.0", g=HOLDS), measured("1.0", cases="d", engine="e@1.0", g=broken("x")))
    (course,) = found.courses.values()
    assert [point.verdict for point in course.points] == [Verdict.VIOLATED]
    assert found.releases("toy")[0].cases == ("d",)


def test_a_version_without_an_order_is_one_line():
    with pytest.raises(
        UnreadableBaseline, match=r"0\.jsonl: e has the version 'latest', which has no place in an order"
    ):
        told(measured("latest", g=HOLDS))


def test_folders_and_files_are_read(tmp_path):
    measured("1.0", g=HOLDS).write(tmp_path / "toy-1.0.jsonl")
    (tmp_path / "confirmations.jsonl").write_text("of witnesses")
    assert list(sources([tmp_path])) == [tmp_path / "toy-1.0.jsonl"] == list(sources([tmp_path / "toy-1.0.jsonl"]))
    (tmp_path / "empty").mkdir()
    with pytest.raises(UnreadableBaseline, match="empty has no baseline"):
        sources([tmp_path / "empty"])


@pytest.mark.parametrize("name", ["../../etc", "..", "a/b", "a:b", "a b?c#d"])
def test_an_id_is_one_part_of_an_address(name):
    assert not set(place(name)) & set("/:?# ")
    assert place(name) not in (".", "..")
