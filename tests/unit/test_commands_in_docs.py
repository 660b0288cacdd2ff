"""Each command that a document shows is one that there is, with options that it has."""

import re
import shlex
from pathlib import Path

import click
import pytest

from conformance.cli.main import main

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]

BLOCK = re.compile(r"^(?: {4}|)(?:\$ )?(conformance [a-z-]+.*)$", re.MULTILINE)
INLINE = re.compile(r"`(conformance [a-z-]+ [^`\n]*)`")

PLACES = {"…", "..."}
"""What stands for more of the same."""


def commands_of(page):
    """The commands of a page's code, as texts."""
    text = page.read_text(encoding="utf-8")
    code = re.findall(r"^(?: {4}.*\n)+", text, re.MULTILINE) + re.findall(r"```\w*\n(.*?)```", text, re.DOTALL)
    found = [line for block in code for line in BLOCK.findall(block)] + INLINE.findall(text)
    for line in found:
        for command in re.split(r" && | \| | > |; ", line.partition("  #")[0]):
            if command.startswith("conformance "):
                yield command


COMMANDS = [
    pytest.param(command, id=f"{page.name}: {command}")
    for page in PAGES
    for command in dict.fromkeys(commands_of(page))
]


def options_of(arguments):
    """The command that arguments name, and the arguments that are left for it."""
    command, context = main, click.Context(main)
    while isinstance(command, click.Group):
        name, *arguments = arguments
        found = command.get_command(context, name)
        assert found, f"there is no command {name}"
        command, context = found, click.Context(found)
    return command, context, arguments


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_of_a_document_is_one_that_there_is(command):
    _, *arguments = shlex.split(command)
    if PLACES & set(arguments):
        arguments = [argument for argument in arguments if argument not in PLACES]
    found, context, rest = options_of(arguments)
    known = {name: option for option in found.get_params(context) for name in option.opts}
    while rest:
        name, *rest = rest
        if name.startswith("-"):
            option = known.get(name.partition("=")[0])
            assert option, f"{found.name} has no option {name}"
            if not option.is_flag and "=" not in name:
                rest = rest[option.nargs :]


def test_documents_show_commands():
    assert len(COMMANDS) > 30
