"""`conformance subject` as a user types it: what it says of input that it cannot use, and the page that shows it."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from commands import conformance
from test_docs import as_told, told

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "test-my-query.md"

QUERY = """
from conformance import subject

@subject(schema="user string, at timestamp", key="user", time="at", delay="10 seconds", engine="spark")
def visits(rows):
    return rows
"""


@pytest.mark.parametrize(
    ("text", "arguments", "says"),
    [
        ("X = 1\n", (), "my.py has no subject: put @subject"),
        (QUERY.replace('key="user", ', ""), (), "my.py, line 4: subject visits: key is missing; name the column"),
        (QUERY.replace("user string", "user strng"), (), "unknown type 'strng'; did you mean string?"),
        (QUERY.replace('"spark"', '"sprk"'), (), "subject visits: unknown engine 'sprk'; did you mean spark?"),
        (QUERY.replace("engine=", 'leave_out="ordr", engine='), (), "leave_out: unknown question 'ordr'"),
        (QUERY.replace("engine=", "watermark=1, engine="), (), "subject visits: unknown argument 'watermark'"),
        (QUERY, ("--question", "ordr"), "unknown question 'ordr'; did you mean order?"),
        (QUERY, ("--release", "pyspark=3"), "write PACKAGE==VERSION"),
        (QUERY, ("--budget", "soon"), "'soon' is not a time such as 90s, 5m or 1h"),
        (QUERY, ("--sample", "none.jsonl"), "none.jsonl"),
        (QUERY, ("--same-as", "none.py"), "there is no file none.py"),
        (QUERY, ("--same-as", "my.py", "--next", "my.py"), "--same-as asks nothing else"),
        (QUERY, ("--same-as", "my.py::visit"), "unknown subject 'visit'; did you mean visits?"),
    ],
)
def test_what_cannot_be_used_gets_one_line_and_exit_code_2(tmp_path, text, arguments, says):
    (tmp_path / "my.py").write_text(text)
    done = conformance("subject", "my.py", *arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert says in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr


def test_names_of_files_and_subjects_that_are_not_there(tmp_path):
    (tmp_path / "my.py").write_text(QUERY)
    done = conformance("subject", "my.py::visit", cwd=tmp_path)
    assert (done.returncode, "unknown subject 'visit'; did you mean visits?" in done.stderr) == (2, True)
    done = conformance("subject", "mine.py", cwd=tmp_path)
    assert (done.returncode, "there is no file mine.py" in done.stderr) == (2, True)


def test_a_run_says_which_command_tests_a_subject(tmp_path):
    (tmp_path / "my.py").write_text(QUERY)
    done = conformance("run", "--load", "my.py", cwd=tmp_path)
    assert done.returncode == 2
    assert "my.py has subjects, and no port or scenario: conformance subject my.py tests them" in done.stderr
    done = conformance("upgrade", "--from-lock", "my.py", "my.py", "--load", "my.py", cwd=tmp_path)
    assert "subjects are compared between two releases: give PACKAGE with --from and --to" in done.stderr


def run_pytest(folder, *arguments):
    command = [sys.executable, "-m", "pytest", "-q", "-rN", "-p", "no:cacheprovider", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_pytest_says_why_a_file_of_subjects_cannot_be_used(tmp_path):
    (tmp_path / "subject_visits.py").write_text(QUERY.replace('key="user", ', ""))
    done = run_pytest(tmp_path, "--conformance")
    assert "subject_visits.py, line 4: subject visits: key is missing; name the column" in done.stdout
    assert "Traceback" not in done.stdout
    assert "no tests ran" in run_pytest(tmp_path).stdout


@pytest.mark.engine
def test_a_subject_is_a_test_item(tmp_path):
    """Only those that are selected are asked: all nine take minutes."""
    seeded = ROOT / "tests" / "engines" / "subjects" / "seeded_beam.py"
    (tmp_path / "subject_plays.py").write_text(seeded.read_text(encoding="utf-8"))
    done = run_pytest(tmp_path, "--conformance", "--conformance-budget", "20s", "-k", "totals or without_its_key")
    assert "2 failed" in done.stdout, done.stdout + done.stderr
    # The question that is asked first in the time that there is.
    assert re.search(r"(?:order|batches|empty): .* give the same answer\.", done.stdout), done.stdout
    assert "subject without_its_key: the output has no 'team' (it has value)" in done.stdout
    assert "Traceback" not in done.stdout
    assert {script.name.partition("-")[0] for script in (tmp_path / "build").glob("*.py")} == {"totals"}


@pytest.mark.slow
@pytest.mark.engine
def test_a_test_of_ones_own_asks_a_subject(tmp_path):
    pytest.importorskip("apache_beam")
    scores = (ROOT / "docs" / "examples" / "subjects_beam.py").read_text(encoding="utf-8")
    (tmp_path / "games.py").write_text(scores)
    (tmp_path / "test_games.py").write_text(
        "from games import hourly_team_scores, points_in_batches\n\n"
        "def test_scores(conformance_ask):\n    assert conformance_ask(hourly_team_scores, 'order').findings\n\n"
        "def test_batches(conformance_ask):\n    conformance_ask(points_in_batches, 'bounded', budget='40s')\n"
    )
    done = run_pytest(tmp_path)
    assert "1 failed, 1 passed" in done.stdout, done.stdout + done.stderr
    assert "bounded: The same rows as bounded input give the same answer." in done.stdout
    assert "Traceback" not in done.stdout


QUICK = "conformance subject docs/examples/my_query_fixed.py --question order"


def ours(word):
    """The calls of a command that the page shows."""
    calls = told(PAGE.read_text(encoding="utf-8"))
    found = [(command, shown) for command, shown in calls if command.startswith(f"conformance {word} ")]
    marks = {command: () if command == QUICK else pytest.mark.slow for command, _ in found}
    return [pytest.param(*call, id=call[0].removeprefix("conformance "), marks=marks[call[0]]) for call in found]


@pytest.mark.engine
@pytest.mark.parametrize(("command", "lines"), ours("subject"))
def test_the_page_shows_what_its_commands_print(tmp_path, command, lines):
    (tmp_path / "docs").symlink_to(ROOT / "docs")
    done = conformance(*command.split()[1:], cwd=tmp_path)
    assert done.returncode == int(any("violated" in line for line in lines)), done.stderr
    assert as_told(lines, done.stdout), done.stdout


@pytest.mark.engine
@pytest.mark.slow
@pytest.mark.parametrize(("command", "lines"), ours("upgrade"))
def test_the_page_shows_what_an_upgrade_prints(tmp_path, command, lines):
    (tmp_path / "docs").symlink_to(ROOT / "docs")
    done = conformance(*command.split()[1:], cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert as_told(lines, done.stdout), done.stdout


def test_the_page_has_the_questions_that_there_are_and_the_code_of_its_example():
    from conformance.subjects.found import drivers

    text = PAGE.read_text(encoding="utf-8")
    rows = re.findall(r"^\| (`.+?`) \|.*\|(.*)\|(.*)\|$", text, re.MULTILINE)
    for name, column in (("spark", 1), ("beam", 2)):
        told = {question for row in rows if "✓" in row[column] for question in re.findall(r"`(\w+)`", row[0])}
        assert told == {question.id for question in drivers()[name].questions}
    example = (ROOT / "docs" / "examples" / "my_query.py").read_text(encoding="utf-8")
    for part in re.search(r"```python\n(.*?)```", text, re.DOTALL)[1].split("\n\n\n"):
        assert all(line in example for line in part.splitlines())
