"""Kinds of step: each knows its needs, its words, its file and its place, and the rest of the harness asks it."""

import re
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path

import pytest

from conformance.judgement.coverage import CIRCUMSTANCES, coverage
from conformance.model.case import Case
from conformance.model.engine import Capabilities, NotDriven, schedule_needs
from conformance.model.feature import NATIVE, Feature, unsupported
from conformance.model.lateness import Lateness, LatenessProfile
from conformance.model.program import Program
from conformance.model.runs import Pack
from conformance.model.schedule import Schedule, renumbered
from conformance.model.steps import (
    Advance,
    Crash,
    Deliver,
    Event,
    FailOnce,
    InvalidSchedule,
    NoData,
    Partitions,
    Plan,
    Restart,
    SinkFails,
    Step,
    Wait,
)
from conformance.model.trace import Trace
from conformance.plugins.registry import load_engine
from conformance.reports.page.picture import Panel, inline
from conformance.reports.words import timeline
from conformance.testing.trials import TRIALS

GUIDE = Path(__file__).parents[3] / "docs" / "write-an-adapter.md"
EVENT = Event("e1", "a", None, 1_500)

STORED = [
    (Advance(4, 2_000), {"advance": 2_000, "id": 4}, set(), "watermark moves to +1000"),
    (
        Advance(4, 900, coalesced=True),
        {"advance": 900, "id": 4, "coalesced": True},
        {Feature.COALESCED},
        "watermark moves to -100 (the next bundle comes before the engine settles)",
    ),
    (Deliver(4, (EVENT,)), {"deliver": [["e1", "a", None, 1_500]], "id": 4}, set(), "bundle of 1"),
    (
        Deliver(4, initial=True),
        {"deliver": [], "id": 4, "initial": True},
        {Feature.INITIAL_STATE},
        "initial state of 0",
    ),
    (Restart(4), {"restart": True, "id": 4}, {Feature.RESTART}, "the job stops and resumes from its checkpoint"),
    (NoData(4), {"no_data": True, "id": 4}, {Feature.NO_DATA}, "bundle without any element"),
    (
        FailOnce(4),
        {"fail_once": "retry", "id": 4},
        {Feature.RETRY},
        "the first attempt at the next bundle fails after state was written; it is retried",
    ),
    (
        FailOnce(4, resume=True),
        {"fail_once": "resume", "id": 4},
        {Feature.RESUME},
        "the first attempt at the next bundle fails after state was written; the job resumes from its checkpoint",
    ),
    (Plan(4, "empty-union"), {"plan": "empty-union", "id": 4}, set(), "the job runs the query empty-union"),
    (
        SinkFails(4),
        {"sink_fails": True, "id": 4},
        {Feature.SINK_FAILURE},
        "the sink fails once it has the output of the next bundle; the job resumes from its checkpoint",
    ),
    (
        Crash(4, "state"),
        {"crash": "state", "id": 4},
        {Feature.CRASH},
        "the job is killed in the next bundle when all partitions have stored their state; another one goes on from "
        "what is written",
    ),
    (Partitions(4, 3), {"partitions": 3, "id": 4}, {Feature.PARTITIONS}, "the job starts with 3 partitions"),
    (Wait(4, 8_000), {"wait": 8_000, "id": 4}, {Feature.PROCESSING_TIME}, "8000 ms of processing time pass"),
]
"""(step, how files have it, what it needs, how it is told from a first watermark at 1000)"""


@pytest.mark.parametrize(("step", "stored", "needs", "told"), STORED, ids=[repr(row[0]) for row in STORED])
def test_a_step_says_how_it_is_stored_and_told_and_what_it_needs(step, stored, needs, told):
    """Files of earlier versions are read: the keys and their order stay."""
    assert list(step.to_json().items()) == list(stored.items())
    assert Step.from_json(stored) == step
    assert step.needs == needs
    assert step.told(1_000) == told


def test_every_kind_of_step_is_spoken_of():
    """Here, and among the circumstances that coverage shows in order."""
    assert {type(step) for step, *_ in STORED} == set(Step.kinds.values())
    assert {step.circumstance for step, *_ in STORED} - {""} <= set(CIRCUMSTANCES)


def test_the_adapter_kit_tries_every_kind_of_step():
    """And every feature that a step needs."""
    tried = [step for trial in TRIALS for case in trial.cases.values() for step in case.schedule.steps]
    assert {type(step) for step in tried} == set(Step.kinds.values())
    assert {feature for step in tried for feature in step.needs} == set().union(*(needs for _, _, needs, _ in STORED))


def test_the_guide_for_adapters_has_every_kind_of_step_and_what_it_needs():
    lines = iter(GUIDE.read_text(encoding="utf-8").splitlines())
    next(line for line in lines if line.startswith("| step |"))
    rows = list(takewhile(lambda line: line.startswith("|"), lines))[1:]
    named = [re.match(r"\| `(\w+)`(?:, `\w+`)? \| .+ \| `(\w+)`", row).groups() for row in rows]
    assert {name for name, _ in named} == {kind.__name__ for kind in Step.kinds.values()}
    needed = {(type(step).__name__, feature.name) for step, _, needs, _ in STORED for feature in needs}
    assert needed <= set(named)


@pytest.fixture
def pause(monkeypatch):
    """A kind of step that an adapter of today has not heard of."""
    monkeypatch.setattr(Step, "kinds", dict(Step.kinds))

    @dataclass(frozen=True, slots=True)
    class Pause(Step):
        key = "pause"

        ms: int

        needs = frozenset({Feature.INSPECTION})
        label = "pause"
        circumstance = "paused"

        def told(self, origin):
            return f"nothing happens for {self.ms} ms"

        def validate(self, place):
            if self.ms < 0:
                raise self.refused("nothing lasts for less than no time")

        def to_json(self):
            return {"pause": self.ms, "id": self.id}

        @classmethod
        def read(cls, data):
            return cls(data["id"], data["pause"])

    return Pause


def test_a_new_kind_of_step_needs_no_other_edit(pause):
    """It is stored, validated, told, drawn and counted; and an engine that lacks what it needs is not given it."""
    schedule = renumbered([Advance(0, 1_000), pause(0, 7), Deliver(0, (EVENT,)), Advance(0, 5_000)])
    assert Schedule.from_json(schedule.to_json()) == schedule
    assert Schedule.from_json(schedule.to_json()).steps[1] == pause(1, 7)
    with pytest.raises(InvalidSchedule, match="step 1: nothing lasts"):
        renumbered([Advance(0, 1_000), pause(0, -1), Advance(0, 5_000)])
    assert "step 1: nothing happens for 7 ms" in list(timeline(schedule, Trace(())))
    assert ">pause<" in inline(Panel("a run", schedule, Trace(())))
    case = Case("s", "p", schedule)
    assert "paused" in coverage(Program(), case)
    assert schedule_needs(schedule) == {Feature.INSPECTION}
    able = Capabilities(dict.fromkeys(Feature, NATIVE), LatenessProfile(Lateness.NEVER, Lateness.NEVER))
    assert able.takes(case, Program())
    lacking = {**able.features, Feature.INSPECTION: unsupported("it cannot")}
    assert not Capabilities(lacking, able.lateness).takes(case, Program())


def test_the_reference_does_not_pass_over_a_kind_of_step_that_it_does_not_know(pause):
    schedule = renumbered([Advance(0, 1_000), pause(0, 7), Advance(0, 5_000)])
    with pytest.raises(NotDriven, match=r"nothing for .*Pause"):
        load_engine("reference").run(Pack((Case("s", "p", schedule),)), {"s/p": Program()})


@pytest.mark.parametrize("key", ["", "advance"])
def test_two_kinds_of_step_are_not_stored_alike(key):
    """A file says by its key which kind a step is."""
    with pytest.raises(TypeError, match="needs a key"):
        type("Other", (Step,), {"key": key})
    assert Step.kinds["advance"] is Advance
