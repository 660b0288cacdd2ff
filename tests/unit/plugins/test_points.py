"""What is registered: by installed packages, and by the files of a checkout, without a reinstallation."""

import shutil
import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
from own_scenario import echo

import conformance
from conformance.model.engine import Configurable, Released, Resumable, Setting
from conformance.plugins import points, settings
from conformance.plugins.adapter import adapter_digest
from conformance.plugins.points import InvalidPlugin, import_failure
from conformance.plugins.registry import load_engine, mutant_engine, mutant_ids, values_for
from conformance.plugins.registry import settings as declared

ROOT = Path(__file__).parents[3]

SCENARIO = echo("my scenario")


@pytest.fixture
def checkout(tmp_path):
    """A copy of what a checkout consists of, and a function that runs the command line in it."""
    for package in ("conformance", "engines", "scenarios", "reports"):
        left_out = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / package, tmp_path / package, ignore=left_out, symlinks=True)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)

    def conformance(*arguments):
        command = [sys.executable, "-m", "conformance.cli", *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)

    return tmp_path, conformance


def test_a_file_that_is_dropped_into_a_checkout_runs(checkout):
    folder, conformance = checkout
    (folder / "scenarios" / "my_scenario.py").write_text(SCENARIO)
    asked = (
        "--scenario",
        "my-scenario",
        "--engine",
        "reference",
        "--cases",
        3,
        "--seed",
        1,
        "--out",
        "out",
        "--verbose",
    )
    done = conformance("run", *asked)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "an element comes out again" in done.stdout
    assert "reference: 3 holds" in done.stdout
    (folder / "scenarios" / "broken.py").write_text("SCENARIO = 1 / 0\n")
    done = conformance("run", *asked)
    assert done.returncode == 2
    assert "scenarios/broken.py, line 1: ZeroDivisionError: division by zero" in done.stderr
    assert "Traceback" not in done.stderr + done.stdout


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A checkout of which this test writes the files; ``scenarios`` lie where Python finds them."""
    package = f"written_{tmp_path.name}".replace("-", "_")
    (tmp_path / "conformance" / package).mkdir(parents=True)
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "stream-conformance"\n')
    monkeypatch.setattr(points, "checkout", lambda: tmp_path)
    monkeypatch.setattr(points, "SCENARIOS", package)
    monkeypatch.setattr(conformance, "__path__", [*conformance.__path__, str(tmp_path / "conformance")])
    monkeypatch.chdir(tmp_path)

    def write(name, text):
        (tmp_path / "conformance" / package / name).write_text(text)
        return points.registered(package)

    return write


def test_files_without_a_scenario_are_none(here):
    assert here("documents.py", "SOURCE = 5\n") == {}
    assert list(here("mine.py", SCENARIO)) == ["my-scenario"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("SCENARIO = 5\n", "bad.py: SCENARIO is a conformance Scenario, not 5"),
        ("import nothing_like_it\nSCENARIO = 5\n", "bad.py, line 1: ModuleNotFoundError: No module named"),
        ("\nSCENARIO = (\n", "bad.py, line 2: SyntaxError"),
    ],
)
def test_a_scenario_that_cannot_be_loaded_is_refused_in_one_line(here, text, says):
    with pytest.raises(InvalidPlugin) as refused:
        here("bad.py", text)
    assert says in str(refused.value)
    assert "\n" not in str(refused.value)


def test_two_files_with_one_scenario_are_refused(here):
    here("one.py", SCENARIO)
    with pytest.raises(InvalidPlugin, match=r"two\.py: .*one has a scenario called 'my-scenario' too; rename one"):
        here("two.py", SCENARIO)


def test_what_a_checkout_declares_counts_rather_than_its_last_installation(tmp_path, monkeypatch):
    text = (
        '[project]\nname = "stream-conformance"\n[project.entry-points."conformance.engines"]\nmine = "a.module:Mine"\n'
    )
    (tmp_path / "pyproject.toml").write_text(text)
    monkeypatch.setattr(points, "checkout", lambda: tmp_path)
    assert points.registered("engines")["mine"] == EntryPoint("mine", "a.module:Mine", "conformance.engines")
    assert "spark-tws" not in points.registered("engines")
    monkeypatch.setattr(points, "checkout", lambda: None)
    assert "mine" not in points.registered("engines")


def test_where_it_is_installed_it_has_the_scenarios_of_a_checkout(monkeypatch):
    """Whatever entry points the installation has."""
    there = set(points.registered("scenarios"))
    monkeypatch.setattr(points, "checkout", lambda: None)
    monkeypatch.setattr(points, "_installed", lambda *_, **__: ())
    assert set(points.registered("scenarios")) == there


def test_an_interrupt_is_no_failure_of_an_import():
    with pytest.raises(KeyboardInterrupt):
        import_failure("a.module", KeyboardInterrupt())


# What engines declare


def test_what_engines_can_do_is_told_by_protocols():
    spark, beam, reference = map(load_engine, ("spark-tws", "beam-direct", "reference"))
    assert [isinstance(e, Released) for e in (spark, beam, reference)] == [True, True, False]
    assert [isinstance(e, Resumable) for e in (spark, beam, reference)] == [True, False, False]
    assert [isinstance(e, Configurable) for e in (spark, beam, reference)] == [True, False, False]


def test_settings_are_what_engines_declare():
    assert list(declared()) == ["spark-master"]
    assert declared()["spark-master"].envvar == "CONFORMANCE_SPARK_MASTER"


def test_a_value_that_was_given_counts_before_the_environment(monkeypatch):
    monkeypatch.setattr(settings, "_given", None)
    monkeypatch.setenv("CONFORMANCE_SPARK_MASTER", "local[7]")
    assert values_for("spark-tws@4.0.5") == {"spark-master": "local[7]"}
    assert values_for("reference") == {}
    settings.configure({"spark-master": "local[3]", "other": "x"})
    assert values_for("spark-tws") == {"spark-master": "local[3]"}
    settings.configure({})
    assert values_for("spark-tws") == {}


def test_an_engine_takes_its_values_when_it_is_loaded():
    class Plugin:
        settings = {"a": Setting("what a is for"), "b": Setting("what b is for")}

        def configure(self, values):
            self.values = values

    plugin = Plugin()
    settings.configure({"a": "1", "other": "2"})
    try:
        settings.configured(plugin)
    finally:
        settings._given = None
    assert plugin.values == {"a": "1"}


def test_a_mutant_is_an_engine_by_its_name():
    assert load_engine(mutant_engine(mutant_ids()[0])).id == mutant_engine(mutant_ids()[0])


def test_a_protocol_that_an_adapter_names_is_no_part_of_its_source():
    class Named(type(load_engine("reference")), Released):
        package = "x"

    class Unnamed(type(load_engine("reference"))):
        package = "x"

    assert adapter_digest(Named()) == adapter_digest(Unnamed())
