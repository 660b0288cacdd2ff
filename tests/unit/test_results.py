"""The results file: its schema, and how cells fold."""

import json
from pathlib import Path

import pytest

from conformance.agreement import Agreement, Difference, Grade
from conformance.equivalence import Equivalence
from conformance.model import Advance, Case, Emission, Schedule, Trace
from conformance.results import Cell, Results, UnreadableResults, Verdict, fold
from conformance.witnesses import Witness


def _cell(verdict, cases=0, **more):
    return Cell("s", "p", "g", more.pop("perturbation", "as drawn"), "e", verdict, "why", cases=cases, **more)


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


AGREEMENT = Agreement(
    "s",
    "p",
    "one",
    "two",
    cases=2,
    grades=(Grade(Equivalence.IDENTICAL, agree=1, differ=1),),
    smallest=Difference(Case("s", "p", SCHEDULE), Trace(()), Trace((Emission("a", 1, 1),))),
)


ENTRY = {
    "title": "",
    "column": HOLDS.engine,
    "idiom": "",
    "versions": {},
    "lateness": {"global window": "", "fixed windows": ""},
    "features": {},
    "packs": {"run": 1, "drawn": 1},
    "failure": "",
}
TEXTS = dict.fromkeys(("claim", "program", "source", "quote", "url"), "")


def _results():
    return Results(
        run={
            "harness": "0",
            "seed": 1,
            "wanted": 2,
            "cases": 3,
            "cases_digest": "d",
            "clocks": 4,
            "partial": False,
            "stored_witnesses": "",
            "options": {},
        },
        environment={HOLDS.engine: ENTRY},
        scenarios={"s": {"name": "", "summary": "", "guarantees": {"g": TEXTS}}},
        cells=[HOLDS, VIOLATED],
        agreements=[AGREEMENT.to_json()],
        witnesses={WITNESS.id: WITNESS.to_json()},
    )


def test_results_survive_their_file(tmp_path):
    _results().write(tmp_path / "r.json")
    assert Results.read(tmp_path / "r.json") == _results()


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda data: data.update(schema="other/1"), "its schema is 'other/1'"),
        (lambda data: data.pop("cells"), "'cells' is a required property"),
        (lambda data: data["cells"][0].update(verdict="fine"), "at cells/0/verdict"),
        (lambda data: data["cells"][0].update(cases=-1), "at cells/0/cases"),
        (lambda data: data["cells"][0].update(coverage={"restart": 0}), "at cells/0/coverage/restart"),
        (lambda data: data["agreements"][0].update(cases=-1), "at agreements/0/cases"),
        (lambda data: data["run"].update(seed="x"), "at run/seed"),
        (lambda data: data.update(extra=1), "at the top"),
        (lambda data: data["environment"].clear(), "it speaks of the engine e"),
        (lambda data: data["witnesses"].clear(), f"it speaks of the witness {WITNESS.id}"),
        (lambda data: data["witnesses"][WITNESS.id].update(claim="other"), f"witness {WITNESS.id}: it was edited"),
        (lambda data: data["witnesses"][WITNESS.id].update(guarantee="other"), "is not of the cell"),
        (lambda data: data["cells"].append(data["cells"][0]), "has the cell e/s/g/as drawn twice"),
        (lambda data: data["cells"][0].update(cases=0), "holds without a case"),
        (lambda data: data["environment"]["e"].update(lateness={}), "'global window' is a required property"),
        (lambda data: data["agreements"][0].update(agreed=["alike"]), "at agreements/0/agreed/0"),
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
def test_what_is_no_results_file_is_refused(tmp_path, content):
    path = tmp_path / "r.json"
    path.write_bytes(content)
    with pytest.raises(UnreadableResults):
        Results.read(path)
    with pytest.raises(UnreadableResults, match="cannot read"):
        Results.read(Path("nowhere.json"))
