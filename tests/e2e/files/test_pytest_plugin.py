"""The pytest plugin as a team meets it."""

import os
import subprocess
import sys

import pytest
from test_load import DROPS, SCENARIO


def run_pytest(folder, *arguments, small=("--conformance-cases", "1")):
    # Without a summary (-rN): where CI is set, pytest prints whole messages in it once more.
    command = [sys.executable, "-m", "pytest", "-q", "-rN", *small, *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, env=os.environ, check=False)


@pytest.fixture
def team(tmp_path):
    """A team's folder: a scenario, and a test of another kind."""
    (tmp_path / "scenario_echo.py").write_text(SCENARIO)
    (tmp_path / "test_other.py").write_text("def test_other():\n    pass\n")
    return tmp_path


def test_a_guarantee_that_holds_passes(team):
    done = run_pytest(team, "--conformance", "--conformance-engine", "reference")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "4 passed" in done.stdout


def test_without_the_option_scenarios_are_left_alone(team):
    assert "1 passed" in run_pytest(team, small=()).stdout
    done = run_pytest(team, "--conformance-engine", "reference", small=())
    assert done.returncode == 4
    assert "--conformance-engine does nothing without --conformance: give it, too" in done.stderr


def test_a_violated_guarantee_fails_with_its_witness(team):
    done = run_pytest(team, "--conformance", "--conformance-engine", DROPS)
    assert done.returncode == 1
    assert "2 failed, 2 passed" in done.stdout
    assert f"violated on {DROPS}" in done.stdout
    assert "step 0: watermark moves to +0" in done.stdout
    assert "conformance replay " in done.stdout
    assert "Traceback" not in done.stdout


@pytest.mark.slow
def test_what_is_accepted_is_an_expected_failure(team):
    failed = run_pytest(team, "--conformance", "--conformance-engine", DROPS)
    signatures = [line for line in failed.stdout.splitlines() if line.startswith("signature = ")]
    guarantees = ("an-element-comes-out-again", "no-output-is-lost-doubled-or-under-another-key")
    entry = "".join(
        f"""[[divergence]]
engine = "{DROPS}"
guarantee = "echo-of-mine/{guarantee}"
kind = "never"
reason = "known"
{signature}
"""
        for guarantee, signature in zip(guarantees, signatures, strict=True)
    )
    (team / "expectations.toml").write_text(entry)
    done = run_pytest(team, "--conformance", "--conformance-engine", DROPS)
    assert done.returncode == 0, done.stdout
    assert "2 xfailed" in done.stdout
    (team / "expectations.toml").write_text(entry.replace(signatures[0], 'signature = "otherwise"'))
    assert run_pytest(team, "--conformance", "--conformance-engine", DROPS).returncode == 1


def test_a_file_that_cannot_be_used_is_one_line(team):
    (team / "scenario_broken.py").write_text("x =\n")
    done = run_pytest(team, "--conformance", "--conformance-engine", "reference")
    assert done.returncode == 2
    assert "scenario_broken.py, line 1: SyntaxError" in done.stdout
    (team / "scenario_broken.py").unlink()
    done = run_pytest(team, "--conformance", "--conformance-engine", "spork")
    assert "unknown engine 'spork'" in done.stdout
