"""The command line: the group of commands, errors in one line, and exit codes.

Exit codes: 0 done; 1 a gate, a replay or a selftest found what it guards against; 2 wrong usage or input; 3 an engine could not be run to
its end.
"""

from __future__ import annotations

import signal
from typing import Any

import click

from conformance.cli import compare, inspect, replay, report, run, selftest
from conformance.comparison.bisect import CannotBisect
from conformance.comparison.expectations import UnusableExpectations
from conformance.comparison.gate import Refused
from conformance.model.schedule import InvalidSchedule
from conformance.plugins.points import InvalidPlugin
from conformance.plugins.registry import UnknownName
from conformance.results.baseline import UnfitBaseline, UnreadableBaseline
from conformance.results.results import UnreadableResults
from conformance.results.store import UnusableCases, UnusableTraces
from conformance.results.witness import UnreadableWitness
from conformance.run.power import UnreadablePower
from conformance.run.selftest import UnreadableSelfTest

BAD_INPUT = (
    UnknownName,
    InvalidPlugin,
    Refused,
    UnfitBaseline,
    UnreadableBaseline,
    UnreadablePower,
    UnreadableResults,
    UnreadableSelfTest,
    UnreadableWitness,
    UnusableCases,
    UnusableExpectations,
    UnusableTraces,
    CannotBisect,
    InvalidSchedule,
)


class OneLine(click.Group):
    """A group of commands that answer bad input with one line on standard error and exit code 2."""

    def invoke(self, context: click.Context) -> Any:
        try:
            return super().invoke(context)
        except BAD_INPUT as error:
            raise click.UsageError(str(error)) from None
        except OSError as error:
            raise click.UsageError(f"{error.strerror}: {error.filename}") from None


@click.group(cls=OneLine, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="conformance")
def main() -> None:
    """Shows which guarantees stateful stream processing really gives, engine by engine."""
    signal.signal(signal.SIGTERM, _interrupt)  # the exception lets engines end and their folders be removed


def _interrupt(*_: Any) -> None:
    raise KeyboardInterrupt


for module in (run, inspect, replay, report, compare, selftest):
    for command in module.COMMANDS:
        main.add_command(command)


if __name__ == "__main__":
    main()
