"""Jobs that are killed with their state in each store: what is asked, and what is told of it."""

from dataclasses import replace

import pytest
from hostile import hostile_results

from conformance.comparison.crashes import POINTS, Killed, kill, stores_of
from conformance.judgement.cell import Verdict
from conformance.judgement.coverage import KILLED, kills
from conformance.model.case import program_ref
from conformance.model.perturbation import CRASH, factors_of
from conformance.model.scenario import programs_of
from conformance.model.schedule import Restart
from conformance.plugins.registry import engine_ids, load_engine, load_scenarios, package_of
from conformance.results.store import read_cases
from conformance.run.options import Options

SCENARIOS = tuple(load_scenarios(["per-key-counting", "damaged-checkpoints"]))


@pytest.fixture
def options(tmp_path):
    return Options((), SCENARIOS, tmp_path)


@pytest.fixture
def asked():
    """What runs are asked; all of it holds."""
    made = []

    def run(options):
        made.append(options)
        found = hostile_results()
        cell = replace(found.cells[0], perturbation=CRASH.id, verdict=Verdict.HOLDS, witness="")
        cells = [replace(cell, engine=engine, coverage=dict.fromkeys(KILLED, 1)) for engine in options.engines]
        record = replace(next(iter(found.environment.values())), versions={"toy": "1.2"}, failure="")
        return replace(found, cells=cells, environment=dict.fromkeys(options.engines, record))

    return made, run


def test_each_engine_is_asked_with_its_state_in_each_store_that_it_has():
    spark = [name for name in engine_ids() if package_of(name) == "pyspark"]
    found = stores_of(spark)
    stores = {engine: {store for (store, _), mine in found.items() if engine in mine} for engine in spark}
    rocksdb = {"rocksdb", "rocksdb-changelog", "rocksdb-changelog, format 2"}
    assert stores.pop("spark-tws-tester") == set(), "it has no checkpoint"
    of_tws = {engine: mine for engine, mine in stores.items() if engine.startswith("spark-tws")}
    assert all(mine == rocksdb for mine in of_tws.values())
    assert all(mine == {*rocksdb, "hdfs"} for engine, mine in stores.items() if engine not in of_tws)
    assert len(of_tws) >= 3
    assert len(stores) - len(of_tws) >= 15


def test_cases_are_killed_at_every_point_with_state_where_the_plan_has_it(options, asked):
    made, run = asked
    ((found,),) = kill({("rocksdb-changelog", "state-changelog"): ["spark-tws"]}, options, run)
    assert (found.place, found.release) == (("spark-tws", "rocksdb-changelog"), "1.2")
    assert (found.kept, found.violated) == (dict.fromkeys(POINTS, 1), {})
    (mine,) = made
    (cases,) = read_cases(mine.cases_from, SCENARIOS)
    twins = [case for case in cases if case.base]
    assert {case.scenario for case in cases} == {"per-key-counting"}, "what is damaged is not killed"
    assert set().union(*(kills(twin.schedule) for twin in twins)) == {*KILLED}
    assert all(factors_of(twin.perturbation) == ("crash", "plan:state-changelog") for twin in twins)
    assert not any(isinstance(step, Restart) for twin in twins for step in twin.schedule.steps)
    can, programs = load_engine("spark-tws").capabilities, programs_of(SCENARIOS)
    assert all(can.takes(twin, programs[program_ref(twin.scenario, twin.program)]) for twin in twins)
    assert mine.wanted == 0, "the cases run as they are"


def test_what_is_known_is_not_asked_again_but_for_what_failed(options, asked):
    made, run = asked
    stores = {("rocksdb", ""): ["spark-tws", "spark-tws-jvm"], ("hdfs", ""): ["spark-fmgws-jvm"]}
    known = [Killed("spark-tws", "rocksdb"), Killed("spark-fmgws-jvm", "hdfs", failure="no Java found")]
    assert [row.engine for rows in kill(stores, options, run, known) for row in rows] == [
        "spark-tws-jvm",
        "spark-fmgws-jvm",
    ]
    assert len({mine.out for mine in made}) == 2
