"""The commands of the documentation: they are there, with the options that pages give them, and a tutorial's say what
it says."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import click
import pytest
from commands import conformance

from conformance.cli.main import main

ROOT = Path(__file__).parents[3]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")])


def blocks(text):
    """The indented and fenced blocks of a page, as lists of lines without their indent."""
    found, block, fenced = [], [], False
    for line in [*text.splitlines(), ""]:
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif fenced or re.match(r" {4,}\S", line):
            block.append(line.strip() if fenced else re.sub(r"^ {4}", "", line))
            continue
        if block:
            found.append(block)
            block = []
    return found


def commands_in(text):
    """The calls of ``conformance`` in a page's blocks and code spans, as lists of words."""
    spans = re.findall(r"`(conformance [^`]+)`", text)
    lines = [line.strip().removeprefix("$ ") for block in blocks(text) for line in block]
    called = [part.strip() for line in [*lines, *spans] for part in line.split(" && ")]
    return [shlex.split(line.partition(" # ")[0]) for line in called if line.startswith("conformance ")]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_commands_of_a_page_are_there_with_their_options(page):
    for words in commands_in(page.read_text(encoding="utf-8")):
        command, rest = main, words[1:]
        while isinstance(command, click.Group) and rest and not rest[0].startswith(("-", "…", "COMMAND")):
            # A page may write the words of one place as "scenario|port".
            found = [command.get_command(click.Context(command), word) for word in rest[0].split("|")]
            assert all(found), " ".join(words)
            command, rest = found[0], rest[1:]
        known = {name for param in command.params for name in (*param.opts, *param.secondary_opts)} | {"--help"}
        assert {word.partition("=")[0] for word in rest if word.startswith("--")} <= known, " ".join(words)


def test_pages_have_commands():
    assert sum(len(commands_in(page.read_text(encoding="utf-8"))) for page in PAGES) > 60


def told(text):
    """(command, what it prints) of the calls that a page shows with a ``$`` before them."""
    found = []
    for block in blocks(text):
        for line in block:
            if line.startswith("$ "):
                found.append((line[2:], []))
            elif found and block[0].startswith("$ "):
                found[-1][1].append(line)
    return found


def as_told(shown, printed):
    """Whether what was printed is what a page shows; "…" stands for anything, also for several lines."""
    pattern = ".*".join(map(re.escape, "\n".join(line.rstrip() for line in shown).split("…")))
    return re.search(pattern, "\n".join(line.rstrip() for line in printed.splitlines()), re.DOTALL)


@pytest.fixture
def clone(tmp_path):
    """A folder as a clone is to a page's commands."""
    for name in ("docs", "witnesses"):
        (tmp_path / name).symlink_to(ROOT / name)
    return tmp_path


@pytest.mark.engine
@pytest.mark.parametrize(
    ("page", "frameworks"),
    [
        ("docs/tutorial.md", ["apache_beam"]),
        pytest.param("docs/moving.md", ["apache_beam", "pyspark"], marks=pytest.mark.slow),
        ("README.md", ["pyspark"]),
    ],
)
def test_commands_print_what_a_page_shows(page, frameworks, clone):
    for framework in frameworks:
        pytest.importorskip(framework)
    calls = told((ROOT / page).read_text(encoding="utf-8"))
    assert calls
    for command, shown in calls:
        program, *arguments = shlex.split(command)
        if program == "conformance":
            done = conformance(*arguments, cwd=clone)
            assert done.returncode in (0, 1), done.stderr
        else:
            done = subprocess.run(
                [sys.executable, "-m", program, *arguments], cwd=clone, capture_output=True, text=True, check=False
            )
        assert as_told(shown, done.stdout), f"{command}\n{done.stdout}\n{done.stderr}"


def test_what_a_page_shows_may_leave_lines_out():
    assert as_told(["a", "…", "d…"], "a\nb\nc\nde\n")
    assert not as_told(["a", "c"], "a\nb\nc\n")
