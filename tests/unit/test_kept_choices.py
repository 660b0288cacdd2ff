"""Choices of packs that are made once for all releases of an engine, and kept for later runs."""

from concurrent.futures import ThreadPoolExecutor

from conformance.execution.kept import Kept
from conformance.model.case import Case
from conformance.model.engine import EngineInfo
from conformance.model.schedule import Advance, Deliver, Event, Schedule
from conformance.plugins.registry import load_engine, load_scenarios
from conformance.run import kept_choices, packs
from conformance.run.kept_choices import KeptChoices


def test_two_releases_of_an_engine_choose_once_also_at_one_time(monkeypatch, tmp_path):
    scenarios = tuple(load_scenarios(["per-key-counting"]))
    program = next(iter(scenarios[0].programs))
    steps = (Advance(0, 1_000), Deliver(1, (Event("e1", "a", None, 1_001),)), Advance(2, 2_000))
    cases = [Case("per-key-counting", program, Schedule(steps))]
    chosen = []

    def selected(*asked):
        chosen.append(asked)
        return packs.selected(*asked)

    monkeypatch.setattr(kept_choices, "selected", selected)
    can = load_engine("spark-fmgws-jvm").capabilities
    choices = KeptChoices(Kept(tmp_path), scenarios)

    def choice(engine):
        return choices.selected(EngineInfo(engine, "", can, adapter="one"), cases, 0.25, False)

    with ThreadPoolExecutor(max_workers=2) as pool:
        one, other = pool.map(choice, ("spark-fmgws-jvm@3.5.0", "spark-fmgws-jvm@3.5.9"))
    assert one == other
    assert len(chosen) == 1
    choice("spark-mgws-jvm@3.5.0")
    assert len(chosen) == 2
