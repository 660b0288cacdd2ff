"""Verify the verifier: nothing accuses the reference, every mutant is caught, also in pairs, every guarantee can
fail."""

import io
from dataclasses import replace

import pytest
from drawn import all_cases, suite_of
from rich.console import Console
from unconfirmed import judged

from conformance.engines.case_run import CaseRun
from conformance.engines.mutants import MUTANTS
from conformance.engines.mutants.registry import bug
from conformance.judgement.cell import AS_DRAWN, Verdict
from conformance.model.case import program_ref
from conformance.model.perturbation import BY_ID
from conformance.model.runs import Pack
from conformance.model.scenario import programs_of
from conformance.plugins.registry import UnknownName, load_engine, load_scenarios, mutant_ids
from conformance.reports.page import kills
from conformance.run.processes import available
from conformance.selftest.selftest import SelfTest, UnreadableSelfTest, Want, pairs_of, selftest

SCENARIOS = load_scenarios()

SAMPLE = [
    "late-at-the-watermark",
    "set-add-toggles",
    "forgets-last-plan-gone",
    "timers-put-out-at-the-watermark",
    "first-output-after-a-restart-lost",
    "nan-is-zero",
    "coalesced-advance-fires-after-a-restart",
    "clear-takes-longer-keys",
]
"""The mutants of the quick tests, from several sections. `conformance selftest`, and the slow test, ask all."""

ENOUGH = ["combined-calls", "damaged-checkpoints", "late-data", "output-times", "stream-join"]
"""Scenarios that catch these: to draw the cases of all takes longer than the rest."""


@pytest.fixture(scope="module")
def found():
    return selftest(load_scenarios(ENOUGH), SAMPLE, seeds=1, want=Want.HOLES)


def test_every_guarantee_holds_on_the_reference():
    """So the programs, the predicates and the perturbations are right. Few cases do not exercise every cell, but every
    guarantee, and under every perturbation some."""
    cells = judged(SCENARIOS, "reference", all_cases())
    held = [c for c in cells if c.verdict is Verdict.HOLDS]
    assert {c.row for c in cells} == {c.row for c in held}
    assert {(*c.row, c.perturbation, c.reason) for c in cells if c.verdict is not Verdict.HOLDS and c.cases} == set()
    assert {c.verdict for c in cells} <= {Verdict.HOLDS, Verdict.UNKNOWN}
    assert {c.perturbation for c in held} == {AS_DRAWN, *BY_ID, "plan:another"}


def test_the_reference_is_never_accused(found):
    assert found.accusations == ()


def test_every_mutant_is_caught(found):
    assert len(found.kills) == len(SAMPLE)
    assert [mutant for mutant, rows in found.kills.items() if not rows] == []


def test_every_pair_of_mutants_is_caught(found):
    """No bug hides another. Each mutant is in some pairs."""
    assert {mutant for pair in found.pairs for mutant in pair.split("+")} == set(found.kills)
    assert found.survivors == []


def test_a_pair_has_both_bugs():
    """Where neither hides the other; and the two that undo each other are no pair."""
    both = load_engine("mutant:drops-counted-twice+output-twice")
    assert both.id == "mutant:drops-counted-twice+output-twice"
    assert "counted twice, and every output comes out twice" in both.title
    assert both.case_run.count is load_engine("mutant:drops-counted-twice").case_run.count
    assert both.case_run.emit is load_engine("mutant:output-twice").case_run.emit
    for name, why in [
        ("never-late+late-at-the-watermark", "both change refuses"),
        ("failed-attempt-kept+failed-bundle-skipped", "undo each other"),
        ("never-late+nonsense", "unknown mutant"),
        ("never-late+output-twice+bundle-reversed", "unknown mutant"),
    ]:
        with pytest.raises(UnknownName, match=why):
            load_engine(f"mutant:{name}")


def test_a_mutant_is_called_what_its_class_is():
    """Ids are stored in files: two classes of one name are refused."""
    assert MUTANTS["late-at-the-watermark"].case_run.__name__ == "LateAtTheWatermark"
    assert MUTANTS["bag-read-in-reverse"].case_run.__name__ == "BagReadInReverse"
    with pytest.raises(ValueError, match="two mutants are called 'never-late'"):
        bug("another one")(type("NeverLate", (CaseRun,), {}))


def test_a_mutant_answers_as_the_reference_does_where_it_can_show_nothing():
    """So it need not be run there."""
    cases, programs, reference = all_cases()[::150], programs_of(SCENARIOS), load_engine("reference")
    quiet = set()
    for mutant in SAMPLE:
        engine = load_engine(f"mutant:{mutant}")
        for case in cases:
            if not engine.can_show(case, programs[program_ref(case.scenario, case.program)]):
                quiet.add(mutant)
                assert engine.run(Pack((case,)), programs) == reference.run(Pack((case,)), programs), (mutant, case.id)
    assert len(quiet) > len(SAMPLE) / 4


def test_the_choice_of_pairs_depends_on_the_names_alone():
    names = mutant_ids()
    assert pairs_of(names) == pairs_of(reversed(names))


@pytest.mark.slow
def test_every_guarantee_catches_a_mutant_and_every_mutant_is_caught():
    """A check that nothing can make fail is a defect."""
    found = selftest(SCENARIOS, mutant_ids(), seeds=4, want=Want.HOLES, processes=available())
    assert (found.survivors, found.toothless, found.accusations) == ([], [], ())


def test_a_mutant_that_caught_nothing_is_asked_for_what_none_has_broken():
    """The kill matrix has every guarantee that a mutant breaks. Otherwise each guarantee has a mutant, and each mutant
    a guarantee."""
    scenarios, mutants = (
        load_scenarios(["late-data"]),
        ["late-at-the-watermark", "output-twice", "first-of-a-key-dropped"],
    )
    matrix, few = (selftest(scenarios, mutants, wanted=1, seeds=1, want=want) for want in (Want.MATRIX, Want.HOLES))
    assert all(few.kills[mutant] <= matrix.kills[mutant] for mutant in mutants)
    assert sum(map(len, few.kills.values())) < sum(map(len, matrix.kills.values()))
    assert few.toothless == matrix.toothless
    row = ("late-data", "an-element-exactly-at-the-watermark-is-processed")
    assert row in matrix.kills["late-at-the-watermark"]


def test_the_kill_matrix_names_what_is_broken(found):
    page = kills.render(replace(found, asked=frozenset().union(*found.kills.values())))
    assert all(mutant in page for mutant in found.kills)
    assert "Every mutant is caught" in page
    assert f"Pairs: engines with the bugs of two mutants at once ({len(found.pairs)})" in page


def test_a_selftest_is_read_back_as_it_was_written(found, tmp_path):
    found.write(tmp_path / "found.json")
    assert SelfTest.read(tmp_path / "found.json") == found


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "not a whole self-test"),
        ("[]", "not a self-test of this version"),
        ('{"schema": "conformance/results/1"}', "not a self-test of this version"),
        ('{"schema": "conformance/selftest/1", "kills": {}, "asked": [1]}', "not a whole self-test"),
    ],
)
def test_a_file_that_is_no_selftest_is_refused(text, why, tmp_path):
    (tmp_path / "file").write_text(text)
    with pytest.raises(UnreadableSelfTest, match=why):
        SelfTest.read(tmp_path / "file")
    with pytest.raises(UnreadableSelfTest, match="cannot read"):
        SelfTest.read(tmp_path / "nowhere")


def test_a_failing_selftest_says_why():
    """A survivor, also a pair, a toothless guarantee and an accusation are each a line."""
    broken = judged(SCENARIOS[:1], "mutant:output-twice", suite_of(SCENARIOS[:1], 1, 1).cases)
    accusation = next(cell for cell in broken if cell.verdict is Verdict.VIOLATED)
    found = SelfTest({"harmless": frozenset()}, frozenset({("s", "g")}), (accusation,), {"mild+meek": None})
    console = Console(file=io.StringIO(), record=True, width=200)
    kills.show(found, console)
    text = console.export_text()
    assert not found.passed
    assert "the mutant harmless survives" in text
    assert "the mutant mild+meek survives" in text
    assert "0 of 1 mutants and 0 of 1 pairs of them caught" in text
    assert "no mutant makes the guarantee s/g fail" in text
    assert "the reference is accused" in text
    assert "harmless survives" in kills.render(found)
