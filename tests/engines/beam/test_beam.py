"""The Beam engines on the real runners."""

import itertools
import re
from collections import Counter
from types import SimpleNamespace

import pytest
from common import (
    CALLS,
    COUNTED,
    FAILS,
    PROGRAMS,
    STATE,
    TIMERS,
    T,
    beside,
    calls_case,
    drawn,
    failing_and_idle,
    run,
    smallest_run,
    specified,
    with_steps,
)

from conformance.confirmation.replay import STILL_FAILS, replay
from conformance.model.case import Case, program_ref
from conformance.model.engine import NotDriven
from conformance.model.feature import Feature
from conformance.model.program import GlobalWindow, Output
from conformance.model.runs import Pack
from conformance.model.schedule import Advance, Deliver, Event, FailOnce, Schedule
from conformance.model.trace import DRAIN
from conformance.plugins.registry import load_scenarios
from conformance.reports.text.claims import claim_lines
from conformance.results.catalogue import opposed
from conformance.results.claims import all_decisions
from conformance.results.store import write_cases
from conformance.run.run import Options, Run

pytestmark = pytest.mark.engine


@pytest.fixture(params=["beam", "fnapi", "prism", "auto"])
def any_beam(request):
    return request.getfixturevalue(request.param)


@pytest.fixture(params=["beam", "prism"])
def streaming(request):
    return request.getfixturevalue(request.param)


@pytest.fixture(params=["fnapi", "auto"])
def bounded(request):
    return request.getfixturevalue(request.param)


def test_state_calls_do_what_the_reference_does(any_beam):
    """Every kind of cell."""
    cases = [calls_case([[("a", calls) for calls in (*STATE, *STATE)] + [("b", STATE[0])]])]
    assert run(any_beam, cases, CALLS) == specified(any_beam, cases, CALLS)


def test_state_lives_over_bundles(streaming):
    cases = [calls_case([[("a", calls) for calls in STATE], [("b", STATE[0])], [("a", calls) for calls in STATE]])]
    assert run(streaming, cases, CALLS) == specified(streaming, cases, CALLS)


def test_timers_fire_with_their_names(any_beam):
    """Two of one instant, one that was moved, one that was cleared, one that was never set."""
    cases = [calls_case([[("a", calls) for calls in TIMERS] + [("b", TIMERS[0])]])]
    trace, wanted = run(any_beam, cases, CALLS)[cases[0].id], specified(any_beam, cases, CALLS)[cases[0].id]

    def unordered(found):
        return sorted((e.key, e.step, str(e.value)) for e in found.emissions)

    assert unordered(trace) == unordered(wanted)


def test_an_output_has_the_time_that_the_runner_gave_it(any_beam):
    """That of its element, and of its timer."""
    events = (Event("e1", "a", "once", T + 1), Event("e2", "b", "two", T + 7))
    case = Case("output-times", "timers", Schedule((Advance(0, T), Deliver(1, events), Advance(2, T + 50_000))))
    emissions = run(any_beam, [case])[case.id].emissions
    assert {(e.key, e.value.get("timer"), e.event_time) for e in emissions} == {
        ("a", None, T + 1),
        ("a", "alarm", T + 10_001),
        ("b", None, T + 7),
        ("b", "alarm", T + 10_007),
        ("b", "next", T + 12_007),
    }


def test_a_program_that_raises_stops_its_case_only(any_beam):
    bad, good = calls_case([[("a", calls) for calls in FAILS]]), calls_case([[("a", FAILS[0])]])
    traces = run(any_beam, [bad, good], CALLS)
    assert traces[bad.id].error == "ValueError: no luck"
    assert traces == specified(any_beam, [bad, good], CALLS)


def test_an_engine_failure_in_a_call_names_its_case(any_beam):
    case = calls_case([[("a", [["timers", "set", "one", "soon"]])]])
    with pytest.raises(Exception, match=re.escape(f"[case {case.id}]")):
        any_beam.run(Pack((case,)), CALLS)


def test_packed_and_alone_give_the_same_traces(any_beam):
    cases = [case for case in drawn(any_beam) if certain(any_beam, case)]
    few = cases[:: len(cases) // 3]
    # Each program has a pipeline of its own on plain DirectRunner, and each windowing on FnApiRunner: some programs are
    # enough there.
    several = any_beam.id in ("beam-direct", "beam-prism")
    packed = run(any_beam, beside(few, cases if several else [case for case in cases if case.scenario in FEW]))
    for case in few:
        alone = any_beam.run(Pack((case,)), PROGRAMS).traces[case.id]
        assert comparable(any_beam, alone) == comparable(any_beam, packed[case.id]), case.schedule.to_json()


FEW = {"late-data", "per-key-counting", "session-timeout", "typed-state", "value-state"}


def certain(engine, case):
    """Whether what comes out does not depend on how Prism (Beam 2.77.0, docs/findings.md) parts its bundles: on that, a
    window's state is there at its end, and an element that comes with others of its key is held back until a timer that
    they move has fired. Prism also tells keys by their bytes, and hands over two forms of one key in another order in
    each run; 0.0 found the state of -0.0 in some runs."""
    program = PROGRAMS[program_ref(case.scenario, case.program)]
    if engine.id not in ("beam-prism", "beam-auto"):
        return True
    names = {a.event.key for a in case.schedule.arrivals} & set(program.keys)
    if any(_two_forms(program.keys[one], program.keys[other]) for one, other in itertools.combinations(names, 2)):
        return False
    if not program.timers:
        return True
    together = Counter((a.event.key, a.step) for a in case.schedule.arrivals)
    return program.windowing == GlobalWindow() and all(number == 1 for number in together.values())


def _two_forms(one, other):
    return one.identity == other.identity or one.value == other.value


def comparable(engine, trace):
    """Prism fires timers of one instant in another order in each run (Beam 2.77.0, docs/findings.md)."""
    if engine.id in ("beam-direct", "beam-fnapi"):
        return trace
    return sorted((e.key, e.step, str(e.value), str(e.error)) for e in trace.emissions)


def test_a_timer_beyond_the_last_advance_is_drained_not_judged(streaming):
    case = calls_case([[("a", [["timers", "set", "one", T + 900_000]])]])
    trace = run(streaming, [case], CALLS)[case.id]
    assert [e.step for e in trace.emissions] == [DRAIN]
    assert trace.judged == ()


@pytest.mark.parametrize(
    ("sabotage", "says"),
    [
        (lambda timeline: [Advance(0, T + 1), *timeline[1:]], "at watermark"),
        (lambda timeline: [*timeline[:2], Advance(2, T + 3), *timeline[3:]], "at watermark"),
        (lambda timeline: timeline[:-1], "heartbeats"),
    ],
)
def test_a_schedule_that_was_not_driven_is_an_error(beam, monkeypatch, sabotage, says):
    """The proof uses the pack's timeline; the stream is made from a sabotaged one."""
    from conformance.engines.beam.runners import direct

    true = direct._stream

    class Sabotaged:
        def __init__(self, pack):
            self.timeline, self.bundle = sabotage(list(pack.timeline)), pack.bundle

    monkeypatch.setattr(direct, "_stream", lambda pack: true(Sabotaged(pack)))
    with pytest.raises(NotDriven, match=says):
        beam.run(Pack((COUNTED,)), PROGRAMS)


def test_a_lost_element_is_an_error(beam, monkeypatch):
    from conformance.engines.beam.runners import direct

    true = direct._stream

    class Sabotaged:
        def __init__(self, pack):
            self.timeline, self._pack = pack.timeline, pack

        def bundle(self, step):
            return list(self._pack.bundle(step))[1:]

    monkeypatch.setattr(direct, "_stream", lambda pack: true(Sabotaged(pack)))
    with pytest.raises(NotDriven, match="took in 1 elements, the schedule has 2"):
        beam.run(Pack((COUNTED,)), PROGRAMS)


def test_a_failed_attempt_leaves_nothing_and_touched_what_it_says(beam):
    failing, idle = failing_and_idle(FailOnce(0))
    result = beam.run(Pack((failing, idle)), PROGRAMS)
    assert result.traces == specified(beam, [failing, idle])
    assert result.untouched == {idle.id}


def test_a_failure_that_does_not_happen_is_an_error(beam, monkeypatch):
    from conformance.engines.beam.pipelines import dofn

    class FailedAlready(dict):
        def __contains__(self, attempt):
            return True

    monkeypatch.setattr(dofn.attempts, "failed", FailedAlready())
    with pytest.raises(NotDriven, match="was to fail"):
        beam.run(Pack((with_steps(FailOnce(0)),)), PROGRAMS)


def test_bounded_input_takes_one_bundle_only(bounded):
    with pytest.raises(NotDriven, match="cannot be driven on bounded input"):
        bounded.run(Pack((COUNTED,)), PROGRAMS)


def test_evidence_is_what_the_runner_answered(any_beam):
    evidence = any_beam.evidence()
    missing = {f for f, support in any_beam.capabilities.features.items() if support.how == "unsupported"}
    assert set(evidence) == missing
    if Feature.WATERMARK in missing:
        assert "teststream" in evidence[Feature.WATERMARK].lower()


def test_what_is_refused_is_told_by_the_class_of_the_error(any_beam):
    """The key's coder is asked for by what encodes keys: the bundle-based runner keeps the key itself (Beam 2.77.0)."""
    told = any_beam.answers()
    assert told.keys() <= any_beam.questions.keys()
    assert len(told) > 8
    assert told["process-returns-text"] == told["key-by-pickle"] == "refused: TypeError"
    assert told["stateful-without-key"] == told["group-without-end"] == "refused: ValueError"
    assert told["types-that-differ"] == "refused: TypeCheckError"
    assert told["stateful-in-sessions"] == told["windows-that-differ"] == "accepted"
    assert told["state-key-by-pickle"] == ("accepted" if any_beam.id == "beam-direct" else "refused: TypeError")
    assert told.get("ordered-list-state") == {"beam-direct": "refused: ValueError", "beam-fnapi": "accepted"}.get(
        any_beam.id
    )


def test_what_a_reshuffle_changes_beside_an_output_is_in_the_output(beam):
    from apache_beam.transforms.window import IntervalWindow
    from apache_beam.utils.timestamp import Timestamp
    from apache_beam.utils.windowed_value import PANE_INFO_UNKNOWN, PaneInfo, PaneInfoTiming

    from conformance.engines.beam.plans.metadata import Compared, Noted

    place, window = ("program", "case", "a", 1), IntervalWindow(0, 10)
    on_time = PaneInfo(True, True, PaneInfoTiming.ON_TIME, 0, 0)
    [noted] = Noted().process((*place, Output(1)), Timestamp(9), window, on_time)

    def behind(*now):
        [(*where, output)] = Compared().process(noted, *now)
        assert tuple(where) == place
        return output.value

    assert behind(Timestamp(9), window, on_time) == 1
    assert "its pane was" in behind(Timestamp(9), window, PANE_INFO_UNKNOWN)["changed"]
    assert behind(Timestamp(8), window, on_time)["changed"] == "its time was 9000, and is 8000"
    assert behind(Timestamp(9), IntervalWindow(0, 20), on_time)["changed"] == "its window end was 10000, and is 20000"


@pytest.mark.slow
def test_what_contradicts_a_claim_by_holding_comes_with_a_witness(beam, tmp_path):
    """The runner is said to shuffle elements: the smallest case in which it does not, run alone, and kept apart from
    all cells."""
    scenarios = tuple(load_scenarios(["index-assignment"]))
    row = "index-assignment", "indices-follow-arrival-order-within-a-bundle"
    assert row in opposed("beam-direct")
    few = tmp_path / "few.parquet"
    write_cases(few, smallest_run("index-assignment"))
    results = Run(Options(("reference", "beam-direct"), scenarios, tmp_path, cases_from=few)).execute()
    (witness,) = [w for w in results.witnesses.values() if w.guarantee == f"not-{row[1]}"]
    assert len(witness.case.schedule.arrivals) == 2
    assert [(c.engine, c.failed, c.runs) for c in witness.confirmations] == [("beam-direct", 3, 3)]
    assert not [cell for cell in results.cells if cell.guarantee not in {g.id for g in scenarios[0].guarantees}]
    (told,) = [decision for decision in all_decisions(results) if decision.claim.id == "beam-guide-shuffles"]
    assert f"conformance replay {witness.id}" in "\n".join(claim_lines(told))
    process = SimpleNamespace(run=lambda pack: beam.run(pack, PROGRAMS))
    assert replay(process, witness, scenarios, beam.capabilities).answer == STILL_FAILS
