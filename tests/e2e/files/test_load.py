"""``--load`` as a user meets it; what it takes no engine's framework for. The ports themselves are in tests/engines."""

import json
import re
from pathlib import Path

import pytest
from commands import conformance
from own_scenario import echo

from conformance.judgement.cell import Verdict
from conformance.results.results import Results

DROPS = "mutant:last-of-a-bundle-dropped"

SCENARIO = echo("echo of mine")


def test_a_scenario_of_the_users_own_runs_alone_and_its_witness_replays(tmp_path):
    """In the processes of the engines, too."""
    (tmp_path / "mine.py").write_text(SCENARIO)
    listed = conformance("list", "--load", "mine.py", "--json", cwd=tmp_path)
    assert "echo-of-mine" in {entry["id"] for entry in json.loads(listed.stdout)}
    engines = ("--engine", "reference", "--engine", DROPS)
    done = conformance("run", "--load", "mine.py", *engines, "--cases", 1, "--seed", 1, "--out", "out", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    results = Results.read(tmp_path / "out" / "results.json.gz")
    assert list(results.scenarios) == ["echo-of-mine"]
    assert {cell.engine for cell in results.cells if cell.verdict is Verdict.VIOLATED} == {DROPS}
    witness = tmp_path / "out" / "witnesses" / "echo-of-mine" / f"{next(iter(results.witnesses))}.json"
    assert f"{DROPS}: STILL FAILS" in conformance("replay", witness, "--load", "mine.py", cwd=tmp_path).stdout
    assert "is not a program of any scenario here" in conformance("replay", witness, cwd=tmp_path).stderr


PORT = """
from conformance.plugins.port import BeamPort, Port

class Fn:
    def process(self, element): ...

PORT = Port(name="p", scenario="late-data", program="global", beam=BeamPort(dofn=Fn))
"""


def test_ports_are_listed(tmp_path):
    (tmp_path / "mine.py").write_text(PORT)
    listed = conformance("list", "engines", "--load", "mine.py", cwd=tmp_path)
    assert "beam-port:p  Fn on Beam DirectRunner" in listed.stdout
    assert "beam-port" not in conformance("list", "engines", cwd=tmp_path).stdout


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("run", "--load", "nowhere.py"), "there is no file nowhere.py"),
        (("run", "--load", "empty.py"), "empty.py has no PORT"),
        (("list", "--load", "broken.py"), "broken.py, line 2: ZeroDivisionError: division by zero"),
        (("replay", "w.json", "--load", "broken.py"), "broken.py, line 2: ZeroDivisionError"),
        (("run", "--engine", "beam-port:other", "--load", "mine.py"), "unknown engine 'beam-port:other': no such port"),
        (("run", "--next", "mine.py"), "--next: port p: it goes on from a port of --load with its name"),
        (("run", "--engine", "spark-port:p"), "unknown engine 'spark-port:p': no such port is loaded"),
    ],
)
def test_what_cannot_be_loaded_is_one_line(tmp_path, arguments, says):
    (tmp_path / "mine.py").write_text(PORT)
    (tmp_path / "empty.py").write_text("")
    (tmp_path / "broken.py").write_text("def f():\n    return 1 / 0\n\nf()\n")
    done = conformance(*arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert [says in line for line in done.stderr.splitlines() if line.startswith("Error: ")] == [True]
    assert "Traceback" not in done.stderr + done.stdout


def test_the_page_shows_the_example_as_it_is():
    docs = Path(__file__).parents[3] / "docs"
    shown = re.findall(r"```python\n(.*?)```", (docs / "moving.md").read_text(encoding="utf-8"), re.DOTALL)
    files = "".join(path.read_text(encoding="utf-8") for path in sorted((docs / "examples").glob("port_*.py")))
    assert len(shown) == 5
    assert all(block in files for block in shown)
