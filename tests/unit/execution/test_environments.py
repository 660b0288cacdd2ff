"""An engine in a release of its framework: what is installed for it, and how it is asked for."""

import subprocess
from importlib.metadata import distributions
from pathlib import Path

import pytest

from conformance.execution import environments
from conformance.execution.environments import link_harness, python_of, requirements
from conformance.judgement.cell import Verdict
from conformance.judgement.verdict import not_expressible
from conformance.model.engine import CannotRun, EngineInfo
from conformance.plugins.registry import UnknownName, load_engine, load_scenarios, releases_of
from conformance.support.release import Release


def test_the_release_takes_the_place_of_what_the_harness_asks_for():
    """With the options of the extra that has it, and without the other frameworks."""
    found = requirements(Release("pyspark", "4.0.5"))
    assert found.framework == ("pandas", "pyarrow", "pyspark[connect]==4.0.5")
    assert not [r for r in found.harness if r.startswith(("apache-beam", "pyarrow", "pytest"))]
    assert "apache-beam==2.70.0" in requirements(Release("apache-beam", "2.70.0")).framework


@pytest.mark.parametrize("dated", [True, False])
def test_dependencies_are_of_the_releases_time_where_they_can_be_had(monkeypatch, tmp_path, dated):
    """Else they are what the harness is tested with; the harness's own come on top and change none of them."""
    monkeypatch.setenv(environments.CACHE, str(tmp_path))
    asked = []

    def run(command, **options):
        asked.append(words := list(command))
        if "venv" in words:
            Path(words[-1], "bin").mkdir(parents=True)
        if "lock" in words:
            lock = Path(words[words.index("--project") + 1], "uv.lock")
            lock.write_text(
                '[[package]]\nname = "pyspark"\nsdist = { url = "x", upload-time = "2023-09-26T20:30:58.621Z" }\n',
                encoding="utf-8",
            )
        failed = not dated and "--exclude-newer" in words
        return subprocess.CompletedProcess(command, int(failed), stdout="numpy==1.26.0\n", stderr="")

    monkeypatch.setattr(environments.subprocess, "run", run)
    python_of(Release("pyspark", "3.5.0"))
    installs = [words for words in asked if "install" in words]
    assert installs[0][installs[0].index("--exclude-newer") + 1] == "2023-09-27"
    assert len(installs) == (2 if dated else 3)
    assert dated or [word for word in installs[1] if word.startswith("pandas<3")]
    assert "--constraint" in installs[-1]
    assert not [word for word in installs[-1] if word.startswith(("pyspark", "pandas", "pyarrow"))]


def test_the_harness_is_linked_with_all_that_registers_something(tmp_path):
    target = link_harness(tmp_path)
    assert (target / "conformance" / "engines" / "reference.py").is_file()
    mine = next(d for d in distributions(path=[str(target)]) if d.metadata["Name"] == "stream-conformance")
    assert "spark-tws" in {point.name for point in mine.entry_points}


def test_an_engine_of_a_release_has_a_name_and_a_process_of_its_own():
    one, other = load_engine("spark-tws@4.0.5"), load_engine("spark-tws-pandas@4.3.0")
    assert one.id == "spark-tws@4.0.5"
    assert {one.capabilities.host, other.capabilities.host} == {"spark@4.0.5", "spark@4.3.0"}
    assert load_engine("spark-fmgws-jvm:rocksdb@4.0.5").id == "spark-fmgws-jvm:rocksdb@4.0.5"
    assert releases_of("beam-direct@2.70.0") == (Release("apache-beam", "2.70.0"),)
    assert releases_of("beam-direct") == ()
    carried = load_engine("spark-tws@4.0.5+4.3.0")
    assert (carried.id, carried.capabilities.host) == ("spark-tws@4.0.5+4.3.0", "spark@4.0.5+4.3.0")
    assert [release.version for release in releases_of(carried.id)] == ["4.0.5", "4.3.0"]


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("spark-tws@four", "'four' is no version of pyspark"),
        ("spark-tws@", "'' is no version of pyspark"),
        ("reference@1.0", "'reference' comes in no releases"),
        ("beam-direct@2.70.0+2.76.0", "keeps no checkpoint"),
        ("spark-tws@4.0.5+", "'' is no version of pyspark"),
        ("spork@1.0", "unknown engine 'spork'"),
    ],
)
def test_a_release_that_cannot_be_meant_is_refused(name, says):
    with pytest.raises(UnknownName, match=says):
        load_engine(name)


@pytest.fixture
def uv(monkeypatch, tmp_path):
    """A uv that fails as it is told to."""
    monkeypatch.setenv(environments.CACHE, str(tmp_path))
    answers = {"said": "", "error": None}

    def run(command, **options):
        if answers["error"]:
            raise answers["error"]
        return subprocess.CompletedProcess(command, 1, stdout="", stderr=answers["said"])

    monkeypatch.setattr(environments.subprocess, "run", run)
    return answers


def test_what_cannot_be_installed_is_told_in_a_line(uv, tmp_path):
    uv["said"] = (
        "  × No solution found:\n  ╰─▶ Because there is no version of\n      pyspark==9.9.9 and you require it\n"
    )
    with pytest.raises(CannotRun) as raised:
        python_of(Release("pyspark", "9.9.9"))
    text = str(raised.value)
    assert text.startswith("pyspark 9.9.9 cannot be installed: the package index has no such release (`pip index ")
    assert "\n" not in text
    (log,) = (tmp_path / "environments").iterdir()
    assert log.name.startswith("pyspark-9.9.9-py3.")
    assert text.endswith(str(log))
    uv["said"] = (
        "  × No solution found:\n  ╰─▶ Because pyspark==4.3.0 requires\n      Python>=3.10, it cannot be used\n"
    )
    with pytest.raises(CannotRun, match="installed: Because pyspark==4"):
        python_of(Release("pyspark", "4.3.0"))
    uv["said"] = "error: Failed to build `apache-beam==2.30.0`\n  cause: The build backend returned an error\n"
    with pytest.raises(CannotRun, match=r"apache-beam==2\.30\.0 has no wheel for Python"):
        python_of(Release("apache-beam", "2.30.0"))
    uv["error"] = subprocess.TimeoutExpired("uv", 1)
    with pytest.raises(CannotRun, match="was not installed within"):
        python_of(Release("pyspark", "9.9.9"))


def test_without_uv_one_line_says_what_to_do(uv, monkeypatch):
    monkeypatch.setattr(environments.shutil, "which", lambda name: None)
    monkeypatch.setattr(environments, "find_spec", lambda name: None)
    with pytest.raises(CannotRun, match="pip install uv"):
        python_of(Release("pyspark", "9.9.9"))


def test_a_release_without_the_api_makes_every_cell_unsupported():
    scenario = load_scenarios(["late-data"])[0]
    engine = load_engine("spark-tws@3.5.9")
    info = EngineInfo(engine.id, engine.title, engine.capabilities, lacks="PySpark 3.5.9 has no transformWithState")
    for guarantee in scenario.guarantees:
        cell = not_expressible(scenario, guarantee, None, info)
        assert (cell.verdict, cell.reason) == (Verdict.UNSUPPORTED, "PySpark 3.5.9 has no transformWithState")


def test_where_no_bytecode_may_be_written_an_engines_process_keeps_it_with_what_runs_keep(monkeypatch, tmp_path):
    """Otherwise each process would compile its framework anew."""
    monkeypatch.setenv(environments.CACHE, str(tmp_path))
    monkeypatch.setenv(environments.NO_BYTECODE, "1")
    _, there = environments.python_in(tmp_path, None)
    assert not there[environments.NO_BYTECODE]
    assert there["PYTHONPYCACHEPREFIX"] == str(tmp_path / "bytecode")
    monkeypatch.delenv(environments.NO_BYTECODE)
    assert "PYTHONPYCACHEPREFIX" not in environments.python_in(tmp_path, None)[1]
