"""A cell is called violated only when a failing case fails again alone, and is judged there."""

import itertools
from dataclasses import replace

import pytest
from inprocess import PROGRAMS, InProcess

from conformance.confirmation.alone import Alone, fewest_neighbours
from conformance.confirmation.confirmer import Confirmer
from conformance.confirmation.owed import (
    OWED,
    Kind,
    Known,
    Mode,
    Owed,
    owed_to_new,
    patience,
)
from conformance.confirmation.reduction import Subject
from conformance.confirmation.replay import (
    FIXED,
    NOT_EXPRESSIBLE,
    NOT_REPLAYED,
    STANDS,
    STILL_FAILS,
    Replay,
    replay,
    runs_here,
    with_replays,
)
from conformance.confirmation.replays import replay_all
from conformance.confirmation.rerun import Rerun
from conformance.confirmation.targets import Targets, Violation
from conformance.execution.host import EngineDown
from conformance.judgement.cell import AS_DRAWN, Grade, MatrixCell, Verdict
from conformance.judgement.evidence import Against, Runs, error_of
from conformance.judgement.reference import reference_traces
from conformance.model.case import Case
from conformance.model.engine import EngineInfo, NotDriven
from conformance.model.feature import Feature, unsupported
from conformance.model.runs import Pack, PackRun
from conformance.model.scenario import Guarantee, Scenario, programs_of
from conformance.model.schedule import Advance, Deliver, Event, Restart, Schedule
from conformance.model.trace import Emission, Trace
from conformance.plugins.registry import load_engine, load_scenarios
from conformance.results.store import read_cases, write_cases
from conformance.results.witness import Confirmation, read_witnesses, write_witnesses

SCENARIO = next(s for s in load_scenarios() if s.id == "late-data")
NEVER_DROPPED = next(g for g in SCENARIO.guarantees if g.id == "an-on-time-element-is-never-dropped")
REFERENCE = load_engine("reference")
CASE = Case(
    "late-data",
    "global",
    Schedule(
        (
            Advance(0, 1_000),
            Deliver(1, (Event("e1", "a", None, 2_000),)),
            Deliver(2),
            Deliver(3, (Event("e2", "b", None, 2_000),)),
            Advance(4, 9_000),
        )
    ),
)


def drops_e2(pack, run):
    traces = {
        case: Trace(tuple(e for e in trace.emissions if e.value.get("processed") != "e2"))
        for case, trace in run.traces.items()
    }
    return replace(run, traces=traces)


def confirm(
    spoil,
    case=CASE,
    guarantee=NEVER_DROPPED,
    scenario=SCENARIO,
    replays=(),
    versions=None,
    others=(),
    perturbation=AS_DRAWN,
    against=True,
    programs=PROGRAMS,
    pack=None,
    mode=Mode.FULL,
):
    """(the cell, its witness if any, the engine process) of a violation by ``case``, or, without ``against``, by a
    replay alone."""
    info = EngineInfo("fake", "", REFERENCE.capabilities, environment=versions or {"fake": "1"})
    process = InProcess(REFERENCE, spoil)
    reference = reference_traces(programs)
    confirmer = Confirmer(
        info,
        [scenario],
        references=lambda lateness: reference,
        process=process,
        pack_of=lambda case: pack,
        mode=mode,
    )
    cell = MatrixCell("late-data", "global", guarantee.id, perturbation, "fake", Verdict.VIOLATED, "e2 was dropped")
    violation = Violation(cell, guarantee, (Against(case, "e2 was dropped"),) if against else ())
    runs = Runs()
    for member in (case, *others):
        runs.traces |= reference([member])
    known = {member.id: member for member in (case, *others)}
    (confirmed,) = confirmer.confirm([violation], runs, known, list(replays))
    return confirmed, confirmer.witnesses.get(confirmed.witness), process


def replayed(process, witnesses, packed=(), trusted=(), stands=(), go_on=lambda: True):
    """The replays of witnesses that are owed what these sets of ids say, and as many passes as their confirmations ask
    for."""
    owed = {w.id: Owed(w.id in packed, w.id in trusted, w.id in stands, passes=patience(w)) for w in witnesses}
    return replay_all(process, witnesses, owed, [SCENARIO], REFERENCE.capabilities, go_on)


def test_what_fails_alone_is_a_witness_without_what_it_does_not_need():
    cell, witness, _ = confirm(drops_e2)
    assert cell.verdict is Verdict.VIOLATED
    assert "e2" in cell.reason
    assert cell.intermittent == ""
    assert [step.id for step in witness.case.schedule.steps] == [0, 1, 2]
    assert [a.event.id for a in witness.case.schedule.arrivals] == ["e2"]
    assert [(c.failed, c.runs) for c in witness.confirmations] == [(3, 3)]
    assert [e.value["processed"] for e in witness.specified.emissions] == ["e2"]


def test_what_fails_only_in_a_pack_is_unknown_with_both_traces():
    cell, witness, _ = confirm(lambda pack, run: drops_e2(pack, run) if len(pack.cases) > 1 else run)
    assert cell.verdict is Verdict.UNKNOWN
    assert "fails only in a pack, not alone (0 of 3 runs)" in cell.reason
    assert witness.seen.emissions
    assert witness.packed_seen is not None


def beside(number, key="c"):
    """A case on CASE's timeline, with one element."""
    event = Event(f"n{number}", key, None, 2_000 + number)
    return replace(CASE, schedule=CASE.schedule.with_bundles({1: [event], 3: []}))


def crowded(pack, run):
    """Drops e2 in a pack of at least two cases that have the key "crowd"."""
    crowd = [case for case in pack.cases if any(a.event.key == "crowd" for a in case.schedule.arrivals)]
    return drops_e2(pack, run) if len(crowd) >= 2 else run


CROWD = [beside(7, "crowd"), beside(31, "crowd")]
PACKED = Pack(
    (*(beside(n) for n in range(5)), CROWD[0], CASE, *(beside(n) for n in range(8, 30)), CROWD[1], beside(32))
)


def test_what_fails_beside_others_alone_is_a_witness_of_several_cases(tmp_path):
    cell, witness, process = confirm(crowded, pack=PACKED)
    assert cell.verdict is Verdict.VIOLATED
    assert cell.reason.startswith("violated (needs 2 neighbours): ")
    assert list(witness.neighbours) == CROWD
    assert witness.packed_seen is None
    assert [(c.failed, c.runs) for c in witness.confirmations] == [(3, 3)]
    assert len(process.packs) < 50
    assert process.packs[-1].cases == (*CROWD, CASE)
    write_witnesses(tmp_path, [witness])
    assert read_witnesses(tmp_path) == [witness]
    again = InProcess(REFERENCE, crowded)
    assert replay(again, witness, [SCENARIO], REFERENCE.capabilities).answer == STILL_FAILS
    assert [pack.cases for pack in again.packs] == [(*CROWD, CASE)]
    alone = replace(witness, neighbours=())
    assert replay(again, alone, [SCENARIO], REFERENCE.capabilities).answer == FIXED
    assert alone.id != witness.id


def test_a_brief_run_does_not_search_what_a_case_needs_beside_it():
    cell, witness, process = confirm(crowded, pack=PACKED, mode=Mode.BRIEF)
    assert cell.verdict is Verdict.UNKNOWN
    assert "fails only in a pack, not alone" in cell.reason
    assert witness.neighbours == ()
    assert len(process.packs) < 5


def test_a_stored_witness_with_neighbours_is_replayed_and_confirmed_beside_them():
    _, witness, _ = confirm(crowded, pack=PACKED)
    process = InProcess(REFERENCE, crowded)
    (found,) = replayed(process, [witness], {witness.id})
    assert found.answer == STILL_FAILS
    cell, again, process = confirm(crowded, replays=[found], versions={"fake": "2"})
    assert cell.reason.startswith("violated (needs 2 neighbours): ")
    assert again.neighbours == witness.neighbours
    assert {len(pack.cases) for pack in process.packs} == {3}


def test_what_does_not_fail_again_beside_all_its_neighbours_is_unknown():
    cell, witness, _ = confirm(
        lambda pack, run: drops_e2(pack, run) if len(pack.cases) == 7 else run, pack=Pack((CASE, *CROWD))
    )
    assert cell.verdict is Verdict.UNKNOWN
    assert witness.neighbours == ()


@pytest.mark.parametrize("needed", [{3}, {0, 39}, {1, 2, 20}, set()])
def test_the_neighbours_that_are_needed_are_found_in_few_runs(needed):
    cases, tried = [beside(n) for n in range(40)], []

    def fails(kept):
        tried.append(kept)
        return {cases[n].id for n in needed} <= {case.id for case in kept}

    assert fewest_neighbours(cases, fails) == tuple(cases[n] for n in sorted(needed))
    assert len(tried) <= 40
    few = fewest_neighbours(cases, fails, runs=4)
    assert {cases[n].id for n in needed} <= {case.id for case in few}, "what is left when the runs end has failed"


def now_and_then(every):
    """An engine that drops e2 in each run that is a multiple of ``every``."""
    runs = []

    def spoil(pack, run):
        runs.append(pack)
        return run if len(runs) % every else drops_e2(pack, run)

    return InProcess(REFERENCE, spoil)


@pytest.mark.parametrize(("every", "share"), [(2, "2/3"), (4, "1/3"), (6, "1/9")])
def test_a_race_is_intermittent_and_needs_no_neighbours(every, share):
    """An engine that loses an element in one run of two, or of more, whatever is in the pack. That of six first fails
    again in its pack."""
    cell, witness, process = confirm(now_and_then(every).spoil, pack=PACKED)
    assert (cell.verdict, cell.intermittent, witness.neighbours) == (Verdict.VIOLATED, share, ())
    assert cell.reason.startswith(f"intermittent, {share} of its runs alone: e2")
    assert len(process.packs) < 20


def test_a_witness_that_fails_now_and_then_is_replayed_until_it_fails_or_has_passed_often_enough():
    _, witness, _ = confirm(drops_e2)
    can = REFERENCE.capabilities
    rare = replace(witness, confirmations=(replace(witness.confirmations[0], failed=1),))
    process = now_and_then(5)
    assert replay(process, rare, [SCENARIO], can).answer == STILL_FAILS
    assert len(process.packs) == 5
    process = now_and_then(100)
    assert replay(process, rare, [SCENARIO], can).answer == FIXED
    assert len(process.packs) == 9, "3/p for p = 1/3"
    process = now_and_then(100)
    assert replay(process, witness, [SCENARIO], can).answer == FIXED
    assert len(process.packs) == 1, "one that always failed"
    process = now_and_then(3)
    assert replay(process, witness, [SCENARIO], can, patience(witness, here=True)).answer == STILL_FAILS
    assert len(process.packs) == 3, "one that always failed on this very engine, too"
    assert patience(replace(witness, confirmations=(replace(witness.confirmations[0], failed=1, runs=90),))) == 30


def test_what_fails_alone_now_and_then_is_intermittent():
    alone = []

    def spoil(pack, run):
        if len(pack.cases) == 1:
            alone.append(pack)
        return drops_e2(pack, run) if len(pack.cases) > 1 or len(alone) % 2 else run

    cell, _, _ = confirm(spoil)
    assert cell.verdict is Verdict.VIOLATED
    assert cell.intermittent == "2/3"
    assert "intermittent, 2/3 of its runs alone" in cell.reason


def test_what_needs_the_empty_bundle_keeps_it():
    """An engine that loses what follows a bundle without rows."""

    def spoil(pack, run):
        empty = any(all(not bundle.events for bundle in case.schedule.bundles if bundle.id == 2) for case in pack.cases)
        return drops_e2(pack, run) if empty and len(pack.timeline) > 4 else run

    _, witness, _ = confirm(spoil)
    assert len(witness.case.schedule.bundles) == 3


def test_a_program_that_stops_where_the_reference_runs_it_is_a_violation():
    def stops(pack, run):
        return PackRun({case.id: Trace((Emission("a", None, 1, None, "KeyError: x"),)) for case in pack.cases})

    cell, witness, _ = confirm(stops)
    assert cell.verdict is Verdict.VIOLATED
    assert cell.reason == "the program stopped with KeyError: x (the reference runs it)"
    assert witness.seen.error == "KeyError: x"
    assert replay(InProcess(REFERENCE, stops), witness, [SCENARIO], REFERENCE.capabilities).answer == STILL_FAILS


def test_a_program_that_stops_on_the_reference_too_convicts_nobody():
    class Stops(type(SCENARIO.programs["global"])):
        def on_event(self, event, state, timers, emit):
            raise KeyError("x")

    scenario = replace(
        SCENARIO, programs={"global": Stops()}, domain={"global": SCENARIO.domain["global"]}, guarantees=()
    )
    guarantee = replace(NEVER_DROPPED)

    def stops(pack, run):
        return PackRun({case.id: Trace((Emission("a", None, 1, None, "KeyError: x"),)) for case in pack.cases})

    cell, witness, _ = confirm(stops, guarantee=guarantee, scenario=scenario, programs=programs_of([scenario]))
    assert (cell.verdict, witness) == (Verdict.ERROR, None)
    assert "and stops on the reference, too" in cell.reason


def test_a_predicate_that_fails_convicts_nobody():
    def broken(run):
        yield run.values("processed")[0]["no such field"]

    guarantee = Guarantee("broken", "global", broken)
    scenario = Scenario(
        "late data", "", {"global": SCENARIO.programs["global"]}, {"global": SCENARIO.domain["global"]}, (guarantee,)
    )
    cell, _, _ = confirm(lambda pack, run: run, guarantee=guarantee, scenario=scenario)
    assert cell.verdict is Verdict.ERROR
    assert "the predicate failed on this trace: KeyError" in cell.reason


@pytest.mark.parametrize(
    ("error", "verdict", "says"),
    [
        (NotDriven("a step was missed"), Verdict.ERROR, "alone it was not driven: a step was missed"),
        (EngineDown("it died"), Verdict.UNKNOWN, "alone it could not be run: it died"),
    ],
)
def test_a_run_alone_that_gives_nothing_convicts_nobody(error, verdict, says):
    def spoil(pack, run):
        raise error

    cell, _, _ = confirm(spoil)
    assert cell.verdict is verdict
    assert says in cell.reason


def test_a_witness_is_no_simpler_than_its_engine_can_express():
    """One that cannot drive the watermark is not given an element that is late to it."""
    process = InProcess(REFERENCE, drops_e2)
    lacking = replace(
        REFERENCE.capabilities,
        features={**REFERENCE.capabilities.features, Feature.WATERMARK: unsupported("it has none")},
    )
    reference = reference_traces(PROGRAMS)
    confirmer = Confirmer(
        EngineInfo("fake", "", lacking), [SCENARIO], references=lambda lateness: reference, process=process
    )

    def dropped(run):
        yield "e2" in str(run.emissions) or "e2 was dropped"

    guarantee = replace(NEVER_DROPPED, predicate=dropped)
    cell = MatrixCell("late-data", "global", guarantee.id, AS_DRAWN, "fake", Verdict.VIOLATED, "e2 was dropped")
    violation = Violation(cell, guarantee, (Against(CASE, "e2 was dropped"),))
    (confirmed,) = confirmer.confirm([violation], Runs(), {CASE.id: CASE}, [])
    assert all(a.on_time for a in confirmer.witnesses[confirmed.witness].case.schedule.arrivals)


def restarted(case):
    steps = [
        replace(step, id=n) for n, step in enumerate((*case.schedule.steps[:2], Restart(0), *case.schedule.steps[2:]))
    ]
    return Case(case.scenario, case.program, Schedule(tuple(steps)), "restart", case.id)


def test_a_failure_that_takes_a_restart_keeps_it_and_says_so():
    def spoil(pack, run):
        return drops_e2(pack, run) if any(isinstance(step, Restart) for step in pack.timeline) else run

    cell, witness, _ = confirm(spoil, case=restarted(CASE), others=[CASE], perturbation="restart")
    assert cell.verdict is Verdict.VIOLATED
    assert any(isinstance(step, Restart) for step in witness.case.schedule.steps)
    assert [a.event.id for a in witness.case.schedule.arrivals] == ["e2"]
    assert witness.flip.change == "without this: restart from the checkpoint: the claim stands"
    assert not any(isinstance(step, Restart) for step in witness.flip.schedule.steps)


@pytest.mark.parametrize(("mode", "reduced"), [(Mode.BRIEF, 1), (Mode.FULL, 2)])
def test_a_brief_run_reduces_only_the_first_failing_case_of_a_guarantee(mode, reduced):
    """Each witness has failed alone all the same."""

    def spoil(pack, run):
        return drops_e2(pack, run) if any(isinstance(step, Restart) for step in pack.timeline) else run

    info = EngineInfo("fake", "", REFERENCE.capabilities, environment={"fake": "1"})
    process, reference = InProcess(REFERENCE, spoil), reference_traces(PROGRAMS)
    confirmer = Confirmer(info, [SCENARIO], references=lambda lateness: reference, process=process, mode=mode)
    twins = [replace(restarted(CASE), perturbation=name) for name in ("restart", "several-changes")]
    violations = [
        Violation(
            MatrixCell("late-data", "global", NEVER_DROPPED.id, twin.perturbation, "fake", Verdict.VIOLATED, "dropped"),
            NEVER_DROPPED,
            (Against(twin, "e2 was dropped"),),
        )
        for twin in twins
    ]
    runs = Runs()
    for member in (CASE, *twins):
        runs.traces |= reference([member])
    cells = confirmer.confirm(violations, runs, {case.id: case for case in (CASE, *twins)}, [])
    assert [cell.verdict for cell in cells] == [Verdict.VIOLATED] * 2
    sizes = [len(list(confirmer.witnesses[cell.witness].case.schedule.arrivals)) for cell in cells]
    assert sum(size == 1 for size in sizes) == reduced
    assert sizes[0] == 1


def test_what_ends_with_an_error_is_not_what_gives_other_output():
    """A plan that only answers otherwise has a reduced witness for each guarantee."""
    failed = Trace.collect([Emission("", None, 0, error="the query failed")])
    assert error_of(CASE, {CASE.id: failed}) == "the query failed"
    assert not error_of(CASE, {CASE.id: Trace(())})
    assert not error_of(CASE, {})


def test_of_queries_that_failed_under_the_same_changes_those_of_four_programs_are_reduced():
    programs = [replace(CASE, program=f"p{n}") for n in range(6)]
    under = ("restart", "plan:one", "restart+plan:one")
    ended = {
        Kind((CASE.scenario, f"g{n} of p{p}", name)): case
        for name in ("", *under)
        for p, case in enumerate(programs)
        for n in range(2)
    }
    further = {Kind((CASE.scenario, f"g{n} of p{p}", name)) for name in under for p in (4, 5) for n in range(2)}
    owed = owed_to_new(ended, ended, Mode.FULL)
    assert {kind for kind, mine in owed.items() if not mine.reduced} == further


def test_what_was_run_alone_is_what_is_stored():
    """An engine whose answer depends on the id of a case, as the order of a hash table does."""
    twin = restarted(CASE)

    def drops(pack, run):
        spoiled = drops_e2(pack, run).traces
        return replace(
            run, traces={name: spoiled[name] if "~" in name else trace for name, trace in run.traces.items()}
        )

    cell, witness, process = confirm(drops, case=twin, others=[CASE], perturbation="restart")
    assert cell.verdict is Verdict.UNKNOWN, "the stored case does not fail"
    assert process.packs[-1].cases == (witness.case,)


def late_is_dropped_at_the_watermark(pack, run):
    """Drops what lies at the watermark of 1000 ms."""
    traces = {}
    for case in pack.cases:
        at = {a.event.id for a in case.schedule.arrivals if a.event.event_time == 1_000}
        kept = tuple(e for e in run.traces[case.id].emissions if e.value["processed"] not in at)
        traces[case.id] = Trace(kept)
    return replace(run, traces=traces)


def test_the_one_change_that_flips_the_outcome_is_named():
    guarantee = next(g for g in SCENARIO.guarantees if g.id == "an-element-exactly-at-the-watermark-is-processed")
    bundle = Deliver(1, (Event("e1", "a", None, 1_000),))
    case = Case("late-data", "global", Schedule((Advance(0, 1_000), bundle, Advance(2, 9_000))))
    _, witness, _ = confirm(late_is_dropped_at_the_watermark, case=case, guarantee=guarantee)
    assert witness.flip.change == "e1 1 ms later: what comes out is as expected"


def test_a_stop_of_the_watermark_can_flip_it():
    """The engine fires a timer that another's callback cleared; not where the watermark stops between the two."""
    scenario = next(s for s in load_scenarios() if s.id == "event-time-timers")
    guarantee = next(g for g in scenario.guarantees if g.id == "a-timer-cleared-from-a-timer-does-not-fire")
    bundle = Deliver(1, (Event("e1", "a", None, 1_001),))
    case = Case("event-time-timers", "chain", Schedule((Advance(0, 1_000), bundle, Advance(2, 90_000))))

    def spoil(pack, run):
        traces = dict(run.traces)
        for member in pack.cases:
            first = member.schedule.arrivals[0].event
            stray = Emission("a", {"fired": "cleared", "of": "e1", "time": first.event_time + 11_000}, 2)
            if len(member.schedule.advances) == 2:
                traces[member.id] = Trace((*run.traces[member.id].emissions, stray))
        return replace(run, traces=traces)

    _, witness, _ = confirm(spoil, case=case, guarantee=guarantee, scenario=scenario)
    assert witness.flip.change == "the watermark at 11001 first: the claim stands"
    assert witness.case.schedule.arrivals[0].on_time  # as the domain asks


def test_a_stored_witness_keeps_its_confirmation():
    """It is not run again for the versions that confirmed it, and is for others."""
    _, witness, _ = confirm(drops_e2)
    still = Replay(witness, STILL_FAILS, witness.message)
    cell, again, process = confirm(drops_e2, replays=[still])
    assert (cell.verdict, cell.witness, again) == (Verdict.VIOLATED, witness.id, witness)
    assert process.packs == []
    cell, again, process = confirm(drops_e2, replays=[still], versions={"fake": "2"})
    assert cell.witness == witness.id
    assert len(process.packs) == 2
    assert [c.versions["fake"] for c in again.confirmations] == ["1", "2"]


def test_what_a_replay_alone_speaks_against_is_confirmed_as_well():
    """On a version that has not confirmed the witness: this one fails there in one of its other two runs."""
    _, witness, _ = confirm(drops_e2)
    alone = []

    def spoil(pack, run):
        alone.append(pack)
        return drops_e2(pack, run) if len(alone) == 1 else run

    still = Replay(witness, STILL_FAILS, witness.message)
    cell, again, process = confirm(spoil, replays=[still], versions={"fake": "2"}, against=False)
    assert (cell.verdict, cell.intermittent, cell.witness) == (Verdict.VIOLATED, "2/3", witness.id)
    assert [len(pack.cases) for pack in process.packs] == [1, 1]
    assert [(c.versions["fake"], c.failed) for c in again.confirmations] == [("1", 3), ("2", 2)]


def test_a_witness_counts_as_often_as_it_failed_on_this_engine():
    """Not on another version, whatever the order; once where nobody has confirmed it here."""
    _, witness, _ = confirm(drops_e2)
    here = witness.confirmations[0]
    elsewhere = replace(here, versions={"fake": "2"}, failed=2)
    info = EngineInfo("fake", "", REFERENCE.capabilities, environment={"fake": "1"})
    for known in ((here, elsewhere), (elsewhere, here)):
        assert runs_here(replace(witness, confirmations=known), info) == (3, 3)
    assert runs_here(replace(witness, confirmations=(here, replace(here, adapter="old", failed=1))), info) == (3, 3)
    assert runs_here(replace(witness, confirmations=(elsewhere,)), info) == (1, 1)
    assert runs_here(replace(witness, confirmations=()), info) == (1, 1)


def test_a_fixed_witness_does_not_stand_for_another_failure():
    _, witness, _ = confirm(drops_e2)
    cell, _, process = confirm(drops_e2, replays=[Replay(witness, FIXED, "")])
    assert process.packs
    assert cell.verdict is Verdict.VIOLATED


def test_a_replay_answers():
    _, witness, _ = confirm(drops_e2)
    can = REFERENCE.capabilities
    assert replay(InProcess(REFERENCE, drops_e2), witness, [SCENARIO], can).answer == STILL_FAILS
    assert replay(InProcess(REFERENCE), witness, [SCENARIO], can).answer == FIXED

    def down(pack, run):
        raise EngineDown("it died")

    broken = replay(InProcess(REFERENCE, down), witness, [SCENARIO], can)
    assert (broken.answer, broken.message) == ("ERROR", "it died")
    lacking = replace(can, features={**can.features, Feature.COMBINING: unsupported("it has none")})
    refused = replay(InProcess(REFERENCE), witness, [SCENARIO], lacking)
    assert (refused.answer, refused.message) == (NOT_EXPRESSIBLE, "combining state: it has none")


def test_witnesses_that_fail_together_are_not_run_alone_and_the_others_are():
    """Two witnesses of one timeline, about the elements e2 and e3; the engine drops e2 always, e3 when it is alone."""
    _, witness, _ = confirm(drops_e2)
    schedule = witness.case.schedule
    renamed = [replace(b, events=tuple(replace(e, id="e3") for e in b.events)) for b in schedule.bundles]
    steps = tuple(next((b for b in renamed if b.id == step.id), step) for step in schedule.steps)
    other = replace(witness, case=replace(witness.case, schedule=Schedule(steps)))

    def spoil(pack, run):
        dropped = {"e2"} if len(pack.cases) > 1 else {"e2", "e3"}
        traces = {
            case: Trace(tuple(e for e in trace.emissions if e.value.get("processed") not in dropped))
            for case, trace in run.traces.items()
        }
        return replace(run, traces=traces)

    process = InProcess(REFERENCE, spoil)
    replays = replayed(process, [witness, other], {witness.id, other.id})
    assert [found.answer for found in replays] == [STILL_FAILS, STILL_FAILS]
    assert [len(pack.cases) for pack in process.packs] == [2, 1]
    process = InProcess(REFERENCE, spoil)
    replayed(process, [witness, other])
    assert [len(pack.cases) for pack in process.packs] == [1, 1]


def test_a_witness_that_passes_in_a_pack_runs_alone_only_where_that_was_asked_for():
    """What fails only sometimes runs alone all the same: one pass says nothing of it."""
    _, witness, _ = confirm(drops_e2)
    mine = {witness.id}
    process = InProcess(REFERENCE)
    (found,) = replayed(process, [witness], mine, trusted=mine)
    assert (found.answer, len(process.packs)) == (FIXED, 1)
    process = InProcess(REFERENCE)
    (found,) = replayed(process, [witness], mine)
    assert (found.answer, len(process.packs)) == (FIXED, 2)
    rarely = replace(witness, confirmations=(Confirmation("reference", {}, "", 1, 2),))
    process = InProcess(REFERENCE)
    (found,) = replayed(process, [rarely], mine, trusted=mine)
    assert (found.answer, len(process.packs)) == (FIXED, 1 + 6)


def on_timelines(*watermarks):
    """Witnesses of drops_e2, each with an advance to this watermark (ms) at its end."""
    _, witness, _ = confirm(drops_e2)
    *steps, _ = witness.case.schedule.steps
    at = [replace(witness.case, schedule=Schedule((*steps, Advance(9, watermark)))) for watermark in watermarks]
    found = [replace(witness, case=case) for case in at]
    return found, {w.id for w in found}


def test_some_of_the_sampled_witnesses_run_and_the_others_stand_if_they_fail():
    """The pack with most of them runs first. One that is not sampled runs in any case."""
    witnesses, mine = on_timelines(9_000, 9_001, 9_002)
    bundles = {step.id: [replace(e, key="c") for e in step.events] for step in witnesses[2].case.schedule.bundles}
    case = witnesses[2].case
    both = replace(witnesses[2], case=replace(case, schedule=case.schedule.with_bundles(bundles)))
    witnesses, mine = [*witnesses, both], {*mine, both.id}
    process = InProcess(REFERENCE, drops_e2)
    replays = replayed(process, witnesses, mine, stands=mine)
    assert [found.answer for found in replays] == [STANDS, STANDS, STILL_FAILS, STILL_FAILS]
    assert [len(pack.cases) for pack in process.packs] == [2]
    assert {found.message for found in replays} == {witnesses[0].message}
    process = InProcess(REFERENCE, drops_e2)
    replays = replayed(process, witnesses, mine, stands=mine - {witnesses[0].id})
    assert [found.answer for found in replays] == [STILL_FAILS, STANDS, STILL_FAILS, STILL_FAILS]


def test_all_sampled_witnesses_run_if_one_of_the_sample_does_not_fail():
    witnesses, mine = on_timelines(9_000, 9_001, 9_002, 9_003)

    def spoil(pack, run):
        return run if pack.timeline[-1].watermark == 9_000 else drops_e2(pack, run)

    process = InProcess(REFERENCE, spoil)
    replays = replayed(process, witnesses, mine, mine, stands=mine)
    assert [found.answer for found in replays] == [FIXED, STILL_FAILS, STILL_FAILS, STILL_FAILS]


def test_without_a_sample_that_ran_nothing_stands():
    """As where all witnesses need neighbours, which no pack of several witnesses has; where one ran, they stand."""
    (one,), mine = on_timelines(9_000)
    crowded_one = replace(one, neighbours=(replace(one.case, schedule=one.case.schedule.with_bundles({1: []})),))
    process = InProcess(REFERENCE, drops_e2)
    ids = {crowded_one.id, *mine}
    assert replayed(process, [crowded_one], ids, stands=ids)[0].answer == STILL_FAILS
    replays = replayed(process, [crowded_one, one], ids, stands=ids)
    assert [found.answer for found in replays] == [STANDS, STILL_FAILS]


def test_a_witness_that_stands_violates_its_cell_and_is_not_confirmed_again():
    _, witness, _ = confirm(drops_e2)
    stands = Replay(witness, STANDS, witness.message)
    cell, again, process = confirm(drops_e2, replays=[stands])
    assert (cell.verdict, again, process.packs) == (Verdict.VIOLATED, witness, [])
    place = {"scenario": "late-data", "program": "global", "guarantee": NEVER_DROPPED.id, "perturbation": AS_DRAWN}
    held = MatrixCell(**place, engine="fake", verdict=Verdict.HOLDS, reason="", cases=3)
    told = with_replays(held, [stands])
    assert (told.verdict, told.witness) == (Verdict.VIOLATED, witness.id)
    assert (told.grade, told.reason) == (Grade.STANDS, stands.message)


def test_a_witness_that_a_budget_leaves_no_time_for_is_not_replayed():
    _, witness, _ = confirm(drops_e2)
    process = InProcess(REFERENCE)
    (found,) = replayed(process, [witness], {witness.id}, go_on=lambda: False)
    assert (found.answer, process.packs) == (NOT_REPLAYED, [])


def test_cases_with_odd_line_breaks_survive_their_file(tmp_path):
    """U+2028 and U+0085 are line breaks to some, and text to JSON."""
    schedule = Schedule((Advance(0, 1), Deliver(1, (Event("e1", "a", "\u2028 \u0085", 5),)), Advance(2, 9)))
    case = Case("late-data", "global", schedule)
    write_cases(tmp_path / "cases.parquet", [case])
    assert list(read_cases(tmp_path / "cases.parquet", [SCENARIO])) == [[case]]


def test_twins_share_the_runs_of_their_base():
    process = InProcess(REFERENCE, lambda pack, run: run)
    rerun = Rerun(REFERENCE.capabilities, PROGRAMS, process)
    for number in range(2):
        for order in ((1, 3), (3, 1)):
            bundles = dict(zip(order, ([CASE.schedule.bundles[0].events[0]], []), strict=True))
            twin = replace(CASE, schedule=CASE.schedule.with_bundles(bundles), perturbation="merge", base=CASE.id)
            assert set(rerun.alone(Subject(twin, CASE), number=number)) == {CASE.id, twin.id}
    ran = [case.schedule for pack in process.packs for case in pack.cases]
    assert ran.count(CASE.schedule) == 2  # once for each number
    assert rerun.alone_runs == len(ran) == 6


@pytest.mark.parametrize(("fails", "counted"), [((0,), (1, 1)), ((3,), (1, 3))])
def test_a_further_witness_of_a_guarantee_runs_alone_once_if_it_fails(fails, counted):
    times = itertools.count()

    def sometimes(pack, run):
        return drops_e2(pack, run) if len(pack.cases) > 1 or next(times) in fails else run

    process = InProcess(REFERENCE, sometimes)
    info = EngineInfo("fake", "", REFERENCE.capabilities, environment={"fake": "1"})
    reference = reference_traces(PROGRAMS)
    targets, rerun = Targets([SCENARIO], reference), Rerun(info.capabilities, PROGRAMS, process)
    target = targets._target(NEVER_DROPPED, [Subject(CASE)])
    witness = Alone(info, [SCENARIO], targets, rerun, reference, reference).witness(
        target, OWED[Known.FURTHER, Mode.FULL]
    )
    assert [(c.failed, c.runs) for c in witness.confirmations] == [counted]
