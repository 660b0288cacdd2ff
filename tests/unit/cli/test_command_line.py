"""The command line's place: everything else in the core works without it, and without reports."""

import ast
import json
import subprocess
import sys
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from conformance.cli.commands.run import engines_of_a_quick_run
from conformance.cli.commands.upgrade import upgrade_
from conformance.cli.job import nothing_tested
from conformance.cli.main import COMMANDS, main
from conformance.comparison.upgrade import Upgrade
from conformance.judgement.cell import MatrixCell, Verdict
from conformance.model.engine import CannotRun
from conformance.results.record import EngineRecord, RunRecord
from conformance.results.results import Results

CORE = Path(__file__).parents[3] / "conformance"


def _imported(path):
    """The modules that a file imports, inside functions, too."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""


@pytest.mark.parametrize("path", sorted(CORE.rglob("*.py")), ids=lambda path: str(path.relative_to(CORE)))
def test_the_command_line_alone_imports_reports(path):
    """And nothing imports the command line."""
    if CORE / "cli" not in path.parents and path != CORE / "__main__.py":
        assert [name for name in _imported(path) if name.startswith("conformance.reports")] == []
        assert [name for name in _imported(path) if name.startswith("conformance.cli")] == []


def test_every_command_and_option_says_what_it_does():
    """All but an option whose default says it."""
    context = click.Context(main)
    for command in (main.get_command(context, name) for name in main.list_commands(context)):
        assert command.help, command.name
        for option in command.params:
            if isinstance(option, click.Option):
                assert option.help or option.show_default, f"{command.name} {option.name}"


@pytest.mark.parametrize("module", COMMANDS)
def test_a_command_is_found_by_its_name(module):
    """The group knows each module's commands without importing the module."""
    found = vars(import_module(f"conformance.cli.commands.{module}")).values()
    commands = [made for made in found if isinstance(made, click.Command)]
    below = [part for made in commands if isinstance(made, click.Group) for part in made.commands.values()]
    assert {made.name for made in commands if made not in below} == {*COMMANDS[module]}


def test_a_command_that_draws_nothing_imports_nothing_that_draws():
    """So that it answers at once."""
    asked = "import sys; from conformance.cli.main import main; main(['list'], standalone_mode=False); "
    asked += "print([name for name in ('hypothesis', 'jsonschema_rs', 'pyarrow', 'pandas') if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=False)
    assert done.stdout.splitlines()[-1] == "[]", done.stderr


def test_an_interrupted_upgrade_is_told_and_is_no_gate_that_blocks(monkeypatch, tmp_path):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(Upgrade, "execute", interrupt)
    arguments = ["pyspark", "--from", "4.0.5", "--to", "4.3.0", "--out", str(tmp_path)]
    done = CliRunner().invoke(upgrade_, arguments)
    assert done.exit_code == 3
    assert f"cannot compare 4.0.5 and 4.3.0: interrupted; what there is lies in {tmp_path}" in done.output
    assert "interrupted" in (tmp_path / "summary.md").read_text()


def test_a_first_look_drops_nothing_that_was_loaded():
    ports = ["beam-port:mine", "spark-port:mine"]
    asked = ["reference", "spark-tws-pandas", *ports]
    assert engines_of_a_quick_run(asked, ports) == ["reference", *ports]


def test_a_first_look_at_a_release_asks_an_engine_that_the_release_has():
    asked = ["reference", *(f"spark-{name}@3.5.1" for name in ("fmgws-jvm", "fmgws-pandas", "tws", "tws-pandas"))]
    found = engines_of_a_quick_run(asked, (), lambda name: "tws" in name)
    assert found == ["reference", "spark-fmgws-jvm@3.5.1", "spark-fmgws-pandas@3.5.1"]


def test_a_run_that_finds_no_engine_but_the_reference_is_not_a_pass(monkeypatch):
    """The reference against itself would hold in everything."""
    monkeypatch.setattr("conformance.cli.commands.run.runnable", lambda console, names: ["reference"])
    done = CliRunner().invoke(main, ["run"])
    assert done.exit_code == 3
    assert "nothing to test: no engine but the reference can run here" in done.output


def test_no_rollback_is_asked_of_what_keeps_no_checkpoint():
    arguments = ["apache-beam", "--from", "2.60.0", "--to", "2.77.0", "--rollback"]
    done = CliRunner().invoke(main, ["upgrade", *arguments])
    assert done.exit_code == 2
    assert "nothing of apache-beam keeps one: leave it out" in done.output


def test_an_engine_that_runs_no_scenario_of_an_upgrade_is_named():
    arguments = ["pyspark", "--from", "4.2.1", "--to", "4.3.0", "--scenario", "session-timeout"]
    done = CliRunner().invoke(main, ["upgrade", *arguments, "--engine", "spark-native:count"])
    assert done.exit_code == 2
    assert "--engine spark-native:count: it runs none of these scenarios" in done.output


def test_a_release_that_cannot_be_installed_ends_the_matrix_of_checkpoints(monkeypatch, tmp_path):
    def missing(release):
        raise CannotRun(f"{release} cannot be installed")

    monkeypatch.setattr("conformance.cli.commands.checkpoints.python_of", missing)
    where = ["--out", str(tmp_path), "--file", str(tmp_path / "matrix.json"), "--scenario", "per-key-counting"]
    done = CliRunner().invoke(main, ["checkpoints", "pyspark", "3.5.9", "9.9.9", *where])
    assert done.exit_code == 3
    assert "pyspark 3.5.9 cannot be installed" in done.output
    assert not (tmp_path / "matrix.json").exists()


def test_the_package_is_the_command():
    done = subprocess.run([sys.executable, "-m", "conformance", "--help"], capture_output=True, text=True, check=True)
    assert "run" in done.stdout


def test_a_run_in_which_only_the_reference_answers_is_not_a_pass():
    """As where a release lacks the API of the engines that it was asked with."""
    answers = {"reference": Verdict.HOLDS, "spark-tws": Verdict.UNSUPPORTED}
    cells = [MatrixCell("s", "p", "g", "as drawn", engine, verdict, "") for engine, verdict in answers.items()]
    results = Results(RunRecord(), {engine: EngineRecord(versions={}) for engine in answers}, {}, cells)
    assert (
        nothing_tested(results) == "nothing was tested: of spark-tws, none answered anything; the lines above say why"
    )
    results.cells.append(replace(cells[1], verdict=Verdict.HOLDS))
    assert nothing_tested(results) == ""


def test_a_run_may_be_about_some_perturbations_alone():
    asked = ["plan", "spark-native:count", "--scenario=per-key-counting", "--json"]
    told = CliRunner().invoke(main, [*asked, "--perturbation=restart", "--perturbation=plan:cast"])
    changes = [row["changes"] for row in json.loads(told.stdout)["rows"]]
    assert {part.partition(".")[0] for row in changes for part in row} == {"restart", "plan:cast"}
    assert [] in changes, "the rows that others are compared with"
    told = CliRunner().invoke(main, [*asked, "--perturbation=alone"])
    assert ["alone"] in [row["changes"] for row in json.loads(told.stdout)["rows"]]
    odd = CliRunner().invoke(main, [*asked, "--perturbation=plan:kast"])
    assert (odd.exit_code, odd.output.count("\n")) == (2, 1)
    assert "unknown perturbation 'plan:kast'; did you mean plan:cast?" in odd.output
