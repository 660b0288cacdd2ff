"""What is stored comes back as it was, and a check over tables finds what the check in one piece finds."""

import random

import pyarrow as pa
import pytest
from drawn import suite_of

from conformance.execution.packing import packs_of
from conformance.judgement.batches import Judgement, check
from conformance.judgement.evidence import Runs
from conformance.judgement.reference import reference_traces
from conformance.model.case import Case
from conformance.model.engine import EngineInfo
from conformance.model.runs import Pack, PackRun, StepCount
from conformance.model.scenario import programs_of
from conformance.model.schedule import Advance, Deliver, Event, Schedule
from conformance.model.trace import Emission, Trace
from conformance.plugins.registry import load_engine, load_scenarios
from conformance.results import tables
from conformance.results.store import Store, UnusableCases, read_cases, write_cases

SCENARIOS = load_scenarios(["index-assignment", "late-data"])
PROGRAMS = programs_of(SCENARIOS)


def _case(name="e1", **more):
    event = Event(name, "ä", {"n": [1, None]}, 20)
    return Case("s", "p", Schedule((Advance(0, 10), Deliver(1, (event,)), Advance(2, 30))), **more)


BASE = _case()
TWIN = _case("e2", perturbation="restart", base=BASE.id)


def test_cases_come_back_as_they_were():
    assert tables.cases_of(tables.case_table([BASE, TWIN])) == [BASE, TWIN]
    assert tables.cases_of(tables.case_table([])) == []
    assert tables.case_table([BASE, TWIN]).column("family").to_pylist() == [BASE.id] * 2


def test_a_run_comes_back_as_it_was():
    pack = Pack((BASE, _case("e3")))
    run = PackRun(
        {BASE.id: Trace((Emission("ä", {"n": 1.5}, 1, 5), Emission("a", None, 2, None, "ValueError: no")))},
        (StepCount(1, 2, 1, None), StepCount(3, 1, 1, 0)),
        frozenset({BASE.id}),
        {"s/p": "a remark"},
    )
    assert tables.pack_run_of(tables.pack_run_table(pack, run), pack) == run


def test_runs_come_back_as_they_were_or_a_part_of_them():
    others = [_case(name) for name in ("e4", "e5", "e6")]
    runs = Runs(lost={others[0].id: "it crashed"}, faults={others[1].id: "not driven"})
    runs.add(Pack((others[2],)), PackRun({others[2].id: Trace(())}, (StepCount(1, 5, 5, 1),)))
    runs.add(Pack((BASE, TWIN)), PackRun({BASE.id: Trace(())}, (StepCount(1, 2, 1, 0),), frozenset({TWIN.id})))
    cases = {case.id: case for case in (BASE, TWIN, *others)}
    table = tables.run_table(cases.values(), runs)
    found = tables.runs_of(table, cases)
    # A pack's own run is kept for its counts.
    runs.packs = [(pack, PackRun({}, run.counts)) for pack, run in runs.packs]
    assert found == runs
    assert tables.traces_of(table) == runs.traces
    part = tables.runs_of(table.slice(0, 2), cases)
    assert (part.traces, part.lost, part.faults) == ({BASE.id: Trace(())}, {}, {})
    assert part.packs == [(Pack((BASE, TWIN)), PackRun({}, (StepCount(1, 2, 1, 0),)))]


@pytest.fixture(scope="module")
def drawn():
    return suite_of(SCENARIOS, 2, 1).cases


MUTANTS = ["mutant:last-of-a-bundle-dropped", "mutant:late-filter-off-by-one", "mutant:drops-counted-twice"]


def _ran(name, cases):
    engine = load_engine(name)
    runs = Runs()
    for pack in packs_of(cases, 1_000):
        runs.add(pack, engine.run(pack, PROGRAMS))
    runs.lost[cases[0].id] = "gone"
    del runs.traces[cases[0].id]
    return EngineInfo(engine.id, engine.title, engine.capabilities), runs


def _said(judgement):
    return list(judgement.cells()), list(judgement.stabilities())


@pytest.mark.parametrize("name", MUTANTS)
def test_check_results_say_the_same_in_one_table_and_in_parts(drawn, name):
    """Of families that stay together, checked apart, in any order."""
    info, runs = _ran(name, drawn)
    by_id = {case.id: case for case in drawn}
    reference = reference_traces(PROGRAMS, info.capabilities.lateness)
    whole = Judgement(SCENARIOS, info)
    whole.add(check(SCENARIOS, drawn, runs, info, reference), by_id, runs.traces, runs.notes)
    assert any(against for _, _, against in whole.cells())

    stored = tables.run_table(drawn, runs)
    parts = []
    for family in sorted({tables.family(case) for case in drawn}):
        rows = stored.filter(pa.compute.equal(stored.column("family"), family))
        given = [case for case in drawn if tables.family(case) == family]
        part = tables.runs_of(rows, {case.id: case for case in given})
        parts.append(tables.part_of_check(check(SCENARIOS, given, part, info, reference)))
    random.Random(1).shuffle(parts)
    together = Judgement(SCENARIOS, info)
    together.add(tables.whole_check(pa.concat_tables(parts)), by_id, runs.traces, runs.notes)
    assert _said(together) == _said(whole)
    assert together.runs.traces == whole.runs.traces

    batches = Judgement(SCENARIOS, info)
    for part in map(tables.whole_check, parts):
        batches.add(part, by_id, runs.traces, {})
    assert _said(batches) == _said(whole)


def test_cases_are_read_from_a_folder_batch_by_batch(tmp_path, drawn):
    store = Store(tmp_path)
    halves = [[c for c in drawn if (c.scenario == "late-data") is late] for late in (True, False)]
    assert list(store.replaced_by(halves)) == halves
    assert store.batches == [0, 1]
    assert [store.count(batch) for batch in store.batches] == [len(half) for half in halves]
    assert list(read_cases(tmp_path, SCENARIOS)) == halves
    # From itself, with one of the scenarios alone.
    assert list(store.replaced_by(read_cases(store.folder / "cases", SCENARIOS[1:]))) == [halves[0]]
    assert store.batches == [0]


def test_files_that_are_no_use_are_one_line(tmp_path):
    nowhere, text, lacks, twice = (tmp_path / f"{name}.parquet" for name in ("nowhere", "text", "lacks", "twice"))
    text.write_text("cases")
    case = Case("index-assignment", "global", BASE.schedule)
    write_cases(lacks, [Case("index-assignment", "global", BASE.schedule, "restart", "base")])
    write_cases(twice, [case, case])
    for path, says in [
        (nowhere, "cannot read cases from"),
        (text, "cannot read cases from"),
        (lacks, "lacks the case base"),
        (twice, "holds a case twice"),
    ]:
        with pytest.raises(UnusableCases, match=says) as raised:
            list(read_cases(path, SCENARIOS))
        assert "\n" not in str(raised.value)
    write_cases(nowhere, [_case()])
    with pytest.raises(UnusableCases, match="no case of the scenarios asked for"):
        list(read_cases(nowhere, SCENARIOS))
