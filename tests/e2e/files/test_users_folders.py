"""A project may call its own folders as the harness calls its: ``engines``, ``scenarios``, ``reports``."""

import subprocess
import sys

import pytest

FOLDERS = ("engines", "scenarios", "reports")


@pytest.fixture
def project(tmp_path):
    for name in FOLDERS:
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text(f"MINE = {name!r}\n")
        (tmp_path / name / f"test_{name}.py").write_text(
            f"import {name}\n\n\ndef test_it_is_mine():\n    assert {name}.MINE == {name!r}\n"
        )

    def python(*arguments):
        """Python finds the project's packages before all others."""
        command = [sys.executable, "-m", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
        return done.returncode, done.stdout + done.stderr

    return python


def test_the_project_has_its_own_packages(project):
    code, said = project("pytest", "-q", "-p", "no:cacheprovider")
    assert (code, "3 passed" in said) == (0, True), said


def test_the_harness_has_its_own_packages(project, tmp_path):
    """Engines, scenarios and reports are used; the witness is one of those that come with the harness."""
    code, said = project("conformance", "replay", "45bff12a76ef", "--engine", "reference", "--plot", "seen.svg")
    assert (code, "reference: FIXED" in said) == (0, True), said
    assert (tmp_path / "seen.svg").is_file()
