"""Files of a user's repository, checked before a commit."""

import re
from pathlib import Path

import pytest
import yaml
from commands import conformance
from own_scenario import echo

HOOKS = Path(__file__).parents[3] / ".pre-commit-hooks.yaml"

EXPECTATIONS = """
[[divergence]]
engine = "{engine}"
guarantee = "{scenario}/a-guarantee"
kind = "engine"
reason = "known"
signature = "so it fails"
"""


@pytest.fixture
def write(tmp_path):
    def written(name, text):
        (tmp_path / name).write_text(text)
        return name

    return written


@pytest.fixture
def check(tmp_path):
    return lambda *files: conformance("check-files", *files, cwd=tmp_path)


def test_good_files_are_accepted_without_a_word(write, check):
    """Expectations may be about a scenario of a file that is checked beside them, and about a native operator."""
    files = [write("scenario_one.py", echo("one of mine")), write("scenario_two.py", echo("two of mine"))]
    text = EXPECTATIONS.format(engine="reference", scenario="late-data")
    text += EXPECTATIONS.format(engine="spark-native:count", scenario="one-of-mine")
    done = check(*files, write("expectations.toml", text))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("scenario_bad.py", "SCENARIO = (\n", "scenario_bad.py, line 1: SyntaxError"),
        ("scenario_bad.py", "import no_such_module\n", "scenario_bad.py, line 1: ModuleNotFoundError"),
        ("scenario_bad.py", "X = 1\n", "scenario_bad.py has no PORT (nor PORTS, nor a SCENARIO)"),
        ("scenario_bad.py", echo("good"), "two scenarios are called 'good'; rename one"),
        ("scenario_bad.py", echo("late data"), "a registered scenario has the id of the scenario 'late data' already"),
        ("expectations.toml", "[[divergence]]\n", "expectations.toml: divergence 1 has no engine"),
        ("expectations.toml", "[divergence\n", "expectations.toml is not TOML"),
        (
            "expectations.toml",
            EXPECTATIONS.format(engine="no-engine", scenario="late-data"),
            "expectations.toml: no-engine/late-data/a-guarantee is of an engine that nobody knows",
        ),
        (
            "expectations.toml",
            EXPECTATIONS.format(engine="reference", scenario="no-scenario"),
            "expectations.toml: reference/no-scenario/a-guarantee is of a scenario that nobody knows",
        ),
        (
            "scenario_bad.py",
            echo("other").replace("run.values", "run.vaules"),
            "scenario_bad.py: the guarantee 'an element comes out again': case ",
        ),
        (
            "scenario_bad.py",
            echo("bad").replace("event.id})", "event.name})"),
            "bad.py: the program echo fails in every",
        ),
        ("notes.md", "", "notes.md is neither a Python file nor TOML"),
    ],
)
def test_a_bad_file_is_one_line(write, check, name, text, says):
    done = check(write("scenario_good.py", echo("good")), write(name, text))
    assert (done.returncode, done.stdout) == (2, "")
    assert says in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr


def test_the_hooks_check_the_files_that_they_are_for(write, tmp_path):
    """Of each hook: what it runs, and which files it is given."""
    scenarios, expectations = yaml.safe_load(HOOKS.read_text())
    good = write("scenario_good.py", echo("good"))
    bad = write("expectations.toml", "[[divergence]]\n")
    for hook, file, code in ((scenarios, good, 0), (expectations, bad, 2)):
        assert [bool(re.search(hook["files"], f"a/{name}")) for name in (file, "other.py", "other.toml")] == [
            True,
            False,
            False,
        ]
        command, *arguments = hook["entry"].split()
        assert command == "conformance"
        assert conformance(*arguments, file, cwd=tmp_path).returncode == code
