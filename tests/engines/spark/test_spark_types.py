"""Typed state and typed keys on Spark: every value of the scenarios comes back, and every key has its state, as the
reference has it."""

import pytest
from common import run, specified
from marks import quick

from conformance.model.case import Case
from conformance.model.feature import Feature
from conformance.model.schedule import Advance, Deliver, Event, Schedule
from conformance.plugins.registry import load_engine, load_scenarios
from conformance.testing import T

pytestmark = pytest.mark.engine

VALUES = "typed-state/values"
CONTAINERS = "typed-state/containers"
COLLECTIONS = "typed-collections/collections"
KEYS = "typed-keys/values"
ASKED = {
    "spark-tws-jvm": (VALUES, CONTAINERS, COLLECTIONS, KEYS, "typed-keys/nulls"),
    "spark-fmgws-jvm": (VALUES, CONTAINERS, COLLECTIONS, KEYS, "typed-keys/timers", "typed-keys/nulls"),
    "spark-mgws-jvm": (KEYS, "typed-keys/nulls"),
    "spark-fmgws-pandas": (VALUES, KEYS),
}
"""Engine -> the programs that it is asked to run."""


def everything(scenario, name):
    """One case: every value of the program's domain, or an element of every key, in one bundle and again in another."""
    program, values = scenario.programs[name], scenario.domain[name].values
    given = [(key, values[0]) for key in program.keys] or [("a", value) for value in values]
    bundles = [
        Deliver(step, tuple(Event(f"e{step}-{n}", key, value, T + 1 + n) for n, (key, value) in enumerate(given)))
        for step in (1, 2)
    ]
    return Case(scenario.id, name, Schedule((Advance(0, T), *bundles, Advance(3, T + 900_000))))


@pytest.fixture(scope="module", params=quick(["spark-fmgws-pandas", "spark-tws-jvm"], ASKED))
def engine(request, spark, tmp_path_factory):
    opened = load_engine(request.param)
    opened.open(tmp_path_factory.mktemp("types"))
    yield opened
    opened.close()


def test_every_typed_value_and_every_typed_key_is_as_the_reference_has_it(engine):
    for ref in ASKED[engine.id]:
        name, _, program = ref.partition("/")
        [scenario] = load_scenarios([name])
        case = everything(scenario, program)
        [found], [wanted] = run(engine, [case]).values(), specified(engine, [case]).values()
        assert len(wanted.emissions) >= len(case.schedule.arrivals)
        assert sorted(map(repr, found.emissions)) == sorted(map(repr, wanted.emissions)), ref


def test_the_one_state_of_a_key_takes_an_array_where_the_capabilities_say_so(spark, tmp_path):
    engine = load_engine("spark-fmgws-pandas")
    engine.open(tmp_path)
    takes = engine.capabilities.features[Feature.CONTAINERS].how == "native"
    assert engine.answers()["array-in-state"] == ("accepted" if takes else "refused: KeyError")
    engine.close()
