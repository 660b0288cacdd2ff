"""What a query on Spark reports of its state, beside what a reader of the state finds."""

from __future__ import annotations

import pytest

pytest.importorskip("pyspark")

from conformance.engines.spark.checkpoint.stored import LATEST, StoredRow, emissions
from conformance.engines.spark.driving import micro_batches
from conformance.model.case import Case
from conformance.model.feature import Feature
from conformance.model.runs import Pack
from conformance.model.schedule import Advance, Deliver, Event, renumbered
from conformance.plugins.registry import load_engine
from conformance.scenarios.state.bounded_state import SCENARIO

TIMELINE = renumbered([Advance(0, 10_000), Deliver(0), Advance(0, 20_000)])
CASES = [
    Case("bounded-state", program, TIMELINE.with_bundles({1: [Event("e1", "a", 1, 11_000)]}))
    for program in ("counted-ids", "dedup", "remembered")
]
COUNTED, READ, REMEMBERED = (case.id for case in CASES)
PROGRAMS = {f"bounded-state/{name}": program for name, program in SCENARIO.programs.items()}

HELD = [StoredRow(COUNTED, "a", ()), StoredRow(REMEMBERED, "a", (("first", "e1"),)), StoredRow("", "", ())]
"""After the bundle: two keys and a heartbeat."""

LEFT = HELD[1:]
"""In the end the id of the program that counts is forgotten."""


def told(after_the_bundle, in_the_end):
    batches = micro_batches.plan(TIMELINE.steps, 1)
    last = max(number for number, batch in enumerate(batches) if batch.bundle)
    progress = [
        {"batchId": n, "stateOperators": [{"numRowsTotal": after_the_bundle if n == last else in_the_end}]}
        for n, _ in enumerate(batches)
    ]
    out = {case.id: [] for case in CASES}
    for case, emission in emissions(
        Pack(tuple(CASES)), PROGRAMS, batches, progress, {last: HELD, LATEST: LEFT}.__getitem__
    ):
        out[case].append(emission)
    return out


def test_what_is_stored_comes_out_in_the_last_step_and_counts_after_the_last_bundle_and_in_the_end():
    out = told(3, 2)
    assert [(e.key, e.value, e.step) for e in out[COUNTED]] == [("", {"surplus": 0}, 1), ("", {"surplus": 0}, 2)]
    assert out[READ] == []
    assert [(e.key, e.value, e.step) for e in out[REMEMBERED]] == [("a", {"cell": "first", "stored": "e1"}, 2)]


@pytest.mark.parametrize(("reports", "surplus"), [((4, 2), [1, 0]), ((3, 3), [0, 1]), ((0, 0), [-3, -2])])
def test_another_number_than_a_reader_finds_is_told(reports, surplus):
    assert [e.value["surplus"] for e in told(*reports)[COUNTED]] == surplus


@pytest.mark.parametrize("engine", ["spark-fmgws-jvm", "spark-fmgws-pandas", "spark-native:window"])
def test_releases_without_a_state_data_source_are_not_asked(engine):
    from packaging.version import Version

    loaded = load_engine(engine)
    plans = {}
    for version, how in (("3.5.9", "unsupported"), ("4.0.0", "native")):
        loaded.date([Version(version)])
        features = loaded.capabilities.features
        assert {features[asked].how for asked in (Feature.INSPECTION, Feature.ROW_COUNT)} == {how}
        plans[version] = {plan.id for plan in loaded.capabilities.plans}
    assert plans["4.0.0"] - plans["3.5.9"] >= {"union-false"}
    assert not plans["3.5.9"] - plans["4.0.0"]
