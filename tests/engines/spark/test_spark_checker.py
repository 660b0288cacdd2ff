"""The check of a large run, as a Spark job, finds what the check in the process finds."""

import pytest
from drawn import suite_of

from conformance.engines.spark import checker as checker_module
from conformance.execution.packing import packs_of
from conformance.judgement.batches import Judgement
from conformance.judgement.evidence import Runs
from conformance.model.checker import Batch
from conformance.model.engine import EngineInfo
from conformance.model.scenario import programs_of
from conformance.plugins.registry import load_checker, load_engine, load_scenarios
from conformance.results import tables
from conformance.results.store import Store, write_cases
from conformance.run.checks import Checks

pytestmark = pytest.mark.engine

SCENARIOS = load_scenarios(["index-assignment", "late-data"])
PROGRAMS = programs_of(SCENARIOS)


class InThisProcess:
    """A host whose process is this one."""

    def __init__(self, checker):
        self.checker = checker
        self.batches = []

    def check(self, name, batch):
        assert isinstance(batch, Batch)
        self.batches.append(batch)
        self.checker.run(batch)


@pytest.fixture
def checker(spark, tmp_path):
    found = load_checker("spark")
    found.check()
    found.open(tmp_path)
    yield found
    found.close()


@pytest.mark.parametrize("name", ["mutant:last-of-a-bundle-dropped", "mutant:drops-counted-twice"])
def test_it_finds_the_same(checker, tmp_path, monkeypatch, name):
    monkeypatch.setattr(checker_module, "AT_A_TIME", 50)  # in several groups
    cases = suite_of(SCENARIOS, 1, 1).cases
    engine = load_engine(name)
    info = EngineInfo(engine.id, engine.title, engine.capabilities)
    runs = Runs()
    for pack in packs_of(cases, 1_000):
        runs.add(pack, engine.run(pack, PROGRAMS))
    store, host = Store(tmp_path), InThisProcess(checker)
    for _ in store.replaced_by([cases]):
        pass
    write_cases(store.handed(name, 0), cases)
    tables.write(store.traces(name, 0), tables.run_table(cases, runs))
    said = {}
    for where in ("local", "spark"):
        checked = Checks(SCENARIOS, store, where, lambda: host).check(info, 0, cases, runs)
        judgement = Judgement(SCENARIOS, info)
        judgement.add(checked, {case.id: case for case in cases}, runs.traces, runs.notes)
        said[where] = list(judgement.cells()), list(judgement.stabilities())
    assert len(host.batches) == 1
    assert any(against for _, _, against in said["local"][0])
    assert said["spark"] == said["local"]
