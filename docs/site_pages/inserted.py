"""What pages of the repository have in the site in the place of a mark: tables that are made of code and of
measurements."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import click

from conformance.cli.main import main
from conformance.plugins.registry import engine_ids, load_engine
from conformance.reports.findings import known_findings
from conformance.reports.own import known_history
from conformance.reports.words import some
from conformance.selftest.power import read_powers
from conformance.support.reading import tables_of, text_of
from site_pages.finding_page import index

MARK = re.compile(r"<!-- made here: (\w+) -->")
"""The mark: an HTML comment, so that a reader of the repository does not see it."""

KINDS = {
    "power.json": ("A full run", "--as all --seed 1"),
    "power-quick.json": ("A quick run", "--as ENGINE --quick --seed 1"),
    "power-upgrade.json": ("Either release in an upgrade", "--as ENGINE --upgrade --seed 1"),
}
"""File -> what runs the file is about, and the options of ``conformance selftest`` that measure them."""

NAMED = 8
"""How many of many missed bugs of an engine are named; the files have all."""


def with_inserted(markdown: str, docs: Path) -> str:
    """A page with what its marks stand for. Raises KeyError for a mark that stands for nothing."""
    made: dict[str, Callable[[], str]] = {
        "findings": lambda: index(known_findings().values()),
        "plans": plans,
        "power": partial(power, docs),
        "commands": commands,
        "history": history,
    }
    return MARK.sub(lambda mark: made[mark[1]](), markdown)


def plans() -> str:
    """All plans of all engines that have a query, those of a framework together."""
    found: dict[tuple[str, str, str, str], list[str]] = {}
    for name in engine_ids():
        for plan in load_engine(name).capabilities.plans:
            if plan.text:
                found.setdefault((name.partition("-")[0], plan.id, plan.title, plan.text), []).append(f"`{name}`")
    rows = [
        f"| `{plan}` | {title} | `{text}` | {_engines(asked)} |"
        for (_, plan, title, text), asked in sorted(found.items())
    ]
    return "\n".join(["| plan | what is different | the query | asked of |", "|---|---|---|---|", *_escaped(rows)])


def _engines(names: list[str]) -> str:
    return ", ".join(names) if len(names) < 5 else f"{len(names)} engines, {names[0]} among them"


def _escaped(rows: list[str]) -> Iterator[str]:
    """Rows whose code may have a bar of its own."""
    for row in rows:
        yield re.sub(r"`[^`]*`", lambda code: code[0].replace("|", "\\|"), row)


def history() -> str:
    """The known changes between releases."""
    rows = [
        f"| `{change.id}` | `{change.engine}` | {change.bad} | {change.good} | {change.says} |"
        for change in known_history()
        if not change.quiet
    ]
    file = Path(__file__).parents[1] / "history.toml"
    tables = tables_of(text_of(file, ValueError), file, ValueError)
    beyond = [f"| {each['says']} | {each['lacks']} |" for each in tables["beyond"]]
    return "\n".join(
        [
            *("| ticket | engine | bad | good | what changed |", "|---|---|---|---|---|", *rows, ""),
            *("Out of reach:", "", "| change | what it would take to show it |", "|---|---|", *beyond),
        ]
    )


def power(docs: Path) -> str:
    """The tables of power: which seeded bugs a run would catch."""
    parts = []
    for name, (title, options) in KINDS.items():
        powers = read_powers(docs / name)
        if not powers:
            continue
        asked = powers[0].asked
        parts += [f"**{title}**, {asked.wanted} cases of each program on each timeline, seed {asked.seed}:", ""]
        parts += [f"    conformance selftest {options} --json docs/{name}", ""]
        parts += [
            "| engine | cases, in packs | bugs caught, of those that it could show | missed |",
            "|---|--:|--:|---|",
        ]
        for of in sorted(powers, key=lambda of: (":" in of.engine, -len(of.caught) / of.visible)):
            caught = f"{len(of.caught)} of {of.visible}"
            parts.append(f"| `{of.engine}` | {of.cases} in {of.packs} | {caught} | {some(of.missed, NAMED)} |")
        parts.append("")
    return "\n".join(parts)


def commands() -> str:
    """Each command with its help, as ``--help`` prints it."""
    parts = []
    for name, command in _commands(main, "conformance"):
        context = click.Context(command, info_name=name, max_content_width=100)
        parts += [f"## {name.removeprefix('conformance ')}", "", "```text", command.get_help(context), "```", ""]
    return "\n".join(parts)


def _commands(command: click.Command, name: str) -> Iterator[tuple[str, click.Command]]:
    """(words that call it, command) for a command and all below it, groups left out."""
    if not isinstance(command, click.Group):
        yield name, command
        return
    context = click.Context(command, info_name=name)
    for below in command.list_commands(context):
        found = command.get_command(context, below)
        if found and not found.hidden:
            yield from _commands(found, f"{name} {below}")
