"""The command new: a file to start from, which runs as it is."""

import re
from contextlib import suppress
from importlib.resources import files
from pathlib import Path

import click

from conformance.cli import options
from conformance.cli.hints import Choice, Group
from conformance.model.engine import CannotRun
from conformance.model.scenario import slug
from conformance.plugins.port import port_sides
from conformance.plugins.registry import engine_ids, load_engine, load_scenarios
from conformance.support.writing import write_whole

OURS = "conformance.cli.starters"
"""The package with the starters of scenarios and adapters. That of a port lies beside the class of its side, as
``starter.py``."""

to = click.option("--to", type=options.PATH, help="The file. Default: KIND_NAME.py, here.")


@click.group("new", cls=Group)
def new_() -> None:
    """Write a file to start from, which runs as it is: a scenario, a port or an adapter."""


@new_.command("scenario")
@click.argument("name")
@to
def scenario_(name: str, to: Path | None) -> None:
    """A scenario of your own: a program, and sentences that are to hold of it."""
    if slug(name) in {scenario.id for scenario in load_scenarios()}:
        raise click.UsageError(f"there is a scenario {slug(name)} already: take another name")
    _write(OURS, "scenario.py", name, to or Path(f"scenario_{_module(name)}.py"), "conformance run --load {} --quick")


@new_.command("port")
@click.argument("name")
@click.option(
    "--side", type=Choice([*port_sides()]), help="The framework of your operator. Default: the first that is installed."
)
@to
def port_(name: str, side: str | None, to: Path | None) -> None:
    """Your own operator in the place of a scenario's program."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", name):
        raise click.UsageError(f"a port's name has letters, digits and .-_ only, not {name!r}")
    side = side or next((name for name in port_sides() if _installed(name)), None)
    if side is None:
        raise click.UsageError(f"no framework of a port is installed: name one, --side {' or '.join(port_sides())}")
    package = port_sides()[side].__module__.rpartition(".")[0]
    _write(package, "starter.py", name, to or Path(f"port_{_module(name)}.py"), "conformance run --load {} --quick")


@new_.command("adapter")
@click.argument("name")
@to
def adapter_(name: str, to: Path | None) -> None:
    """An adapter, by which the harness runs its cases on your engine."""
    if slug(name) in engine_ids():
        raise click.UsageError(f"there is an engine {slug(name)} already: take another name")
    _write(OURS, "adapter.py", slug(name), to or Path(f"adapter_{_module(name)}.py"), "python {}")


def _installed(side: str) -> bool:
    """Whether an engine of the framework of a side can run here."""
    package = port_sides()[side].__module__.rpartition(".ports.")[0]
    for engine in map(load_engine, engine_ids()):
        if type(engine).__module__.startswith(f"{package}."):
            with suppress(CannotRun):
                engine.check()
                return True
    return False


def _module(name: str) -> str:
    """A name as that of a Python module. Raises UsageError."""
    if not slug(name):
        raise click.UsageError(f"{name!r} is no name: give letters or digits")
    return slug(name).replace("-", "_")


def _write(package: str, starter: str, name: str, to: Path, command: str) -> None:
    """Writes a starter, and prints what runs it. Raises UsageError where there is a file already."""
    if to.exists():
        raise click.UsageError(f"{to} is there already: name another file with --to")
    text = files(package).joinpath(starter).read_text(encoding="utf-8")
    write_whole(to, text.replace("FILE", str(to)).replace("starter", name))
    click.echo(f"{to}: {command.format(to)}")
