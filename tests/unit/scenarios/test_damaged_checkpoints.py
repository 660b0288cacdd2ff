"""What speaks against a job that goes on from a damaged checkpoint: on traces written by hand."""

from types import SimpleNamespace

import pytest
from handmade import run as _run
from handmade import said as _said

from conformance.engines.spark.checkpoint import copies, damages
from conformance.generation.timelines import RESTARTED, START
from conformance.model.case import Case
from conformance.model.damage import DAMAGES, damage_of
from conformance.model.runs import Pack
from conformance.model.schedule import Event, Restart
from conformance.model.trace import DRAIN
from conformance.plugins.registry import load_engine, load_scenarios
from conformance.scenarios.state import damaged_checkpoints as damaged
from conformance.scenarios.stories.stream_join import LEFT, RIGHT

[SCENARIO] = load_scenarios(["damaged-checkpoints"])
BEFORE, AFTER, END = 1, 3, 4
GONE = "all state gone"


def restarted(program, *emitted, key="a", behind="a", damage=GONE):
    """A run with an element of a key before the restart, and one of a key behind it; the second of a join is a right
    row of the first."""
    values = (LEFT, RIGHT) if program == "joined-on" else (damage, damage)
    key, behind = (damage, damage) if program == "joined-on" else (key, behind)
    (one, two) = ([(name, k, 1_500, value)] for name, k, value in zip(("e1", "e2"), (key, behind), values, strict=True))
    return _run([1_000, one, Restart(0), two, 90_000], *((k or key, value, step) for k, value, step in emitted))


RIGHT_OUTPUT = {
    "counted-on": [("", {"count": 1}, BEFORE), ("", {"count": 2}, AFTER)],
    "deduplicated-on": [("", {"accepted": "e1"}, BEFORE), ("", {"forgotten": "e1"}, END)],
    "windowed-on": [("", {"window": 0, "count": 2}, END)],
    "joined-on": [("", {"left": "e1", "right": "e2"}, AFTER)],
}
WRONG_OUTPUT = {
    "counted-on": [RIGHT_OUTPUT["counted-on"][0], ("", {"count": 1}, AFTER)],
    "deduplicated-on": [*RIGHT_OUTPUT["deduplicated-on"], ("", {"accepted": "e2"}, AFTER)],
    "windowed-on": [("", {"window": 0, "count": 1}, END)] * 2,
    "joined-on": [],
}
WORDS = {
    "counted-on": "the 2 elements of key a, 1 of them before the restart, were counted [1, 1]",
    "deduplicated-on": "the 2 elements of the id a, 1 of them before the restart, came out as ['e1', 'e2']",
    "windowed-on": "the 2 elements of key a in the window from 0, 1 of them before the restart, were counted [1, 1]",
    "joined-on": f"the rows e1 and e2 of key {GONE}, 1 of them before the restart, came out as a pair 0 times",
}


@pytest.mark.parametrize("program", damaged.JOBS)
def test_a_job_refuses_or_what_comes_out_is_right(program):
    check = damaged.noticed(GONE, damaged.JOBS[program].came_out)
    assert _said(check, restarted(program, *RIGHT_OUTPUT[program])) == [True]
    assert _said(check, restarted(program, ("", {"refused": "WHY"}, 2))) == [True]
    [against] = _said(check, restarted(program, *WRONG_OUTPUT[program]))
    assert against == f"the job went on without a word, and {WORDS[program]}"


@pytest.mark.parametrize("program", damaged.JOBS)
def test_another_damage_says_nothing(program):
    check = damaged.noticed("form gone", damaged.JOBS[program].came_out)
    assert _said(check, restarted(program, *WRONG_OUTPUT[program])) == []


def test_what_is_new_behind_the_restart_can_only_speak_against_the_job():
    check = damaged.noticed(GONE, damaged.deduplicated)
    came = [("a", {"accepted": "e1"}, BEFORE), ("b", {"accepted": "e2"}, AFTER)]
    assert _said(check, restarted("deduplicated-on", *came, behind="b")) == []
    [against] = _said(check, restarted("deduplicated-on", *came[:1], behind="b"))
    assert "the id b, 0 of them before the restart, came out as []" in against


def test_pairs_that_come_out_together_are_not_asked_about():
    """An API that puts out one row a call leaves all but one out."""
    steps = [1_000, [("e1", GONE, 1_500, LEFT)], Restart(0), [(e, GONE, 1_500, RIGHT) for e in ("e2", "e3")], 90_000]
    assert _said(damaged.noticed(GONE, damaged.joined), _run(steps)) == []


@pytest.mark.parametrize(("value", "key", "damage"), [(GONE, "a", GONE), (LEFT, GONE, GONE), (LEFT, "a", "")])
def test_a_first_element_names_the_damage(value, key, damage):
    steps = [1_000, [("e1", key, 1_500, value), ("e2", "form gone", 1_500, "place gone")], Restart(0), 90_000]
    assert damage_of(_run(steps).case) == damage


@pytest.mark.parametrize(
    ("mutant", "program"),
    [
        ("last-state-is-older", "counted-on"),
        ("new-ids-are-known", "deduplicated-on"),
        ("windows-twice", "windowed-on"),
        ("right-rows-are-gone", "joined-on"),
    ],
)
def test_each_form_of_state_has_a_bug_that_each_of_its_guarantees_minds(mutant, program):
    """Whatever is damaged; and for each of them there is a case that the reference holds on."""
    engine, programs = load_engine(f"mutant:{mutant}"), {f"{SCENARIO.id}/{program}": SCENARIO.programs[program]}
    for guarantee in (g for g in SCENARIO.guarantees if g.program == program):
        damage = next(name for name, words in DAMAGES.items() if words in guarantee.claim)
        one = case(program, damage)
        trace = engine.run(Pack((one,)), programs).traces[one.id]
        assert any(f is not True for f in guarantee.predicate(damaged.Observation(one, trace))), guarantee.claim
        whole = load_engine("reference").run(Pack((one,)), programs).traces[one.id]
        assert [*guarantee.predicate(damaged.Observation(one, whole))][:1] == [True]


def case(program, damage):
    """A key with elements of one time on both sides of the restart, a right row of a join before it; and another key
    behind it."""
    joining = program == "joined-on"
    first, last = RESTARTED.bundles[0].id, RESTARTED.bundles[-1].id
    key, values = (damage, (RIGHT, LEFT)) if joining else ("a", (damage, damage))
    rows = {
        first: [Event("e1", key, values[0], START + 10)],
        last: [Event("e2", key, values[1], START + 10), Event("e3", "b", values[1], START + 10)],
    }
    return Case(SCENARIO.id, program, RESTARTED.with_bundles(rows))


def test_what_comes_out_behind_the_planned_micro_batches_is_of_the_last():
    assert damages.of_planned({1: ["a"], 2: ["b"], 4: ["d"], 3: ["c"]}, 3) == {1: ["a"], 2: ["b", "c", "d"]}


def test_a_row_without_a_step_belongs_to_the_micro_batch_it_came_out_in(tmp_path):
    checkpoint = tmp_path / "checkpoint"
    checkpoint.mkdir()
    (checkpoint / "metadata").write_text('{"id": "a"}')
    one = case("windowed-on", "identity gone")

    def row(step, number):
        told = {"case": one.id, "key": "a", "step": step, "value": str(number), "emitted_at": None, "error": None}
        return {number: [told]}

    def go_on(place):
        (place / "metadata").unlink()
        return {**row(None, 2), **row(None, 7)}, None

    batches = [SimpleNamespace(step=step) for step in (1, 2, 4, 5)]
    before = {**row(None, 0), **row(1, 1)}
    run = copies.answers(Pack((one,)), checkpoint, batches, before, [([one], go_on)])
    assert [(e.value, e.step) for e in run.traces[one.id].emissions] == [(0, 1), (1, 1), (2, 4), (7, DRAIN)]
    assert (checkpoint / "metadata").exists(), "a copy was damaged"
