"""What goes on behind a restart: which program it is, what of its forerunner's state it gets, and what is a refusal."""

import pytest

from conformance.engines.reference import Reference
from conformance.engines.spark.groups import GroupsEngine
from conformance.engines.spark.operators.tws_operator import variables
from conformance.engines.spark.refused.ended import ended_by
from conformance.engines.spark.state.typed_groups import state_type
from conformance.engines.spark.tws import time_mode
from conformance.generation.timelines import START, SUCCEEDED
from conformance.model.case import Case
from conformance.model.next_version import change_of, versions
from conformance.model.runs import Pack
from conformance.model.scenario import Observation
from conformance.model.schedule import Event
from conformance.model.trace import Emission, Trace
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
