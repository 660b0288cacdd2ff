"""Witness files: what travels, and what is refused."""

import io
import json
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from conformance.model.case import Case
from conformance.model.schedule import Advance, Deliver, Event, Schedule
from conformance.model.trace import Emission, Trace
from conformance.model.values import digest
from conformance.plugins.registry import load_scenarios
from conformance.reports.text.terminal import Live
from conformance.results.witness import (
    Confirmation,
    Flip,
    Stored,
    UnreadableWitness,
    Witness,
    file_of,
    find_witness,
    read_witnesses,
    stored_witnesses,
    write_witnesses,
)
from conformance.run.run import Options, Run


def _schedule(*ids):
    events = tuple(Event(i, "a", None, 2_000) for i in ids)
    return Schedule((Advance(0, 1_000), Deliver(1, events), Advance(2, 9_000)))


BASE = Case("late-data", "global", _schedule("e1", "e2"))
TWIN = Case("late-data", "global", _schedule("e2", "e1"), "reverse", BASE.id)
TRACE = Trace((Emission("a", {"processed": "e1"}, 1),))
PAIR = Witness(
    "g",
    "a claim",
    TWIN,
    BASE,
    "spark-tws",
    {"spark": "4.3.0"},
    "why",
    TRACE,
    TRACE,
    TRACE,
    flip=Flip("without it", BASE.schedule),
    reduction={"rounds": 2},
    confirmations=(Confirmation("spark-tws", {"spark": "4.3.0"}, "abc", 2, 3),),
)
SINGLE = Witness("g", "a claim", BASE, None, "spark-tws", {"spark": "4.3.0"}, "why", TRACE, TRACE)


@pytest.mark.parametrize("witness", [PAIR, SINGLE])
def test_a_witness_survives_its_file(tmp_path, witness):
    write_witnesses(tmp_path, [witness])
    assert Witness.read(file_of(tmp_path, witness)) == witness
    assert read_witnesses(tmp_path) == [witness]
    assert Witness.from_json(json.loads(json.dumps(witness.to_json()))) == witness


def test_witnesses_are_known_by_content():
    assert PAIR.id != SINGLE.id
    assert PAIR.id == Witness.from_json(PAIR.to_json()).id


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda data: data.update(schema="x"), "not a witness of this version"),
        (lambda data: data["schedule"][1]["deliver"][0].__setitem__(3, 2_001), "was edited"),
        (lambda data: data.update(guarantee="other"), "was edited"),
        (lambda data: data.update(message="all is well"), "was edited"),
        (lambda data: data["seen"].clear(), "was edited"),
    ],
)
def test_a_changed_witness_is_refused(tmp_path, change, says):
    data = PAIR.to_json()
    change(data)
    (tmp_path / "w.json").write_text(json.dumps(data))
    with pytest.raises(UnreadableWitness, match=says):
        Witness.read(tmp_path / "w.json")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda data: data.pop("seen"), "not a whole witness"),
        (lambda data: data["schedule"][2].update(advance=1), "invalid schedule"),
    ],
)
def test_a_witness_of_another_making_is_refused(change, says):
    """Its checksum fits, and what it says does not hold together."""
    data = json.loads(PAIR.file_text())
    del data["checksum"]
    change(data)
    with pytest.raises(UnreadableWitness, match=says):
        Witness.from_json(data | {"checksum": digest(data)})


LATE_DATA = next(s for s in load_scenarios() if s.id == "late-data")
KNOWN = replace(SINGLE, guarantee=LATE_DATA.guarantees[0].id)


def test_stored_witnesses_of_what_is_no_more_are_told_apart(tmp_path):
    """Of no guarantee, of another program than the guarantee's, or of no scenario."""
    elsewhere = replace(KNOWN, case=replace(KNOWN.case, program="another"))
    nowhere = replace(KNOWN, case=replace(KNOWN.case, scenario="gone"))
    write_witnesses(tmp_path, [KNOWN, SINGLE, elsewhere, nowhere])
    found = stored_witnesses([tmp_path, tmp_path], [LATE_DATA])
    assert found.asked == [KNOWN]
    assert {w.id for w in found.unknown} == {SINGLE.id, elsewhere.id, nowhere.id}
    assert stored_witnesses([tmp_path / "nowhere"], [LATE_DATA]) == Stored([], [])


def test_a_stored_witness_of_a_scenario_that_is_not_asked_now_is_not_unknown(tmp_path):
    write_witnesses(tmp_path, [KNOWN])
    assert stored_witnesses([tmp_path], [], there=["late-data"]) == Stored([], [])
    assert stored_witnesses([tmp_path], []) == Stored([], [KNOWN])


def test_a_reworded_guarantee_keeps_its_witnesses(tmp_path):
    """By an id that stays, or by the ids that it had; with where they failed alone."""
    first, *others = LATE_DATA.guarantees
    write_witnesses(tmp_path, [KNOWN])
    for reworded, called in (
        (replace(first, claim="in other words", id=first.id), first.id),
        (replace(first, claim="in other words", id="", formerly=(first.id,)), "in-other-words"),
    ):
        scenario = replace(LATE_DATA, guarantees=(reworded, *others))
        (found,) = stored_witnesses([tmp_path], [scenario]).asked
        assert found == replace(KNOWN, guarantee=called)
        assert found.confirmations == KNOWN.confirmations
        assert scenario.askable[KNOWN.guarantee] == reworded
        assert f"not-{KNOWN.guarantee}" in scenario.askable


def test_two_guarantees_cannot_have_had_one_id():
    first, second, *others = LATE_DATA.guarantees
    with pytest.raises(ValueError, match="or have the same id"):
        replace(LATE_DATA, guarantees=(first, replace(second, formerly=(first.id,)), *others))


def test_every_witness_of_this_project_is_of_a_guarantee_that_there_is():
    """So a reworded guarantee keeps its id, or says what it was called."""
    assert stored_witnesses([Path(__file__).parents[3] / "witnesses"], load_scenarios()).unknown == []


def test_a_run_says_which_stored_witnesses_it_does_not_know(tmp_path):
    write_witnesses(tmp_path / "stored", [SINGLE])
    console = Console(file=io.StringIO(), record=True, width=200)
    options = Options(("reference",), (LATE_DATA,), tmp_path / "out", wanted=1, witnesses=(tmp_path / "stored",))
    live = Live(console)

    def first(event):
        live(event)
        raise KeyboardInterrupt  # before the run begins

    with pytest.raises(KeyboardInterrupt):
        Run(options, first).execute()
    about = f"{SINGLE.case.scenario}/{SINGLE.guarantee} of the program {SINGLE.case.program}"
    assert f"stored witness {SINGLE.id} is not replayed: no guarantee {about} is known" in console.export_text()


def test_confirmations_stand_apart_from_the_witnesses_a_line_each(tmp_path):
    more = Confirmation("spark-tws", {"spark": "4.0.5"}, "abc", 3, 3)
    pair = replace(PAIR, confirmations=(more, *PAIR.confirmations))
    write_witnesses(tmp_path, [SINGLE, pair])
    lines = (tmp_path / "confirmations.jsonl").read_text().splitlines()
    assert len(lines) == 2
    assert lines == sorted(lines)
    before = file_of(tmp_path, pair).read_text()
    assert "confirmations" not in before
    write_witnesses(tmp_path, [SINGLE, replace(pair, confirmations=())])
    assert file_of(tmp_path, pair).read_text() == before


def test_a_copied_witness_without_its_confirmations_is_one(tmp_path):
    """A run confirms it anew."""
    write_witnesses(tmp_path / "run", [PAIR])
    kept = tmp_path / "kept" / "late-data" / f"{PAIR.id}.json"
    kept.parent.mkdir(parents=True)
    kept.write_bytes(file_of(tmp_path / "run", PAIR).read_bytes())
    assert read_witnesses(tmp_path / "kept") == [replace(PAIR, confirmations=())]
    (tmp_path / "kept" / "confirmations.jsonl").write_bytes((tmp_path / "run" / "confirmations.jsonl").read_bytes())
    assert read_witnesses(tmp_path / "kept") == [PAIR]


@pytest.mark.parametrize("line", ["{", "7", '{"witness": "w"}', '{"engine": "e"}'])
def test_a_line_that_is_no_confirmation_is_named(tmp_path, line):
    write_witnesses(tmp_path, [PAIR])
    with (tmp_path / "confirmations.jsonl").open("a") as file:
        file.write(line + "\n")
    with pytest.raises(UnreadableWitness, match="line 2 is no confirmation"):
        read_witnesses(tmp_path)


def test_a_witness_is_found_by_its_file_or_its_id(tmp_path):
    write_witnesses(tmp_path / "one", [PAIR])
    file = file_of(tmp_path / "one", PAIR)
    folders = [tmp_path / "none", tmp_path / "one"]
    assert find_witness(file, []) == file
    assert find_witness(Path(PAIR.id), folders) == file
    assert find_witness(tmp_path / "one" / f"{PAIR.id}.json", []) == file
    with pytest.raises(UnreadableWitness, match="it is no file, and no witness in"):
        find_witness(Path("f00"), folders)


def test_the_stored_witnesses_are_in_order():
    """Each where it belongs, none twice; the confirmations sorted, a line for each witness, engine and versions, none
    of what is not there. Each failed in a run that confirmed it: what fails in the pack of a run alone cannot be
    replayed."""
    folder = Path(__file__).parents[3] / "witnesses"
    found = {witness.id: witness for witness in read_witnesses(folder)}
    assert {file_of(folder, witness) for witness in found.values()} == set(folder.glob("*/*.json"))
    lines = (folder / "confirmations.jsonl").read_text(encoding="utf-8").splitlines()
    assert lines == sorted(set(lines))
    told = [json.loads(line) for line in lines]
    assert {line["witness"] for line in told} == set(found)
    assert {line["witness"] for line in told if line["failed"]} == set(found)
    assert len({(t["witness"], t["engine"], json.dumps(t["versions"], sort_keys=True)) for t in told}) == len(lines)
