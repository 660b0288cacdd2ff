"""Witness files: what travels, and what is refused."""

import json
from dataclasses import replace

import pytest

from conformance.model import Advance, Case, Deliver, Emission, Event, Schedule, Trace, digest
from conformance.registry import load_scenarios
from conformance.witnesses import Confirmation, Flip, UnreadableWitness, Witness, stored_witnesses


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
    witness.write(tmp_path / "w.json")
    assert Witness.read(tmp_path / "w.json") == witness


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
    data = PAIR.to_json()
    del data["checksum"]
    change(data)
    with pytest.raises(UnreadableWitness, match=says):
        Witness.from_json(data | {"checksum": digest(data)})


def test_stored_witnesses_of_what_is_no_more_are_left_out(tmp_path):
    scenario = next(s for s in load_scenarios() if s.id == "late-data")
    known = replace(SINGLE, guarantee=scenario.guarantees[0].id)
    for number, witness in enumerate((known, SINGLE)):
        witness.write(tmp_path / f"{number}.json")
    assert stored_witnesses([tmp_path, tmp_path], [scenario]) == [known]
    assert stored_witnesses([tmp_path / "nowhere"], [scenario]) == []
