"""Users' own operators on the real engines: driven as programs are, kept apart by case, and compared."""

from collections import Counter
from pathlib import Path

import pytest
from common import T, run, specified

from conformance.generation.pool import draw_cases
from conformance.generation.readings import exercised_by_any_reading
from conformance.generation.timelines import START, SUCCEEDED
from conformance.model.case import Case
from conformance.model.perturbation import BY_ID, RESTART, RETRY
from conformance.model.runs import Pack
from conformance.model.scenario import Observation, programs_of
from conformance.model.schedule import Advance, Deliver, Event, Schedule
from conformance.plugins.loading import NEXT, ask_for
from conformance.plugins.registry import load_engine, users_scenarios

pytestmark = pytest.mark.engine

HERE = Path(__file__).parent


@pytest.fixture
def idle(monkeypatch):
    """The ports of idle_keys.py, loaded; the programs of their scenario, and some of its cases."""
    monkeypatch.setattr("conformance.plugins.loading._asked", ())
    monkeypatch.setenv("PYTHONPATH", "")
    ask_for([str(HERE / "ports" / "idle_keys.py")])
    scenarios = users_scenarios()
    return programs_of(scenarios), draw_cases(scenarios, 2, 3, exercised_by_any_reading(scenarios))


@pytest.fixture
def opened(spark, beam, tmp_path):
    engines = []

    def open_(name):
        engine = load_engine(name)
        engine.check()
        engine.open(tmp_path)
        engines.append(engine)
        return engine

    yield open_
    for engine in engines:
        engine.close()


def runs(engine, cases, *perturbations):
    """The cases of several bundles that an engine takes: as drawn or under these perturbations, each on the shortest
    timeline that three of them have."""
    drawn = [case for case in cases if not case.perturbation and len(case.schedule.bundles) > 1]
    found = []
    for wanted in perturbations or ("",):
        made = [twin for case in drawn if (twin := BY_ID[wanted].twin(case, 1))] if wanted else drawn
        mine = [case for case in made if engine.capabilities.takes(case, None)]
        timelines = Counter(case.schedule.timeline for case in mine)
        short = min(timelines, key=lambda timeline: (timelines[timeline] < 3, len(timeline)))
        found += [case for case in mine if case.schedule.timeline == short]
    return found


@pytest.mark.parametrize("name", ["beam-port:idle", "spark-port:idle"])
def test_an_operator_that_does_the_programs_job_gives_what_the_reference_gives(idle, opened, name):
    """On cases as drawn, with a failed attempt, and with a restart where the engine has one."""
    programs, cases = idle
    engine = opened(name)
    recoveries = [RETRY.id] if name.startswith("beam") else [RETRY.id, RESTART.id]
    mine = runs(engine, cases, "", *recoveries)
    assert {case.perturbation for case in mine} == {"", *recoveries}
    assert run(engine, mine, programs) == specified(engine, mine, programs)


def on_one_timeline(engine, cases):
    """The cases as drawn that an engine takes, of the shortest timeline: of several bundles where the engine takes
    several."""
    few = [case for case in cases if not case.perturbation and engine.capabilities.takes(case, None)]
    short = min(few, key=lambda case: (len(case.schedule.bundles) == 1, len(case.schedule.steps)))
    return [case for case in few if case.schedule.timeline == short.schedule.timeline]


@pytest.mark.parametrize("name", ["spark-port:frames", "spark-tws-tester-port:idle", "beam-fnapi-port:idle"])
def test_an_operator_on_a_further_engine_gives_what_the_reference_gives(idle, opened, name):
    programs, cases = idle
    engine = opened(name)
    mine = on_one_timeline(engine, cases)
    assert run(engine, mine, programs) == specified(engine, mine, programs)


def test_an_operator_on_prism_gives_what_the_program_gives_there(idle, prism, opened):
    """Prism 2.77.0 holds elements behind timers, so the reference can give something else."""
    programs, cases = idle
    engine = opened("beam-prism-port:idle")
    mine = on_one_timeline(engine, cases)
    assert run(engine, mine, programs) == run(prism, mine, programs)


def test_a_state_function_gives_the_same_values(idle, opened):
    """At other steps where its timeout is at the watermark: Spark times out what lies before it."""
    programs, cases = idle
    engine = opened("spark-port:function")
    mine = runs(engine, cases)
    seen, expected = run(engine, mine, programs), specified(engine, mine, programs)
    for case in mine:
        values = [(e.key, e.value) for e in seen[case.id].judged]
        assert sorted(map(str, values)) == sorted(str((e.key, e.value)) for e in expected[case.id].judged)


def test_a_timer_that_is_set_again_and_not_deleted_fires_too_soon(idle, opened):
    programs, _ = idle
    engine = opened("spark-port:pile-up")
    first, second = Event("e1", "a", None, T + 1), Event("e2", "a", None, T + 9_000)
    steps = Advance(0, T), Deliver(1, (first,)), Deliver(2, (second,)), Advance(3, T + 12_000), Advance(4, T + 90_000)
    case = Case("idle-keys", "idle", Schedule(steps))
    told = [(3, {"events": 2, "since": T + 9_000})]
    assert [(e.step, e.value) for e in run(engine, [case], programs)[case.id].judged] == told
    assert [(e.step, e.value) for e in specified(engine, [case], programs)[case.id].judged] == [(4, told[0][1])]


EXAMPLES = HERE.parents[1] / "docs/examples"


@pytest.mark.parametrize(("behind", "says"), [("fixed", ""), ("next", "the state is silently gone")])
def test_a_next_version_of_an_operator_goes_on_from_its_checkpoint(monkeypatch, opened, behind, says):
    """The same version keeps the state, and one whose variable has another name does not."""
    monkeypatch.setattr("conformance.plugins.loading._asked", ())
    monkeypatch.setenv("PYTHONPATH", "")
    before, later = (EXAMPLES / f"port_index_assignment_{name}.py" for name in ("fixed", behind))
    ask_for([str(before), f"{NEXT}{later}"])
    (scenario,) = users_scenarios()
    rows = {slot.id: [Event(f"e{slot.id}", "a", None, START + slot.id)] for slot in SUCCEEDED.bundles}
    case = Case(scenario.id, "global", SUCCEEDED.with_bundles(rows))
    trace = opened("spark-port:index").run(Pack((case,)), programs_of([scenario])).traces[case.id]
    (finding,) = scenario.guarantees[0].predicate(Observation(case, trace))
    assert finding is True if not says else finding.startswith(says)


@pytest.mark.parametrize("name", ["beam-port:attribute", "spark-port:attribute"])
def test_what_an_operator_keeps_in_an_attribute_is_seen_by_the_keys_of_its_case_only(idle, opened, name):
    """As it would be seen if the case ran alone."""
    programs, _ = idle
    engine = opened(name)
    keys = "abcdefghi"  # more than there are partitions
    bundles = (tuple(Event(f"e{key}", key, None, T + n) for key in keys) for n in (1, 2))
    mine = [
        Case("idle-keys", "idle", Schedule((Advance(0, T), Deliver(1, bundle), Advance(2, T + 90_000))))
        for bundle in bundles
    ]
    packed = engine.run(Pack(tuple(mine)), programs).traces
    for case in mine[:1]:
        assert engine.run(Pack((case,)), programs).traces[case.id] == packed[case.id]
    counted = {e.value["events"] for trace in packed.values() for e in trace.emissions}
    assert max(counted) > 1


@pytest.mark.parametrize("name", ["beam-port:stops", "spark-port:stops"])
def test_an_exception_of_the_operator_ends_its_case_and_no_other(idle, opened, name):
    programs, _ = idle
    engine = opened(name)

    def case(*keys):
        bundle = tuple(Event(f"e{key}", key, None, T + 1) for key in keys)
        return Case("idle-keys", "idle", Schedule((Advance(0, T), Deliver(1, bundle), Advance(2, T + 90_000))))

    without, stopped = case("a", "c"), case("a", "b")
    traces = engine.run(Pack((without, stopped)), programs).traces
    assert {name: trace.error for name, trace in traces.items()} == {without.id: None, stopped.id: "LookupError: no b"}
