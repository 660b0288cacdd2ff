"""What goes on behind a restart: which program it is, what of its forerunner's state it gets, and what is a refusal."""

import pytest

from conformance.engines.reference import Reference
from conformance.engines.spark.checkpoint import settings
from conformance.engines.spark.groups import GroupsEngine
from conformance.engines.spark.jobs.onward import apart, joined
from conformance.engines.spark.operators.tws_operator import variables
from conformance.engines.spark.refused.ended import ended_by
from conformance.engines.spark.state.typed_groups import state_type
from conformance.engines.spark.tws import time_mode
from conformance.generation.timelines import START, SUCCEEDED
from conformance.model.case import Case
from conformance.model.next_version import change_of, versions
from conformance.model.runs import Pack, PackRun
from conformance.model.scenario import Observation
from conformance.model.schedule import Event
from conformance.model.trace import Emission, Trace
from conformance.scenarios.state.next_kinds import KINDS
from conformance.scenarios.state.next_operators import EXCHANGES, PROGRAMS
from conformance.scenarios.state.next_operators import goes_on as answers_anew
from conformance.scenarios.state.next_versions import CHANGES, SCENARIO, SUMS, goes_on

ALL = {f"next-versions/{name}": program for name, program in SCENARIO.programs.items()}


def case_of(program, *values, times=(0, 10, 20, 30)):
    """Two elements of a key before the restart, one in each step behind it."""
    first, second, third, fourth = (
        Event(f"e{n}", "a", values[min(n, len(values) - 1)], START + 1 + time) for n, time in enumerate(times)
    )
    slots = [bundle.id for bundle in SUCCEEDED.bundles]
    rows = dict(zip(slots, ([first, second], [third], [fourth]), strict=True))
    return Case("next-versions", program, SUCCEEDED.with_bundles(rows))


def ran(case):
    return Reference().run(Pack((case,)), ALL).traces[case.id]


def found(change):
    """What the first element behind the restart found, on the reference."""
    return next(e.value["found"] for e in ran(case_of("sums", change)).emissions if e.step > 2)


def test_the_first_element_names_the_change_where_there_are_several():
    assert change_of(case_of("sums", "field added", "field removed"), SUMS) == "field added"
    assert versions(case_of("sums", "field added"), SUMS) == (SUMS, CHANGES["field added"].program)
    assert change_of(case_of("join", "left"), PROGRAMS["join"]) == "bound doubled"
    assert versions(case_of("sums", "of nothing"), SUMS) == (SUMS,)
    assert change_of(Case("next-versions", "sums", SUCCEEDED), SUMS) == ""


def test_the_reference_keeps_by_name():
    kept = {"one": 2, "two": 200, "small": 20_000, "big": 2**34, "text": "xx"}
    assert found("nothing changed") == {"sums": kept, "last": 2_000_000}
    assert found("field added in front") == {"sums": {"more": None} | kept, "last": 2_000_000}
    assert found("fields of one type reordered")["sums"] == kept
    assert found("variable renamed") == {"sums": kept, "latest": None}
    assert found("variable removed") == {"sums": kept}
    assert found("value made a list")["last"] == [2_000_000]


def test_the_reference_refuses_what_does_not_fit():
    case = case_of("sums", "number narrowed too far")
    assert [e.value for e in ran(case).emissions if e.step >= 2] == [{"refused": "DoesNotFit"}]


@pytest.mark.parametrize("change", ["key made a number", "source column removed", "other partitions"])
def test_the_reference_keeps_state_under_another_query_and_other_settings(change):
    assert found(change)["last"] == 2_000_000


def of_kind(program, emissions=None):
    """The findings about a program with another kind of state or time behind: two keys before the restart, one behind,
    on the reference, or with these emissions."""
    _, _, _, decides, _ = KINDS[program]
    slots = [bundle.id for bundle in SUCCEEDED.bundles]
    rows = dict(zip(slots, ([Event(f"e{key}", key, None, START + 1) for key in "ab"], [A_LATER], []), strict=True))
    case = Case("next-versions", program, SUCCEEDED.with_bundles(rows))
    trace = ran(case) if emissions is None else Trace.collect(emissions)
    return [finding is True for finding in decides(Observation(case, trace))]


A_LATER = Event("later", "a", None, START + 2)


def test_a_list_is_no_map():
    assert of_kind("lists") == [True]
    assert of_kind("lists", [Emission("a", {"id": "later", "before": 0}, 3)]) == [False]


def test_a_timer_in_event_time_does_not_fire_in_processing_time():
    kept = Emission("a", {"id": "later", "before": 1}, 3)
    assert of_kind("reminders") == of_kind("reminders", [kept]) == [True, True]
    assert of_kind("reminders", [Emission("a", {"id": "later", "before": 0}, 3)]) == [False, True]
    assert of_kind("reminders", [kept, Emission("b", {"fired": "due"}, 4)]) == [True, False]
    assert of_kind("reminders", [Emission("a", {"refused": "NO"}, 2)]) == [True]


def test_lists_maps_and_timers_are_kept_beside_a_new_variable():
    def later(listed, mapped):
        return Emission("a", {"id": "later", "listed": listed, "mapped": mapped}, 3)

    fired = [Emission(key, {"fired": f"e{key}"}, 5) for key in "ab"]
    assert of_kind("collections") == of_kind("collections", [later(["ea"], ["ea"]), *fired]) == [True] * 4
    assert of_kind("collections", [later([], ["ea"]), *fired]) == [True, False, True, True]
    assert of_kind("collections", [later(["ea"], ["ea", "ea"]), *fired]) == [True, True, False, True]
    assert of_kind("collections", [later(["ea"], ["ea"]), fired[0]]) == [True, True, True, False]
    assert of_kind("collections", [later(["ea"], ["ea"]), fired[0], *fired]) == [False, True, True, True]
    assert of_kind("collections", [Emission("a", {"refused": "NO"}, 2)]) == [True]


def test_programs_with_next_versions_run_as_jobs_of_their_own():
    cases = (case_of("sums", "field added"), Case("next-versions", "lists", SUCCEEDED), case_of("sums", "no change"))
    assert [[case.program for case in part.cases] for part in apart(Pack(cases), ALL)] == [["sums"] * 2, ["lists"]]
    runs = [PackRun({"a": Trace(())}, notes={"p": "x"}), PackRun({"b": Trace(())}, notes={"q": "y"})]
    assert joined(runs) == PackRun({"a": Trace(()), "b": Trace(())}, notes={"p": "x", "q": "y"})


def test_the_files_of_a_checkpoint_say_what_a_setting_came_to(tmp_path):
    for name in ("0/0/1.zip", "0/0/2.changelog", "0/1/2.changelog", "0/_metadata/x"):
        (tmp_path / "state" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "state" / name).touch()
    (tmp_path / "offsets").mkdir()
    (tmp_path / "offsets" / "0").write_text('v1\n{"conf": {"spark.sql.streaming.stateStore.encodingFormat": "avro"}}\n')
    assert {name: setting.used(tmp_path) for name, setting in settings.SETTINGS.items()} == {
        "other partitions": "2",
        "another store": "rocksdb",
        "another encoding": "avro",
        "another format": "format 1",
        "changes logged or not": "changes",
        "partitioned anew": "2",
    }
    assert settings.told("2", "3", "2", None) == "pinned: 3 asked for, 2 as before"
    assert settings.told("2", "3", "3", None) == "changed: from 2 to 3"
    assert settings.told("2", "3", "2", {"refused": "NO"}) == "refused: 3 asked for, 2 before (NO)"


def told(change, sums, **others):
    """The findings of a change where both elements behind the restart find the same."""
    case = case_of("sums", change)
    emissions = [Emission("a", {"id": "e", "found": {"sums": sums, **others}}, step) for step in (3, 4)]
    return [finding is True for finding in goes_on(change)(Observation(case, Trace.collect(emissions)))]


def test_what_is_new_is_empty_and_what_is_old_is_kept():
    kept = {"one": 2, "two": 200, "small": 20_000, "big": 2**34, "text": "xx"}
    assert told("field added", kept | {"more": None}, last=2_000_000)[0]
    assert told("field added", kept | {"more": 0}, last=2_000_000)[0]
    assert not told("field added", kept | {"more": 1}, last=2_000_000)[0]
    assert not told("field added", None, last=2_000_000)[0]
    assert not told("variable renamed", kept, latest=2_000_000)[0]
    assert told("variable renamed", kept, latest=None)[0]


@pytest.mark.parametrize(
    ("change", "value", "stands"),
    [
        ("field added", {"refused": "NO"}, True),
        ("field added", {"failed": "NullPointerException"}, False),
        ("nothing changed", {"refused": "NO"}, False),
    ],
)
def test_a_refusal_is_an_answer_to_a_change_and_a_failure_is_none(change, value, stands):
    run = Observation(case_of("sums", change), Trace.collect([Emission("a", value, 2)]))
    assert [finding is True for finding in goes_on(change)(run)] == [stands]


def test_each_operator_answers_as_if_it_had_run_from_the_start_on_the_reference():
    """One of another kind refuses. Anything else that comes out speaks against it."""
    for name, (_, changes) in EXCHANGES.items():
        for change, exchange in changes.items():
            values = ("left", "left", "right", "right") if name.startswith("join") else (change,)
            case = case_of(name, *values, times=(0, 5, 10, 5))
            trace = ran(case)
            check = answers_anew(PROGRAMS[name], change, exchange)
            assert set(check(Observation(case, trace))) == {True}, change
            if exchange.program.foreign:
                trace = Trace.collect(emission for emission in trace.emissions if "refused" not in emission.value)
            strange = Trace.collect([*trace.emissions, Emission("a", {"strange": True}, 3)])
            assert any(finding is not True for finding in check(Observation(case, strange))), change


def test_a_versions_state_has_its_own_names():
    names = [variable.name for variable in variables({"next-versions/sums": SUMS}).values()]
    assert names == ["sums", "last"]
    assert [name for name, _ in state_type({"next-versions/sums": SUMS}).fields] == ["json", "sums", "last"]


def test_a_version_without_timers_has_no_time_mode():
    later = CHANGES["timers added"].program
    assert [time_mode({"p": program}) for program in (SUMS, later)] == ["None", "EventTime"]
    assert [GroupsEngine().timeout_of({"p": program}) for program in (SUMS, later)] == ["NoTimeout", "EventTimeTimeout"]


def test_a_refusal_has_a_condition_of_sparks_own():
    assert ended_by(Exception("[STATE_X.NOT_Y] no SQLSTATE: 42K06")) == {"refused": "STATE_X.NOT_Y, SQLSTATE 42K06"}
    assert ended_by(Exception("java.lang.NullPointerException: oh")) == {"failed": "NullPointerException"}
    assert ended_by(Exception("[INTERNAL_ERROR] oh"))["failed"] == "INTERNAL_ERROR"
    assert ended_by(Exception("[FOREACH_BATCH_USER_FUNCTION_ERROR] KeyError: oh"))["failed"] == "KeyError"
    assert ended_by(OfAnOldCondition("no")) == {"refused": "_LEGACY_ERROR_TEMP_3102"}


class OfAnOldCondition(Exception):
    def getCondition(self):
        return "_LEGACY_ERROR_TEMP_3102"
