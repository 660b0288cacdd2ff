"""A cell is called violated only when a failing case fails again alone, and is judged there."""

import pytest

from conformance.checking import Against, Unjudgeable
from conformance.engine import EngineInfo
from conformance.guarantees import Guarantee, programs_of
from conformance.model import Advance, Case, Deliver, Emission, Event, Pack, PackRun, Schedule, Trace
from conformance.registry import load_engine, load_scenarios
from conformance.runner import Alone, read_cases, write_cases

SCENARIO = next(s for s in load_scenarios() if s.id == "late-data")
PROGRAMS = programs_of([SCENARIO])
NEVER_DROPPED = next(g for g in SCENARIO.guarantees if g.id == "an-on-time-element-is-never-dropped")
REFERENCE = load_engine("reference")
INFO = EngineInfo("fake", "", REFERENCE.capabilities)
CASE = Case(
    "late-data",
    "global",
    Schedule(
        (
            Advance(0, 1_000),
            Deliver(1, (Event("e1", "a", None, 2_000),)),
            Deliver(2),
            Deliver(3, (Event("e2", "a", None, 2_000),)),
            Advance(4, 9_000),
        )
    ),
)


class Process:
    """An engine process that answers with what ``spoil`` makes of the reference's trace."""

    def __init__(self, spoil):
        self.spoil = spoil

    def run(self, pack: Pack) -> PackRun:
        (case,) = pack.cases
        (trace,) = REFERENCE.run(pack, PROGRAMS).traces.values()
        return PackRun({case.id: self.spoil(case, trace)})


def _confirm(spoil, guarantee=NEVER_DROPPED):
    return Alone(Process(spoil), PROGRAMS).witness(guarantee, Against(CASE, "failed in a pack"), INFO)


def test_what_fails_alone_is_a_witness_without_the_empty_bundles():
    witness = _confirm(lambda case, trace: Trace(trace.emissions[:-1]))
    assert "e2" in witness.message
    assert [step.id for step in witness.case.schedule.steps] == [0, 1, 3, 4]


def test_what_stands_alone_is_none():
    assert _confirm(lambda case, trace: trace) is None


def test_what_needs_the_empty_bundle_keeps_it():
    """An engine that loses what follows a bundle without rows."""

    def spoil(case, trace):
        empty = any(not bundle.events for bundle in case.schedule.bundles)
        return Trace(trace.emissions[:-1]) if empty else trace

    assert _confirm(spoil).case.schedule == CASE.schedule


def test_a_program_that_stops_alone_convicts_nobody():
    with pytest.raises(Unjudgeable, match="the program stopped: KeyError"):
        _confirm(lambda case, trace: Trace((Emission("a", None, 1, None, "KeyError: x"),)))


def test_a_predicate_that_fails_convicts_nobody():
    def broken(run):
        yield run.values("processed")[0]["no such field"]

    with pytest.raises(Unjudgeable, match="the predicate failed on this trace: KeyError"):
        _confirm(lambda case, trace: trace, Guarantee("broken", "global", broken))


def test_cases_with_odd_line_breaks_survive_their_file(tmp_path):
    """U+2028 and U+0085 are line breaks to some, and text to JSON."""
    schedule = Schedule((Advance(0, 1), Deliver(1, (Event("e1", "a", "\u2028 \u0085", 5),)), Advance(2, 9)))
    case = Case("late-data", "global", schedule)
    write_cases(tmp_path / "cases.jsonl", [case])
    assert read_cases(tmp_path / "cases.jsonl", [SCENARIO]) == [case]
