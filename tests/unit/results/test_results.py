"""The results file: its schema, and how cells fold."""

import gzip
import json
from dataclasses import replace
from pathlib import Path

import pytest
from hostile import hostile_results

from conformance.judgement.agreement import Agreement, AgreementGrade, Difference
from conformance.judgement.cell import MatrixCell, Strength, Verdict
from conformance.judgement.stability import Stability, StabilityGrade
from conformance.judgement.verdict import fold
from conformance.model.case import Case
from conformance.model.equivalence import Equivalence
from conformance.model.schedule import Advance, Schedule
from conformance.model.trace import Emission, Trace
from conformance.results.record import (
    LEFT_OUT,
    EngineRecord,
    FeatureRecord,
    GuaranteeRecord,
    ReplayRecord,
    RunRecord,
    ScenarioRecord,
)
from conformance.results.results import Results, UnreadableResults
from conformance.results.witness import Witness


def _cell(verdict, cases=0, **more):
    return MatrixCell("s", "p", "g", more.pop("perturbation", "as drawn"), "e", verdict, "why", cases=cases, **more)


SCHEDULE = Schedule((Advance(0, 1), Advance(1, 2)))
WITNESS = Witness("g", "", Case("s", "p", SCHEDULE), None, "e", {}, "", Trace(()), Trace(()))
COVERED = {"late": 2, "restart": 1}
HOLDS = _cell(Verdict.HOLDS, 10, coverage=COVERED)
VIOLATED = _cell(Verdict.VIOLATED, 10, violations=1, witness=WITNESS.id, perturbation="split")
UNSUPPORTED, ERROR = _cell(Verdict.UNSUPPORTED), _cell(Verdict.ERROR, 3)
NO_ANSWER = _cell(Verdict.UNKNOWN, 0, lost=12)
UNKNOWN, NOT_EXERCISED = _cell(Verdict.UNKNOWN, 5), _cell(Verdict.UNKNOWN)


@pytest.mark.parametrize(
    ("cells", "verdict"),
    [
        ([HOLDS, HOLDS], Verdict.HOLDS),
        ([HOLDS, VIOLATED], Verdict.VIOLATED),
        ([ERROR, VIOLATED, UNKNOWN], Verdict.VIOLATED),
        ([HOLDS, ERROR], Verdict.ERROR),
        ([HOLDS, UNKNOWN], Verdict.UNKNOWN),
        ([HOLDS, UNSUPPORTED], Verdict.HOLDS),
        ([HOLDS, NOT_EXERCISED], Verdict.HOLDS),
        ([HOLDS, NO_ANSWER], Verdict.UNKNOWN),
        ([NOT_EXERCISED, UNSUPPORTED], Verdict.UNKNOWN),
        ([UNSUPPORTED, UNSUPPORTED], Verdict.UNSUPPORTED),
    ],
)
def test_folding_perturbations(cells, verdict):
    """A violation is never hidden, and neither is what could not be decided."""
    assert fold(cells).verdict is verdict
    assert fold(reversed(cells)).verdict is verdict


def test_a_folded_cell_adds_up_its_cases():
    folded = fold([HOLDS, VIOLATED, UNSUPPORTED])
    assert (folded.cases, folded.violations, folded.witness) == (20, 1, WITNESS.id)
    assert fold([HOLDS, HOLDS]).reason.startswith("20 cases")


RESTARTED = _cell(Verdict.HOLDS, 4, perturbation="restart")
NO_RESTART, NO_SPLIT = replace(NOT_EXERCISED, perturbation="restart"), replace(NOT_EXERCISED, perturbation="split")


def test_a_row_of_which_a_promised_perturbation_was_not_exercised_holds_in_part():
    row = fold([HOLDS, NO_RESTART, NO_SPLIT, UNSUPPORTED])
    assert (row.verdict, row.in_part, row.words) == (Verdict.HOLDS, True, "holds, in part (1 of 3)")
    assert row.reason.endswith("; not exercised: restart, split")
    relation = fold([RESTARTED, NO_SPLIT])
    assert (relation.in_part, relation.unexercised, relation.strength) == (True, ("split",), None)


def test_what_the_engine_cannot_express_leaves_a_row_whole():
    row = fold([HOLDS, RESTARTED, replace(UNSUPPORTED, perturbation="split")])
    assert (row.in_part, row.words, row.promised) == (False, "holds", 2)


def test_a_predicate_promises_no_sparse_perturbation_and_a_relation_each_that_it_names():
    alone = replace(NOT_EXERCISED, perturbation="alone")
    assert not fold([HOLDS, RESTARTED, alone]).in_part
    assert fold([RESTARTED, alone]).in_part


@pytest.mark.parametrize(
    ("cases", "strength"), [(9, Strength.FEW), (10, Strength.SOME), (99, Strength.SOME), (100, Strength.MANY)]
)
def test_a_row_is_as_strong_as_its_weakest_promise(cases, strength):
    row = fold([replace(HOLDS, cases=500), replace(RESTARTED, cases=cases)])
    assert (row.least, row.strength) == (cases, strength)


def test_a_witness_that_fails_is_never_folded_away():
    unanswered = replace(NO_RESTART, violations=1, witness="w1")
    assert fold([HOLDS, unanswered]).verdict is Verdict.UNKNOWN
    assert fold([HOLDS, replace(NO_RESTART, lost=1)]).verdict is Verdict.UNKNOWN


AGREEMENT = Agreement(
    "s",
    "p",
    "one",
    "two",
    cases=2,
    grades=(AgreementGrade(Equivalence.IDENTICAL, agree=1, differ=1),),
    smallest=Difference(Case("s", "p", SCHEDULE), Trace(()), Trace((Emission("a", 1, 1),))),
)


TWIN = Case("s", "p", SCHEDULE, "split", AGREEMENT.smallest.case.id)
STABILITY = Stability(
    "s",
    "p",
    "split",
    "e",
    Equivalence.SAME_SEQUENCE,
    pairs=3,
    grades=(
        StabilityGrade(Equivalence.IDENTICAL, 2, 1, 1, (AGREEMENT.smallest.case, TWIN)),
        StabilityGrade(Equivalence.SAME_SEQUENCE, 3, 0, 0),
    ),
    traces={TWIN.base: Trace(()), TWIN.id: Trace((Emission("a", {"n": 1}, 1),))},
)
ENGINE = EngineRecord("an engine", HOLDS.engine, versions={"e": "1"}, features={"a feature": FeatureRecord("native")})


def _results():
    return Results(
        run=RunRecord("0", 1, 2, 3, "d", 4, scenarios=("s",), engines=("e",)),
        environment={HOLDS.engine: ENGINE},
        scenarios={"s": ScenarioRecord("a name", "a summary", {"g": GuaranteeRecord("a claim", "p")})},
        cells=[HOLDS, VIOLATED],
        stability=[STABILITY, replace(STABILITY, promised=None, grades=(), traces={}, unsupported="it cannot")],
        agreements=[AGREEMENT],
        replays=[ReplayRecord(WITNESS.id, "e", "s", "g", "FIXED")],
        witnesses={WITNESS.id: WITNESS},
    )


def test_results_survive_their_file(tmp_path):
    _results().write(tmp_path / "r.json")
    assert Results.read(tmp_path / "r.json") == _results()


def test_whatever_texts_say_and_whosever_claims_are_named_results_survive_their_file(tmp_path):
    """A row may name another program and another source than its guarantee does, and a subject of its own."""
    found = hostile_results()
    found.cells = [replace(cell, subject="an operator", claimed="another source") for cell in found.cells]
    found.cells.append(
        replace(found.cells[1], program=found.scenarios["s"].guarantees["g"].program, perturbation="split")
    )
    found.write(tmp_path / "r.json")
    assert Results.read(tmp_path / "r.json") == found


def test_a_run_that_asked_less_says_so(tmp_path):
    """What was left out has its number; nothing is said of what was not."""
    found = _results()
    assert found.shortened == []
    found.run = replace(found.run, brief=True, budget=90.0, rows=1)
    found.write(tmp_path / "r.json")
    found = Results.read(tmp_path / "r.json")
    brief, rows = "brief: what failed ran alone once", "at most 1 row for each kind of program"
    assert found.shortened == ["a budget of 90 s", brief, rows]
    found.run = replace(found.run, partial=True, left_out=1)
    found.environment["nothing to run"] = replace(found.environment["e"], failure="")
    found.environment["unreached"] = replace(found.environment["e"], failure=LEFT_OUT)
    assert found.shortened[0] == "a budget of 90 s left out 1 engine and 1 pack"
    found.environment["unreached"] = replace(found.environment["e"], failure="no Java")
    assert found.shortened[0] == "a budget of 90 s left out 1 pack"


def test_a_file_does_not_say_what_it_need_not_say(tmp_path):
    _results().write(tmp_path / "r.json")
    data = json.loads((tmp_path / "r.json").read_text())
    written = {"scenario": "s", "program": "p", "guarantee": "g", "perturbation": "as drawn", "engine": "e"}
    written |= {"verdict": "holds", "reason": "why", "cases": 10, "coverage": COVERED}
    assert written in data["cells"]
    assert data["stability"][0]["observed"] == [Equivalence.SAME_SEQUENCE.value]
    assert data["agreements"][0]["agreed"] == []


def test_a_zipped_file_says_the_same_and_is_the_same_for_the_same_results(tmp_path):
    for name in ("a.json.gz", "b.json.gz", "r.json"):
        _results().write(tmp_path / name)
    assert Results.read(tmp_path / "a.json.gz") == _results()
    content = (tmp_path / "a.json.gz").read_bytes()
    assert content == (tmp_path / "b.json.gz").read_bytes()
    assert gzip.decompress(content) == (tmp_path / "r.json").read_bytes()


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda data: data.update(schema="other/1"), "its schema is 'other/1'"),
        (lambda data: data.update(schema="conformance/results/4"), "its schema is 'conformance/results/4', not"),
        (lambda data: data.pop("cells"), '"cells" is a required property'),
        (lambda data: data["cells"][0].update(verdict="fine"), "at cells/0/verdict"),
        (lambda data: data["cells"][0].pop("verdict"), '"verdict" is a required property'),
        (lambda data: data["cells"][0].update(cases=-1), "at cells/0/cases"),
        (lambda data: data["cells"][0].update(more=1), "at cells/0"),
        (lambda data: data["cells"][0]["coverage"].update(late=-1), "at cells/0/coverage/late"),
        (lambda data: data["agreements"][0].update(cases=-1), "at agreements/0/cases"),
        (lambda data: data["agreements"][0].update(agreed=["alike"]), "at agreements/0/agreed/0"),
        (lambda data: data["run"].update(seed="x"), "at run/seed"),
        (lambda data: data["stability"][0].update(scenario="x"), "it speaks of the scenario x"),
        (lambda data: data["stability"][0]["grades"][0].update(equivalence="alike"), "at stability/0/grades/0/equi"),
        (lambda data: data["stability"][0]["grades"][0]["smallest"].pop(), "at stability/0/grades/0/smallest"),
        (lambda data: data["agreements"][0]["smallest"]["case"].update(schedule=[]), "is not a valid results file: "),
        (lambda data: data["agreements"][0]["smallest"].update(left=[["a"]]), "at agreements/0/smallest/left/0"),
        (lambda data: data["replays"][0].update(answer="GONE"), "at replays/0/answer"),
        (lambda data: data.update(extra=1), "at the top"),
        (lambda data: data["environment"].clear(), "it speaks of the engine e"),
        (lambda data: data["witnesses"].clear(), f"it speaks of the witness {WITNESS.id}"),
        (lambda data: data["witnesses"][WITNESS.id].update(sentence="other"), f"witness {WITNESS.id} was edited"),
        (lambda data: data["witnesses"][WITNESS.id].update(guarantee="other"), "is not of the cell"),
        (lambda data: data["witnesses"].update(other=data["witnesses"][WITNESS.id]), "its witness other is another's"),
        (lambda data: data["cells"].append(data["cells"][0]), "has the cell e/s/g/as drawn twice"),
        (lambda data: data["cells"][0].pop("cases"), "holds without a case"),
        (lambda data: data["environment"]["e"].update(lateness=1), "at environment/e/lateness"),
        (lambda data: data["scenarios"]["s"]["guarantees"].clear(), "it speaks of the guarantee s/g"),
        (lambda data: data["agreements"][0].update(scenario="x"), "it speaks of the scenario x"),
    ],
)
def test_a_foreign_results_file_is_refused(tmp_path, change, says):
    data = json.loads(json.dumps(_results().to_json()))
    change(data)
    (tmp_path / "r.json").write_text(json.dumps(data))
    with pytest.raises(UnreadableResults, match=says):
        Results.read(tmp_path / "r.json")


@pytest.mark.parametrize("content", [b"", b"{", b"[1]", b"\xff\xfe", b"null", b"[" * 100_000])
@pytest.mark.parametrize("zipped", [bytes, gzip.compress, lambda content: gzip.compress(content)[:-9]])
def test_what_is_no_results_file_is_refused(tmp_path, content, zipped):
    path = tmp_path / ("r.json" if zipped is bytes else "r.json.gz")
    path.write_bytes(zipped(content))
    with pytest.raises(UnreadableResults):
        Results.read(path)
    with pytest.raises(UnreadableResults, match="cannot read"):
        Results.read(Path("nowhere.json"))
    (tmp_path / "no.gz").write_text("{}")
    with pytest.raises(UnreadableResults, match=r"cannot read .*no.gz: it is not a whole zipped file"):
        Results.read(tmp_path / "no.gz")
