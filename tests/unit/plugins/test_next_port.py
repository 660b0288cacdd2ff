"""Ports with a next version: the scenario that is made of theirs, and what decides it."""

import os
import sys
from dataclasses import replace

import pytest

from conformance.engines.mutants import mutant
from conformance.engines.reference import Reference
from conformance.generation.timelines import START, SUCCEEDED
from conformance.model.case import Case
from conformance.model.runs import Pack
from conformance.model.scenario import Observation, programs_of
from conformance.model.schedule import Event
from conformance.model.trace import Emission, Trace
from conformance.plugins.loading import NEXT, ask_for, asked
from conformance.plugins.next_port import with_next_version
from conformance.plugins.port import InvalidPort
from conformance.plugins.registry import load_engine, load_scenarios, users, users_scenarios

INDEXED = with_next_version(load_scenarios(["index-assignment"])[0], "global", "here")
(GUARANTEE,) = INDEXED.guarantees
BEFORE, FIRST, SECOND = (bundle.id for bundle in SUCCEEDED.bundles)


def case_of(before, behind):
    """Elements of the key a on both sides of the restart."""

    def events(number, since):
        return [Event(f"e{since + n}", "a", None, START + since + n + 1) for n in range(number)]

    rows = {BEFORE: events(before, 0), FIRST: events(behind, before), SECOND: []}
    return Case(INDEXED.id, "global", SUCCEEDED.with_bundles(rows))


def ran(engine, case):
    return engine.run(Pack((case,)), programs_of([INDEXED])).traces[case.id]


def found(trace, case):
    return [*GUARANTEE.predicate(Observation(case, trace))]


BOTH_SIDES = case_of(2, 1)


def indices(*told):
    """A trace with these indices: (step, element, index)."""
    return Trace.collect(Emission("a", {"id": f"e{n}", "index": index}, step) for step, n, index in told)


KEPT_BEFORE = (BEFORE, 0, 0), (BEFORE, 1, 1)


def test_state_is_kept_or_silently_gone():
    assert found(ran(Reference(), BOTH_SIDES), BOTH_SIDES) == [True]
    (gone,) = found(ran(mutant("next-operator-forgets"), BOTH_SIDES), BOTH_SIDES)
    assert gone.startswith("the state is silently gone")


def test_state_that_is_neither_kept_nor_gone_is_told_apart():
    (other,) = found(indices(*KEPT_BEFORE, (FIRST, 2, 7)), BOTH_SIDES)
    assert other.startswith("the next version goes on without a word")


def test_a_case_that_cannot_tell_says_nothing():
    for case in (case_of(2, 0), case_of(0, 2)):
        assert found(ran(Reference(), case), case) == []


def test_a_fault_of_the_version_before_is_not_taken_for_state_that_is_gone():
    (fault,) = found(indices((BEFORE, 0, 0), (BEFORE, 1, 0), (FIRST, 2, 0)), BOTH_SIDES)
    assert fault.startswith("the next version goes on without a word")


@pytest.mark.parametrize(("ended", "stands"), [({"refused": "NO"}, True), ({"failed": "oh"}, False)])
def test_a_refusal_is_an_answer_and_a_failure_is_none(ended, stands):
    trace = Trace.collect([*indices(*KEPT_BEFORE).emissions, Emission("a", ended, SUCCEEDED.restart)])
    assert [finding is True for finding in found(trace, BOTH_SIDES)] == [stands]


PORTS = """
from conformance.plugins.port import BeamPort, Port, SparkPort

class Processor:
    def handleInputRows(self, key, rows, timerValues):
        return rows

class Fn:
    def process(self, element):
        yield element

def same(what):
    return what

BEAM = BeamPort(dofn=Fn)
SPARK = SparkPort(processor=Processor, input="a string", row=same, output="a string", emission=same)
PORT = Port(name="i", scenario="index-assignment", program="global", spark=SPARK)
"""


UPDATES = """
from dataclasses import replace
PORT = replace(PORT, spark=replace(SPARK, mode="update"))
"""

STARTS_WITH_STATE = "PORT = Port(name='i', scenario='initial-state', program='continued', spark=SPARK)"


@pytest.fixture
def load(tmp_path, monkeypatch):
    """Writes two versions of a port and loads them."""
    monkeypatch.setattr("conformance.plugins.loading._asked", ())
    monkeypatch.setenv("PYTHONPATH", os.environ.get("PYTHONPATH", ""))
    monkeypatch.setattr(sys, "path", list(sys.path))

    def write(before, behind):
        for name, text in (("before.py", before), ("behind.py", behind)):
            (tmp_path / name).write_text(PORTS + text)
        ask_for([str(tmp_path / "before.py"), f"{NEXT}{tmp_path / 'behind.py'}"])
        return users()

    return write


def test_a_port_with_a_next_version_has_a_scenario_of_its_own(load):
    load("", UPDATES)
    (scenario,) = users_scenarios()
    assert scenario.id == "index-assignment-global-next-version"
    assert [guarantee.program for guarantee in scenario.guarantees] == ["global"]
    engine = load_engine("spark-port:i")
    assert engine.capabilities.runs(f"{scenario.id}/global")
    assert not engine.capabilities.runs("index-assignment/global")
    assert [engine.mode_of(change) for change in ("", "next version")] == ["append", "update"]
    assert [path.name for path in engine.sources] == ["before.py", "behind.py"]
    names = asked()
    ask_for(names)  # as another process is asked
    assert (asked(), [each.id for each in users_scenarios()]) == (names, [scenario.id])


@pytest.mark.parametrize(
    ("before", "behind", "says"),
    [
        ("", "PORT = Port(name='j', scenario='index-assignment', program='global', spark=SPARK)", "loaded: i of"),
        ("", "PORT = Port(name='i', scenario='per-key-counting', spark=SPARK)", "loaded: i of index-assignment/global"),
        ("", "PORT = Port(name='i', scenario='index-assignment', program='global', beam=BEAM)", "its sides"),
        (STARTS_WITH_STATE, STARTS_WITH_STATE, "its job is a special one"),
    ],
)
def test_what_cannot_be_a_next_version_is_one_line(load, before, behind, says):
    with pytest.raises(InvalidPort, match=f"^--next: port .: .*{says}"):
        load(before, behind)


def test_a_program_without_a_predicate_has_no_next_version():
    scenario = load_scenarios(["index-assignment"])[0]
    with pytest.raises(InvalidPort, match=r"^here: .* no predicate"):
        with_next_version(replace(scenario, guarantees=()), "global", "here")
