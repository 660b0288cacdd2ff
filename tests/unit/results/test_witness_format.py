"""The format of a witness, as docs/witness-format.md describes it, and the reader there, which knows nothing of the
harness."""

import ast
import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from conformance.model.case import Case
from conformance.model.schedule import (
    Advance,
    Crash,
    Deliver,
    Event,
    FailOnce,
    NoData,
    Partitions,
    Plan,
    Restart,
    Schedule,
    SinkFails,
    Step,
    Wait,
    renumbered,
)
from conformance.model.steps import kinds
from conformance.model.trace import Emission, Trace
from conformance.reports.words import met
from conformance.results.witness import Confirmation, Witness, read_witnesses, write_witnesses

ROOT = Path(__file__).parents[3]
WITNESSES, READER = ROOT / "witnesses", ROOT / "docs" / "examples" / "read_witness.py"
PAGE = (ROOT / "docs" / "witness-format.md").read_text(encoding="utf-8")


def read(*places):
    """Isolated, so that no module of this repository is found."""
    command = [sys.executable, "-I", READER, *places]
    return subprocess.run(command, capture_output=True, text=True, encoding="utf-8", cwd="/", check=False)


def told(text):
    """Id -> how its elements met the watermark, in order."""
    found = {}
    for line in text.splitlines():
        if not line.startswith(" "):
            found[line.split()[0]] = mine = []
        elif line.startswith("    in "):
            mine.append(re.search(r"\(([^()]*)\)$", line)[1])
    return found


def expected(witnesses):
    return {witness.id: [met(arrival) for arrival in witness.case.schedule.arrivals] for witness in witnesses}


def every_kind():
    """A witness with each kind of step, a neighbour and a base."""
    steps = [
        Plan(0, "another"),
        Partitions(0, 3),
        Deliver(0, (Event("i", "a", {"x": 1.5}, 5),), initial=True),
        Advance(0, 1_000),
        Deliver(0, (Event("e1", "ä", None, 1_000), Event("e2", "b", [True], 999))),
        NoData(0),
        Restart(0),
        Wait(0, 2_000),
        Advance(0, 3_000, coalesced=True),
        Deliver(0, (Event("e3", "a", "é", 3_001),)),
        FailOnce(0, resume=True),
        Deliver(0),
        SinkFails(0),
        Deliver(0),
        Crash(0, "state"),
        Crash(0, "commit"),
        Deliver(0),
        Advance(0, 9_000),
    ]
    case, seen = (
        Case("s", "p", renumbered(steps)),
        Trace((Emission("ä", {"x": None}, 4), Emission("a", None, 8, 5, "E: no"))),
    )
    base = Case("s", "p", renumbered([Advance(0, 1), Advance(0, 2)]))
    confirmation = Confirmation("one", {"toy": "1"}, "0" * 12, 3, 3)
    twin = replace(case, perturbation="restart", base=base.id)
    found = Witness("g", "it is so", twin, base, "one", {"toy": "1"}, "it is not", seen, Trace(()), Trace(()))
    return replace(found, neighbours=(base,), confirmations=(confirmation,))


def test_the_reader_is_short_and_needs_python_alone():
    text = READER.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 60
    imported = {a.name for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Import) for a in node.names}
    imported |= {node.module for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ImportFrom)}
    assert imported <= set(sys.stdlib_module_names)


def test_the_reader_reads_every_stored_witness_as_the_harness_does():
    """Its elements, and whether they are late."""
    stored = read_witnesses(WITNESSES)
    assert len(stored) > 200
    done = read(WITNESSES)
    assert done.returncode == 0, done.stderr
    assert told(done.stdout) == expected(stored)


def test_the_reader_reads_every_kind_of_step(tmp_path):
    witness = every_kind()
    there = {kind.key for kind in Step.__subclasses__() if kind.__module__ == kinds.__name__}
    assert {step.key for step in witness.case.schedule.steps} == there
    write_witnesses(tmp_path, [witness])
    done = read(tmp_path)
    assert done.returncode == 0, done.stderr
    assert told(done.stdout) == expected([witness])
    assert "out key 'ä' {\"x\": null}" in done.stdout
    assert "out key 'a' E: no" in done.stdout


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"message": "another"}, "was edited: its checksum does not fit"),
        ({"schema": "conformance/witness/1"}, "is no witness of schema 2"),
    ],
)
def test_the_reader_refuses_what_the_harness_refuses(tmp_path, change, says):
    path = tmp_path / "w.json"
    path.write_text(json.dumps(json.loads(every_kind().file_text()) | change))
    done = read(path)
    assert (done.returncode, done.stdout) == (1, "")
    assert says in done.stderr
    path.write_text("{")
    assert (read(path).returncode, len(read(path).stderr.splitlines())) == (1, 1)


def listed(heading):
    """The names in the first column of the table under a heading of the page."""
    section = PAGE.split(f"## {heading}\n")[1].split("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("| `")]
    return {name for row in rows for name in re.findall(r"`(\w+)`", row.split(" | ")[0])}


def test_the_page_describes_every_field_and_every_kind_of_step():
    witness = every_kind()
    data = json.loads(witness.file_text())
    assert listed("The file") == set(data)
    assert f"`{data['schema']}`" in PAGE
    keys = {key for step in data["schedule"] for key in step} - {"id", "coalesced", "initial"}
    assert listed("A schedule") == keys
    (confirmation,) = witness.to_json()["confirmations"]
    assert listed("Confirmations") == {"witness", *confirmation}
    (neighbour,) = data["neighbours"]
    assert set(neighbour) == {"scenario", "program", "schedule"}
    stored = json.loads(next(WITNESSES.glob("*/*.json")).read_text(encoding="utf-8"))
    assert all(f"`{name}`" in PAGE for name in stored["reduction"])


def test_a_schedule_that_is_read_is_the_one_that_was_written():
    schedule = every_kind().case.schedule
    assert Schedule.from_json(json.loads(json.dumps(schedule.to_json()))) == schedule
