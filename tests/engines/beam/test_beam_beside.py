"""A plan of Beam: another pipeline in the same process at the same time."""

from dataclasses import replace

import pytest
from common import COUNTED, PROGRAMS

from conformance.engines.beam.runners import beside
from conformance.model.runs import Pack
from conformance.model.schedule import Plan, renumbered

pytestmark = pytest.mark.engine

TWIN = replace(COUNTED, schedule=renumbered([Plan(0, "two-pipelines"), *COUNTED.schedule.steps]))


def counts(beam):
    return [e.value and e.value.get("count") for e in beam.run(Pack((TWIN,)), PROGRAMS).traces[TWIN.id].emissions]


def test_another_pipeline_runs_meanwhile_and_changes_nothing(beam, monkeypatch):
    built = []
    counting = beside._counting
    monkeypatch.setattr(beside, "_counting", lambda pipeline: built.append(counting(pipeline)))
    assert counts(beam) == [1, 2, 3]
    assert built


def test_an_error_of_the_other_pipeline_is_the_answer(beam, monkeypatch):
    def refused(pipeline):
        raise LookupError("no state here")

    monkeypatch.setattr(beside, "_counting", refused)
    (told,) = beam.run(Pack((TWIN,)), PROGRAMS).traces[TWIN.id].emissions
    assert told.error == "the pipeline failed: RuntimeError: the other pipeline: LookupError: no state here"
