"""Beam's own transforms on Prism: what they put out where Prism and the bundle-based DirectRunner agree, and that they
are driven as it says."""

import pytest
from common import PROGRAMS
from test_native import BEAM, Sabotaged, case, native  # noqa: F401

from conformance.engines.beam.runners import carried, prism_binary
from conformance.model.engine import CannotRun, NotDriven
from conformance.model.runs import Pack
from conformance.plugins.registry import load_engine

pytestmark = pytest.mark.engine


@pytest.fixture(autouse=True, scope="module")
def binary():
    try:
        prism_binary.obtain()
    except CannotRun as error:
        pytest.skip(str(error))


def of(engine, one):
    return [(e.key, e.value, e.step) for e in engine.run(Pack((one,)), PROGRAMS).traces[one.id].emissions]


@pytest.mark.parametrize("variant", [variant for variant in BEAM if variant != "batches"])
def test_it_puts_out_what_the_transform_puts_out_on_the_other_runner(native, variant):  # noqa: F811
    """Bundles whose elements lie in windows and sessions of their own. A batch that is not full gets lost on Prism
    (docs/findings.md)."""
    steps = [0, [("e1", "a", 1)], 100_000, [("e2", "b", 150_000)], 300_000]
    one, other = (native(f"{family}:{variant}") for family in ("beam-prism-native", "beam-native"))
    found, wanted = of(one, case(one, *steps)), of(other, case(other, *steps))
    assert wanted or variant == "windows-joined"
    assert [row for row in wanted if row not in found] == []


@pytest.mark.parametrize("variant", ["count", "sessions", "windows"])
def test_a_schedule_that_was_not_driven_is_an_error(native, monkeypatch, variant):  # noqa: F811
    true = carried.stream
    engine = native(f"beam-prism-native:{variant}")
    monkeypatch.setattr(carried, "stream", lambda pack: true(Sabotaged(pack)))
    with pytest.raises(NotDriven, match="at watermark"):
        engine.run(Pack((case(engine, 0, [("e1", "a", 2)], 100_000),)), PROGRAMS)


@pytest.mark.parametrize("variant", ["deduplicate", "sessions", "windows"])
def test_packed_cases_do_not_see_each_other(native, variant):  # noqa: F811
    """Equal keys of two cases of one timeline."""
    engine = native(f"beam-prism-native:{variant}")
    one = case(engine, 0, [("e1", "a", 1)], 100_000, [("e2", "b", 150_000)], 300_000)
    two = case(engine, 0, [("e1", "b", 1)], 100_000, [("e2", "b", 150_001)], 300_000)
    packed = engine.run(Pack((one, two)), PROGRAMS).traces
    for alone in (one, two):
        assert engine.run(Pack((alone,)), PROGRAMS).traces[alone.id] == packed[alone.id]


def test_a_release_on_which_no_schedule_can_be_driven_says_so(monkeypatch):
    monkeypatch.setattr("conformance.engines.beam.runners.prism.version", lambda package: "2.67.0")
    lacks = load_engine("beam-prism-native:sessions").lacks()
    assert lacks.startswith("the Prism of Beam 2.67.0 fires no timer when the watermark comes to its time")
    assert lacks.endswith("that takes Beam 2.69.0")
