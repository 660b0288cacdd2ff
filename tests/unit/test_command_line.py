"""The command line's place: everything else in the core works without it, and without reports."""

import ast
from pathlib import Path

import click
import pytest

from conformance.cli.main import main

CORE = Path(__file__).parents[2] / "conformance"


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
    if path.parent.name != "cli":
        assert [name for name in _imported(path) if name.split(".")[0] == "reports"] == []
        assert [name for name in _imported(path) if name.startswith("conformance.cli")] == []


def test_every_command_and_option_says_what_it_does():
    """All but an option whose default says it."""
    for command in main.commands.values():
        assert command.help, command.name
        for option in command.params:
            if isinstance(option, click.Option):
                assert option.help or option.show_default, f"{command.name} {option.name}"
