"""The command line: the group of commands, errors in one line, and exit codes.

Exit codes: 0 done; 1 a gate, a replay or a selftest found what it guards against; 2 wrong usage or input; 3 not
finished: an engine could not be run to its end, a file could not be written, or the command was interrupted.
"""

import gc
import signal
from importlib import import_module
from typing import Any

import click

from conformance.cli.hints import Group, Unfinished, in_one_line
from conformance.model.export import CannotExport
from conformance.model.schedule import InvalidSchedule
from conformance.plugins.points import DISTRIBUTION
from conformance.support.reading import BadInput
from conformance.support.writing import NO_ROOM

COMMANDS = {
    "run": ("run", "merge", "check"),
    "plan": ("plan",),
    "new": ("new",),
    "files": ("check-files",),
    "kept": ("cache",),
    "inspect": ("list", "claims", "doctor", "explain"),
    "replay": ("replay",),
    "report": ("report",),
    "compare": ("diff", "gate", "baseline", "bisect"),
    "upgrade": ("upgrade",),
    "checkpoints": ("checkpoints", "crashes"),
    "history": ("history",),
    "selftest": ("selftest",),
    "site": ("site",),
    "subject": ("subject",),
}
"""Module of this package -> its commands. A module is imported when one of its commands is used, because imports take
longer than most commands do."""


SELDOM = 200_000, 20, 100
"""When Python's collector of garbage runs. A run has millions of objects that live to its end, and few cycles: with the
defaults, the collector goes through those objects again and again."""


class OneLine(Group):
    """A group of commands that answer bad input with one line on standard error and exit code 2."""

    def list_commands(self, context: click.Context) -> list[str]:
        return sorted(name for names in COMMANDS.values() for name in names)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        for module, names in COMMANDS.items():
            if name in names:
                found = import_module(f"conformance.cli.commands.{module}")
                command: click.Command = getattr(found, f"{name.replace('-', '_')}_")
                return command
        return None

    def make_context(self, *args: Any, **extra: Any) -> click.Context:
        try:
            return super().make_context(*args, **extra)
        except click.UsageError as error:
            raise in_one_line(error) from None

    def invoke(self, context: click.Context) -> Any:
        try:
            return super().invoke(context)
        except click.UsageError as error:
            raise in_one_line(error) from None
        except KeyboardInterrupt:
            raise Unfinished("interrupted") from None
        except OSError as error:
            where = f": {error.filename}" if error.filename else ""
            kind = Unfinished if error.errno in NO_ROOM else click.UsageError
            raise kind(f"{error.strerror or error}{where}") from None
        except (BadInput, CannotExport, InvalidSchedule) as error:
            raise click.UsageError(str(error)) from None


@click.group(cls=OneLine, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name=DISTRIBUTION)
def main() -> None:
    """Shows which guarantees stateful stream processing really gives, engine by engine."""
    gc.set_threshold(*SELDOM)
    signal.signal(signal.SIGTERM, _interrupt)  # the exception lets engines end and their folders be removed


def _interrupt(*_: Any) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    main()
