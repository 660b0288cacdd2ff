"""Packs whose run fails for a reason that is not a case's are run again; an engine that fails from the start is given
up."""

import itertools
from dataclasses import replace

import pytest
from inprocess import InProcess

from conformance.execution.ask import Ask, parts_of
from conformance.execution.host import EngineDown, EngineEnded, NoAnswer
from conformance.execution.process import FirstRuns, Process
from conformance.model.case import Case
from conformance.model.engine import CannotRun, NotDriven
from conformance.model.next_version import next_versions
from conformance.model.runs import Pack
from conformance.model.scenario import programs_of
from conformance.model.schedule import Advance, Deliver, Event, Schedule
from conformance.model.trace import Emission, Trace
from conformance.plugins.registry import load_engine, load_scenarios

REFERENCE = load_engine("reference")
REFUSED = "RuntimeError: Python worker failed to connect back"


def pack(number, value=None):
    bundle = Deliver(1, (Event("e1", "a", value, 2_000 + number),))
    return Pack((Case("late-data", "global", Schedule((Advance(0, 1_000), bundle, Advance(2, 9_000)))),))


PACKS = tuple(pack(number) for number in range(6))


class Supply:
    """Processes of one engine. ``fails`` gets the number of a process, the pack, and how often it was run: the cause,
    or None."""

    def __init__(self, fails):
        self._fails, self._times = fails, {}
        self.started, self.runs, self.first_runs = [], [], FirstRuns()

    def start(self):
        number = len(self.started)

        def spoil(pack, run):
            times = self._times[pack] = self._times.get(pack, 0) + 1
            self.runs.append((number, PACKS.index(pack)))
            if error := self._fails(number, pack, times):
                process.alive = process.alive and not isinstance(error, EngineEnded)
                raise error
            return run

        process = InProcess(REFERENCE, spoil)
        self.started.append(process)
        return process

    def given(self, packs=PACKS):
        first, beside = (Process(self.start, watch=self.first_runs) for _ in range(2))
        return Ask(first, beside).packs(packs)


def test_a_query_that_dies_once_is_run_again_and_nothing_is_lost():
    supply = Supply(lambda process, pack, times: EngineDown(REFUSED) if pack is PACKS[1] and times == 1 else None)
    given = supply.given()
    assert (given.lost, given.failure, len(given.traces)) == ({}, "", 6)
    assert len(supply.started) == 1


def test_a_query_that_dies_again_is_run_in_a_fresh_process():
    supply = Supply(lambda process, pack, times: EngineDown(REFUSED) if pack is PACKS[1] and process == 0 else None)
    given = supply.given()
    assert (given.lost, given.failure) == ({}, "")
    assert supply.runs[1:4] == [(0, 1), (0, 1), (1, 1)]
    assert supply.runs[4:] == [(0, 2), (0, 3), (0, 4), (0, 5)]


@pytest.mark.parametrize(
    ("down", "cause"), [(EngineDown, REFUSED), (EngineEnded, "the engine's process ended with code 1")]
)
def test_a_pack_that_fails_everywhere_is_lost_and_no_other(down, cause):
    given = Supply(lambda process, pack, times: down(cause) if pack is PACKS[2] else None).given()
    assert given.lost == {PACKS[2].cases[0].id: cause}
    assert given.failure == cause
    assert len(given.traces) == 5


def test_a_pack_that_hangs_is_not_run_again_and_the_next_has_a_fresh_process():
    supply = Supply(lambda process, pack, times: NoAnswer("no answer within 9 s") if pack is PACKS[0] else None)
    given = supply.given()
    assert list(given.lost) == [PACKS[0].cases[0].id]
    assert supply.runs == [(0, 0), *((1, number) for number in range(1, 6))]


def test_an_engine_that_fails_its_first_packs_in_one_way_is_given_up_with_one_line():
    numbers = itertools.count(4_000)
    supply = Supply(lambda process, pack, times: EngineDown(f"RuntimeError: no worker at port {next(numbers)}"))
    given = supply.given()
    assert len(given.lost) == 6
    assert {number for _, number in supply.runs} == {0, 1}, "the other packs are not tried"
    given_up = "given up, because its first runs failed in one way: RuntimeError: no worker at port"
    assert given.failure.startswith(given_up)
    assert all(given.lost[p.cases[0].id].startswith(given_up) for p in PACKS[2:])


def test_an_engine_whose_process_always_ends_is_given_up():
    supply = Supply(lambda process, pack, times: EngineEnded(f"the engine's process ended with code {-times}"))
    assert len(supply.given().lost) == 6
    assert len(supply.started) <= 4


def test_an_engine_that_has_answered_or_fails_in_several_ways_is_not_given_up():
    answered = Supply(lambda process, pack, times: None if pack is PACKS[0] else EngineDown(REFUSED))
    answered.given()
    several = Supply(lambda process, pack, times: EngineDown(f"Error {'abcdef'[PACKS.index(pack)]}"))
    several.given()
    for supply in (answered, several):
        assert {number for _, number in supply.runs} == set(range(6))


def test_a_process_that_cannot_be_started_again_loses_what_is_left():
    supply = Supply(lambda process, pack, times: EngineEnded("the engine's process ended with code 1"))

    def refuse():
        raise CannotRun("no room")

    starts = iter([supply.start, *[refuse] * 20])
    given = Ask(Process(lambda: next(starts)()), Process(refuse)).packs(PACKS)
    assert len(given.lost) == 6


def of(scenario, program, number, value=None):
    return Case(scenario, program, pack(number, value).cases[0].schedule)


def apart(pack):
    return parts_of(programs_of(load_scenarios()), pack)


def test_a_pack_falls_apart_by_what_may_end_a_query():
    """Typed values, containers, values that do not fit, typed keys, and each next version, in any order; programs
    without types stay together."""
    programs = programs_of(load_scenarios())
    programs = {ref: program for ref, program in programs.items() if not next_versions(program)}
    mixed = Pack(tuple(of(*ref.split("/"), number) for number, ref in enumerate(programs)))
    parts = {frozenset(f"{c.scenario}/{c.program}" for c in part.cases) for part in apart(mixed)}
    assert len(parts) == 5
    alike = {
        frozenset(ref for ref, p in programs.items() if p.misfits),
        frozenset(ref for ref, p in programs.items() if p.keys),
    }
    assert alike < parts
    assert {ref for part in parts for ref in part} == set(programs)


def test_a_part_that_fails_falls_apart_by_program():
    """What ends a query with one program's values is no fault of another program with such values."""
    containers = [of("typed-collections", "collections", number) for number in (1, 2)]
    assert len(apart(Pack(tuple(containers)))) == 1
    others = [of("typed-state", "containers", 3), of("combined-calls", "typed", 4)]
    assert [len(part.cases) for part in apart(Pack((*containers, *others)))] == [1, 2, 1]
    untyped = (of("late-data", "global", 1), of("value-state", "one value", 2))
    assert apart(Pack(untyped)) == [Pack(untyped)], "a query of such programs does not end for one's values"


def test_each_next_version_is_a_part_of_its_own():
    """It may read the state of another one."""
    name, changes = "next-versions/sums", next_versions(programs_of(load_scenarios())["next-versions/sums"])
    about = tuple(of(*name.split("/"), number, change) for number, change in enumerate(changes))
    assert len(apart(Pack(about))) == len(changes)


@pytest.mark.parametrize(("error", "driven"), [(EngineDown, ""), (NotDriven, "the schedule was not driven: ")])
def test_a_pack_that_fails_as_a_whole_runs_in_its_parts_and_only_the_guilty_one_is_lost(error, driven):
    """Nor is the engine given up for it. A query that a program ended before it was to fail was not driven."""
    whole = Pack(
        tuple(of(*ref.split("/"), 1) for ref in ("typed-state/values", "typed-keys/values", "late-data/global"))
    )
    runs = []

    class Fails(InProcess):
        def run(self, pack):
            runs.append(len(pack.cases))
            if any(case.scenario == "typed-state" for case in pack.cases):
                raise error("a value cannot be encoded")
            return super().run(pack)

    engine = Process(lambda: Fails(REFERENCE), parts=apart)
    given = Ask(engine, parts=apart).packs((whole, whole))
    assert {**given.lost, **given.faults} == {whole.cases[0].id: f"{driven}a value cannot be encoded"}
    assert set(given.traces) == {case.id for case in whole.cases[1:]}
    assert runs == [3, 1, 1, 1] * 2
    assert engine.given_up == ""


def test_a_pack_whose_query_ends_with_an_error_runs_in_its_parts():
    """A plan's answer is an error for all cases of the pack, whichever of them ended the query."""
    whole = Pack(
        tuple(of(*ref.split("/"), 1) for ref in ("typed-state/values", "typed-keys/values", "late-data/global"))
    )

    class Ends(InProcess):
        def run(self, pack):
            run = super().run(pack)
            if not any(case.scenario == "typed-state" for case in pack.cases):
                return run
            return replace(run, traces=dict.fromkeys(run.traces, Trace.collect([Emission("", None, 0, error="ended")])))

    engine = Process(lambda: Ends(REFERENCE), parts=apart)
    given = Ask(engine, parts=apart).packs((whole,))
    ended = {case.scenario for case in whole.cases if given.traces[case.id].error}
    assert ended == {"typed-state"}
    assert given.lost == {}
