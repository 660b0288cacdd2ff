"""A file to start from runs as it is."""

import runpy

import pytest
from commands import conformance

from conformance.judgement.cell import Verdict
from conformance.plugins.registry import load_engine
from conformance.results.results import Results


def verdicts(file, engine, folder):
    """The verdicts on an engine after a run of the file."""
    asked = ("--load", file, "--engine", "reference", "--engine", engine, "--quick", "--out", "out")
    done = conformance("run", *asked, cwd=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return {cell.verdict for cell in Results.read(folder / "out" / "results.json.gz").cells if cell.engine == engine}


def test_a_new_scenario_runs_and_can_fail(tmp_path):
    done = conformance("new", "scenario", "My own rule", cwd=tmp_path)
    assert done.stdout == "scenario_my_own_rule.py: conformance run --load scenario_my_own_rule.py --quick\n"
    assert conformance("check-files", "scenario_my_own_rule.py", cwd=tmp_path).returncode == 0
    found = verdicts("scenario_my_own_rule.py", "mutant:last-of-a-bundle-dropped", tmp_path)
    assert {Verdict.VIOLATED, Verdict.HOLDS} <= found
    assert list(Results.read(tmp_path / "out" / "results.json.gz").scenarios) == ["my-own-rule"]


@pytest.mark.parametrize(
    ("side", "engine", "framework"), [("beam", "beam-direct", "apache_beam"), ("spark", "spark-tws", "pyspark")]
)
def test_a_new_port_can_be_used(tmp_path, side, engine, framework):
    pytest.importorskip(framework)
    load_engine(engine).check()
    assert conformance("new", "port", "mine", "--side", side, "--to", "p.py", cwd=tmp_path).returncode == 0
    assert conformance("check-files", "p.py", cwd=tmp_path).returncode == 0
    listed = conformance("list", "engines", "--load", "p.py", cwd=tmp_path).stdout
    assert f"{side}-port:mine" in listed


def test_a_new_port_runs(tmp_path):
    """Its side is that of a framework that is installed."""
    pytest.importorskip("apache_beam")
    assert conformance("new", "port", "mine", cwd=tmp_path).returncode == 0
    found = verdicts("port_mine.py", "beam-port:mine", tmp_path)
    assert Verdict.HOLDS in found
    assert not found & {Verdict.VIOLATED, Verdict.ERROR}


def test_a_new_adapter_passes_the_kit(tmp_path, capsys):
    assert conformance("new", "adapter", "Ledger", cwd=tmp_path).returncode == 0
    runpy.run_path(str(tmp_path / "adapter_ledger.py"), run_name="__main__")
    assert "ledger: 13 cases in" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["scenario", "late data"], "there is a scenario late-data already: take another name"),
        (["scenario", "?!"], "'?!' is no name: give letters or digits"),
        (["adapter", "reference"], "there is an engine reference already"),
        (["port", "a b"], "a port's name has letters, digits and .-_ only, not 'a b'"),
        (["port", "x", "--side", "flonk"], "'flonk' is not one of them; there are: beam, spark"),
        (["adapter", "x", "--to", "there.py"], "there.py is there already: name another file with --to"),
        (["scneario", "x"], "unknown command 'scneario'; did you mean scenario?"),
    ],
)
def test_what_cannot_be_written_is_one_line(tmp_path, arguments, says):
    (tmp_path / "there.py").write_text("mine")
    done = conformance("new", *arguments, cwd=tmp_path)
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert says in line
    assert (tmp_path / "there.py").read_text() == "mine"
