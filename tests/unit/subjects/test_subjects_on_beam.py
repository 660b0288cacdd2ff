# ruff: noqa: B008, E402
"""Users' pipelines on Beam, without a run: what is read of a pipeline, how values are told, and the script."""

import ast
import threading
from pathlib import Path

import pytest

beam = pytest.importorskip("apache_beam")

from apache_beam.transforms import trigger
from apache_beam.transforms.deduplicate import DeduplicatePerKey
from apache_beam.transforms.timeutil import TimeDomain
from apache_beam.transforms.userstate import TimerSpec, on_timer
from apache_beam.transforms.window import FixedWindows, GlobalWindow, GlobalWindows, IntervalWindow, TimestampedValue
from apache_beam.utils.timestamp import MAX_TIMESTAMP, Duration, Timestamp

from conformance import subject
from conformance.engines.beam.runners import prism_binary
from conformance.engines.beam.subjects.driver import QUESTIONS, BeamSubjects
from conformance.engines.beam.subjects.late import STATE, UNGROUPED, UNKNOWN
from conformance.engines.beam.subjects.looking import cause, lacking
from conformance.engines.beam.subjects.script import PRISM
from conformance.engines.beam.subjects.sink import columns, output_key, value_told
from conformance.engines.beam.subjects.waiting import ended
from conformance.model.engine import CannotRun
from conformance.subjects.answers import Ran, shown
from conformance.subjects.questions import NotAsked, Pair, Run, Seen
from conformance.subjects.rows import START, Row
from conformance.subjects.schema import InvalidSubject
from conformance.subjects.setup import Setup

PLAYS = {"schema": "team string, points int NOT NULL, at timestamp", "key": "team", "time": "at", "delay": "1 minute"}


class Waiting(beam.DoFn):
    LATER = TimerSpec("later", TimeDomain.REAL_TIME)

    def process(self, pair, later=beam.DoFn.TimerParam(LATER)):
        later.set(Timestamp.now() + 1)

    @on_timer(LATER)
    def fired(self):
        yield 1


class Opaque:
    pass


def looked(function, **more):
    return BeamSubjects().look(subject(**{**PLAYS, **more})(function))


def pairs(plays):
    return plays | beam.Map(lambda play: (play["team"], play["points"])).with_output_types(tuple[str, int])


def test_beams_own_values_are_told_by_what_is_in_them():
    at, end = Timestamp(START // 1_000), Timestamp(START // 1_000 + 60)
    assert value_told(at) == {"$timestamp": START * 1_000}
    assert shown(value_told(IntervalWindow(at, end))) == (
        "{start: 2020-03-01T00:00:00.000Z, end: 2020-03-01T00:01:00.000Z}"
    )
    assert value_told([TimestampedValue(("a", 1), at)]) == [{"value": ["a", 1], "time": value_told(at)}]
    assert value_told({"w": GlobalWindow(), "d": Duration(90)}) == {"w": "GlobalWindow", "d": "0:01:30"}
    assert value_told({at}) == [value_told(at)]
    assert value_told(each for each in (1, 2)) == [1, 2]
    assert isinstance(value_told(MAX_TIMESTAMP), str)


def test_a_value_that_only_its_address_tells_from_another_is_refused_in_one_line():
    with pytest.raises(InvalidSubject, match=r"\A[^\n]*value of Opaque, [^\n]*put out what is in it[^\n]*\Z"):
        value_told({"a": [Opaque()]})


def test_an_answer_in_update_mode_is_told_by_its_output_its_key_and_its_window():
    assert output_key(subject(**PLAYS)(pairs)) == ("output", "team", "window")
    assert output_key(subject(**{**PLAYS, "key": None})(pairs)) == ("output", "key", "window")
    assert columns(("a", 1), "key") == {"key": "a", "value": 1}


def test_timers_in_processing_time_are_found_and_not_those_that_nobody_sets():
    by_the_clock = looked(lambda plays: pairs(plays) | beam.ParDo(Waiting()), windowing=FixedWindows(60))
    assert by_the_clock.refused == dict.fromkeys(
        ("bounded", "fnapi", "prism"), "its timers or triggers go by the clock"
    )
    assert looked(lambda plays: pairs(plays) | beam.GroupIntoBatches(3, max_buffering_duration_secs=5)).refused
    for never_set in (beam.GroupIntoBatches(3), DeduplicatePerKey(event_time_duration=600)):
        assert not looked(lambda plays, last=never_set: pairs(plays) | last, windowing=FixedWindows(60)).refused


def test_a_pipeline_takes_its_rows_as_an_argument():
    with pytest.raises(InvalidSubject, match="nothing of its output comes from its input"):
        looked(lambda plays: plays.pipeline | beam.Create(["a"]))
    with pytest.raises(InvalidSubject, match="apply it to the argument"):
        looked(lambda plays: beam.Map(str))

    def beside(plays):
        names = plays.pipeline | beam.Create(["a"])
        return names | "with" >> beam.Map(lambda name, all_: (name, len(all_)), beam.pvalue.AsList(plays))

    looked(beside)


def test_windows_that_cannot_be_made_get_one_line():
    class NoCoder(FixedWindows):
        def get_window_coder(self):
            raise ImportError("no such coder")

    with pytest.raises(InvalidSubject, match=r"cannot be put into windowing: ImportError: no such coder \(test_\S+, l"):
        looked(pairs, windowing=NoCoder(60))


def test_triggers_in_processing_time_are_found():
    def early(first):
        fired = trigger.AfterWatermark(early=trigger.AfterAny(trigger.AfterCount(9), first))
        return beam.WindowInto(FixedWindows(60), trigger=fired, accumulation_mode=trigger.AccumulationMode.DISCARDING)

    by_the_clock = looked(
        lambda plays: pairs(plays) | beam.GroupByKey(), windowing=early(trigger.AfterProcessingTime(3))
    )
    assert {*by_the_clock.refused} == {"bounded", "fnapi", "prism"}
    assert by_the_clock.durations == (60_000,)
    assert not looked(lambda plays: pairs(plays) | beam.GroupByKey(), windowing=early(trigger.AfterCount(3))).refused


def test_a_side_input_in_windows_is_not_asked_about_empty_bundles():
    def beside(plays):
        return plays | "x" >> beam.Map(lambda play, all_: (play["team"], len(all_)), beam.pvalue.AsList(plays))

    assert [*looked(beside, windowing=FixedWindows(60)).refused] == ["empty", "plan", "late"]
    assert [*looked(beside).refused] == ["late"]


def test_late_rows_are_asked_about_where_each_is_dropped_once_its_window_has_expired():
    def late(function, **more):
        return looked(function, **more).refused.get("late", "")

    def counted(plays):
        return pairs(plays) | beam.combiners.Count.PerKey()

    def shuffled(plays):
        return counted(plays | beam.Reshuffle())

    def in_all_time(plays):
        anew = trigger.Repeatedly(trigger.AfterCount(1))
        accumulating = trigger.AccumulationMode.ACCUMULATING
        return plays | beam.WindowInto(GlobalWindows(), trigger=anew, accumulation_mode=accumulating)

    windows = FixedWindows(60)
    for function in (counted, shuffled, lambda plays: in_all_time(counted(plays)) | beam.GroupByKey()):
        assert not late(function, windowing=windows)
    assert late(pairs, windowing=windows) == UNGROUPED
    assert late(lambda plays: {"all": plays, "n": counted(plays)}, windowing=windows) == UNGROUPED
    assert late(lambda plays: counted(in_all_time(plays))) == "nothing tells when its GlobalWindows expire"
    assert late(lambda plays: pairs(plays) | beam.GroupIntoBatches(3)) == "nothing tells when its GlobalWindows expire"
    assert looked(counted, windowing=beam.WindowInto(windows, allowed_lateness=7)).durations == (7_000, 60_000)


def test_what_late_rows_change_is_said_with_what_is_known_of_the_runner():
    [late] = [question for question in QUESTIONS if question.id == "late"]
    pair, row = Pair(Run(()), Run(())), {"team": "a"}
    plain = Seen((), Ran())
    assert late.judge(pair, plain, Seen((), Ran(dropped=1))) == ""
    assert late.judge(pair, plain, Seen((row,), Ran(dropped=1))) == 'team="a" is new'
    assert late.judge(pair, plain, Seen((row,), Ran(dropped=1, stateful=True))) == 'team="a" is new' + STATE
    with pytest.raises(NotAsked, match=UNKNOWN):
        late.judge(pair, plain, Seen((row,), Ran(dropped=0)))


def test_several_outputs_of_a_dofn_are_taken_as_they_are():
    for more in ({}, {"main": "good"}):
        facts = looked(lambda plays, more=more: pairs(plays) | beam.Map(lambda pair: pair).with_outputs("bad", **more))
        assert facts.columns is None


def test_an_exception_of_the_function_is_told_with_its_line():
    def raising(plays):
        return [][0]

    with pytest.raises(InvalidSubject, match=r"raised IndexError: .* \(test_subjects_on_beam.py, line \d+\)\Z"):
        looked(raising)
    with pytest.raises(InvalidSubject, match=r"raised ValueError: GroupByKey cannot be applied to an unbounded"):
        looked(lambda plays: pairs(plays) | beam.CombinePerKey(sum))


class Call(Exception):
    """As gRPC's: what is wrong stands in its details."""

    def __init__(self, details):
        super().__init__("<RPC that terminated with:\n>")
        self.details = lambda: details


def test_what_a_runner_lacks_is_told_from_what_fails():
    of_prism = Call('found 1 uses of features unimplemented:\nunsupported feature "Triggers" set with value x: {\n}')
    mine = subject(**PLAYS)(pairs)
    assert (lacking(of_prism), cause(mine, of_prism)) == (True, "Triggers")
    splits = "Transform node AppliedPTransform(ParDo(Copies)/Process, _GroupByKeyOnly) was not replaced as expected."
    says = "the bundle-based DirectRunner does not run ParDo(Copies)"
    assert (lacking(RuntimeError(splits)), cause(mine, RuntimeError(splits))) == (True, says)
    assert "DirectRunner stalls" in cause(mine, TypeError("exceptions must derive from BaseException"))
    assert (lacking(Call("it is gone")), cause(mine, Call("it is gone"))) == (False, "Call: it is gone")


def test_a_prism_that_cannot_be_built_is_no_fault_of_the_pipeline(monkeypatch):
    def unbuilt():
        raise CannotRun("no binary of Prism, and its build failed")

    monkeypatch.setattr(prism_binary, "obtain", unbuilt)
    ran = BeamSubjects().run(subject(**PLAYS)(pairs), [], Setup(where=PRISM))
    assert (ran.error, ran.hindered) == ("no binary of Prism, and its build failed", True)


def test_a_script_loads_a_file_whatever_its_name_is(tmp_path):
    mine = subject(**PLAYS)(pairs)
    run = Run(((Row({"team": "a", "points": 1}, START),),))
    text = BeamSubjects().script(mine, Pair(run, run), "title", Path("my-query.py"), tmp_path / "script.py")
    ast.parse(text)
    assert "my-query.py" in text


def test_a_run_whose_worker_dies_ends(monkeypatch):
    def dies():
        raise KeyError("x")

    def waits_for_ever():
        threading.Thread(target=dies, name="ExecutorServiceWorker-0").start()
        threading.Event().wait()

    monkeypatch.setattr(threading, "excepthook", lambda told: None)
    with pytest.raises(KeyError):
        ended(waits_for_ever)
    ended(lambda: None)
