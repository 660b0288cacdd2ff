"""Drawn cases that are kept: the same as drawn ones, and drawn anew for other code or numbers."""

from dataclasses import replace

import pytest

from conformance.execution import kept as kept_traces
from conformance.plugins.registry import load_scenarios
from conformance.run import drawn
from conformance.run.drawing import drawing_here

[SCENARIO] = load_scenarios(["rate-limit"])


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv(kept_traces.FOLDER, str(tmp_path))
    return tmp_path / drawn.DRAWN


def test_kept_cases_are_those_that_were_drawn(folder, monkeypatch):
    asked = (SCENARIO.id, 1, 3)
    first = drawing_here([SCENARIO])(asked)
    assert len([*folder.iterdir()]) == 1
    monkeypatch.setattr("conformance.generation.pool.draw_cases", None)
    assert drawing_here([SCENARIO])(asked) == first


def test_a_file_that_was_altered_is_drawn_again(folder):
    asked = (SCENARIO.id, 1, 3)
    first = drawing_here([SCENARIO])(asked)
    [file] = folder.iterdir()
    file.write_bytes(file.read_bytes()[:-9])
    assert drawing_here([SCENARIO])(asked) == first


def test_other_numbers_guarantees_or_code_are_other_files(monkeypatch):
    name = drawn.name_of(SCENARIO, 1, 3)
    assert name == drawn.name_of(SCENARIO, 1, 3)
    fewer = replace(SCENARIO, guarantees=SCENARIO.guarantees[:1])
    others = {drawn.name_of(SCENARIO, 2, 3), drawn.name_of(SCENARIO, 1, 4), drawn.name_of(fewer, 1, 3)}
    monkeypatch.setattr(drawn, "harness_digest", lambda packages: "other code")
    others.add(drawn.name_of(SCENARIO, 1, 3))
    assert len({name, *others}) == 5


def test_a_scenario_of_a_users_file_is_drawn_each_time():
    assert not drawn.name_of(replace(SCENARIO, name="mine"), 1, 3)
