"""The processor of spark-tws on PySpark's TwsTester: driven exactly, and as it is."""

import pytest
from common import AROUND_THE_WATERMARK, COUNTED, PROGRAMS, beside, drawn, run, specified, with_steps

from conformance.model.case import Case
from conformance.model.engine import CannotRun, NotDriven
from conformance.model.program import EngineFault
from conformance.model.runs import Pack
from conformance.model.schedule import Advance, Deliver, Event, FailOnce, Restart, Schedule
from conformance.plugins.registry import load_engine
from conformance.testing import CALLS, STATE, T, calls_case, check_engine

pytestmark = pytest.mark.engine


@pytest.fixture
def tester():
    engine = load_engine("spark-tws-tester")
    try:
        engine.check()
    except CannotRun as missing:
        pytest.skip(str(missing))
    return engine


def chain_case(*watermarks):
    """An event at T + 1: its timer at 10 s clears that at 11 s and sets one at 12 s."""
    bundle = Deliver(1, (Event("e1", "a", None, T + 1),))
    advances = [Advance(number, watermark) for number, watermark in enumerate(watermarks, start=2)]
    return Case("event-time-timers", "chain", Schedule((Advance(0, T), bundle, *advances)))


def fired(engine, case):
    result = engine.run(Pack((case,)), PROGRAMS)
    return [(e.value["fired"], e.step) for e in result.traces[case.id].emissions], result.notes


def test_the_adapter_is_certified(tester):
    """What differs from the reference is the tester's: a timer set by a timer that is due already."""
    report = check_engine(tester)
    print(report)
    assert "lateness" in report.checked
    assert "a driven watermark" in report.checked
    unlike = [remark for remark in report.remarks if "in another order" not in remark]
    assert len(unlike) == 1
    assert unlike[0].startswith("a timer set by a timer")


def test_what_is_unsupported_is_what_the_tester_answered_for(tester):
    lacking = {feature for feature, support in tester.capabilities.features.items() if support.how == "unsupported"}
    found = tester.evidence()
    assert set(found) == lacking
    words = " ".join(found.values())
    assert "setWatermark(200) itself returned [Row(fired=150)]" in words
    assert "the state that was written before it stayed: (1,)" in words
    assert "of 2 rows, one of them late, test() returned [Row(value='on time')]" in words
    assert "checkpoint" not in words


def test_late_rows_are_dropped_and_counted_by_nobody(tester):
    result = tester.run(Pack((AROUND_THE_WATERMARK,)), PROGRAMS)
    assert [e.value["processed"] for e in result.traces[AROUND_THE_WATERMARK.id].emissions] == ["e1", "e8"]
    counts = [(c.step, c.delivered, c.received, c.reported_late) for c in result.counts]
    assert counts == [(1, 3, 1, None), (3, 2, 1, None)]


def test_counts_are_those_of_all_cases(tester):
    other = Case(COUNTED.scenario, COUNTED.program, COUNTED.schedule.with_bundles({1: [], 3: []}))
    assert other.schedule.timeline == COUNTED.schedule.timeline
    counts = tester.run(Pack((COUNTED, other)), PROGRAMS).counts
    assert [(c.step, c.delivered, c.received) for c in counts] == [(1, 2, 2), (3, 1, 1)]


def test_a_timer_that_a_timer_sets_fires_where_it_is_not_due_yet(tester):
    """And the one that it cleared fires all the same, as on the real operator."""
    case = chain_case(T + 11_500, T + 60_000)
    assert fired(tester, case) == ([("first", 2), ("cleared", 2), ("third", 3)], {})


def test_a_timer_that_is_due_already_is_refused_and_takes_the_whole_advance_with_it(tester):
    """The advance raises; in the next one the timer whose callback it was fires again, without its name."""
    timers, notes = fired(tester, chain_case(T + 60_000, T + 70_000))
    assert timers[0] == ("cleared", 3)
    assert {step for _, step in timers} == {3}
    (note,) = notes.values()
    assert "IllegalArgumentException: Cannot register timer" in note
    assert "not later than the current watermark" in note


def test_a_refusal_touches_no_other_case(tester):
    refused, other = chain_case(T + 60_000), Case("per-key-counting", "count", chain_case(T + 60_000).schedule)
    traces = tester.run(Pack((refused, other)), PROGRAMS).traces
    assert traces[refused.id].emissions == ()
    assert traces[other.id] == specified(tester, [other])[other.id]


def test_what_is_no_refusal_is_the_engines_fault(tester):
    case = calls_case([[("a", [["timers", "set", "one", "soon"]])]])
    with pytest.raises(EngineFault, match=rf"\[case {case.id}\] registerTimer: TypeError"):
        tester.run(Pack((case,)), CALLS)


def test_state_lives_over_bundles(tester):
    cases = [calls_case([[("a", calls) for calls in STATE], [("b", STATE[0])], [("a", calls) for calls in STATE]])]
    assert run(tester, cases, CALLS) == specified(tester, cases, CALLS)


def test_packed_and_alone_give_the_same_traces(tester):
    cases = drawn(tester)
    few = cases[:: len(cases) // 8]
    packed = run(tester, beside(few, cases))
    for case in few:
        assert tester.run(Pack((case,)), PROGRAMS).traces[case.id] == packed[case.id], case.schedule.to_json()


@pytest.mark.parametrize("shift", [-1, 1])
def test_a_watermark_off_by_one_is_an_error(tester, monkeypatch, shift):
    from pyspark.sql.streaming.tws_tester import TwsTester

    true = TwsTester.setWatermark
    monkeypatch.setattr(TwsTester, "setWatermark", lambda self, watermark: true(self, watermark + shift))
    with pytest.raises(NotDriven, match=f"at watermark {T + shift}, not {T}"):
        tester.run(Pack((COUNTED,)), PROGRAMS)


@pytest.mark.parametrize("sabotage", [lambda rows: rows[1:], lambda rows: [*rows, *rows]])
def test_a_lost_or_doubled_row_is_an_error(tester, monkeypatch, sabotage):
    from pyspark.sql.streaming.tws_tester import TwsTester

    true = TwsTester.test
    monkeypatch.setattr(TwsTester, "test", lambda self, key, rows: true(self, key, sabotage(rows)))
    with pytest.raises(NotDriven, match="the tester looked at"):
        tester.run(Pack((COUNTED,)), PROGRAMS)


def test_output_that_comes_out_again_in_a_later_step_does_so_in_the_trace(tester, monkeypatch):
    from pyspark.sql.streaming.tws_tester import TwsTester

    true, kept = TwsTester.test, []

    def sabotage(self, key, rows):
        kept.extend(true(self, key, rows))
        return kept

    monkeypatch.setattr(TwsTester, "test", sabotage)
    (trace,) = tester.run(Pack((COUNTED,)), PROGRAMS).traces.values()
    (true_trace,) = specified(tester, [COUNTED]).values()
    assert len(trace.emissions) > len(true_trace.emissions)
    assert {e.step for e in trace.emissions if e.value == true_trace.emissions[0].value} == {1, 3}


@pytest.mark.parametrize("step", [Restart(0), FailOnce(0)])
def test_a_step_that_it_has_nothing_for_is_an_error(tester, step):
    with pytest.raises(NotDriven, match=f"TwsTester has nothing for {type(step).__name__}"):
        tester.run(Pack((with_steps(step),)), PROGRAMS)


def test_a_pyspark_without_the_tester_lacks_it(tester, monkeypatch):
    """That makes its cells unsupported; without any PySpark it cannot run."""
    from importlib.machinery import ModuleSpec

    from conformance.engines.spark.tester import engine as tws_tester

    assert tester.lacks() == ""
    old = ModuleSpec("pyspark", None, is_package=True)
    monkeypatch.setattr(tws_tester, "find_spec", lambda name: None if name.endswith("tws_tester") else old)
    tester.check()
    assert tester.lacks() == "PySpark before 4.2 has no TwsTester"
    monkeypatch.setattr(tws_tester, "find_spec", lambda name: None)
    with pytest.raises(CannotRun, match="PySpark is not installed"):
        tester.check()
