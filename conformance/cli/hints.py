"""Errors of the command line in one line: what is wrong, the nearest name that there is, and where help is."""

from typing import Any

import click

from conformance.support.naming import instead, nearest, unknown


class Group(click.Group):
    """A group of commands that says which command was perhaps meant."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            ctx.fail(unknown("command", args[0], self.list_commands(ctx)))
        return super().resolve_command(ctx, args)


class Choice(click.Choice):  # type: ignore[type-arg]  # generic from click 8.2 on
    """One of some words. The error for another word says which one was perhaps meant."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value not in self.choices:
            self.fail(f"{value!r} is not one of them; {instead(value, map(str, self.choices))}", param, ctx)
        return super().convert(value, param, ctx)


class OneLineError(click.ClickException):
    """A usage error that is shown as one line."""

    exit_code = click.UsageError.exit_code


class Unfinished(click.ClickException):
    """A command that could not do all of what it was asked, through no fault of its input: a full disk, an interrupt,
    an engine."""

    exit_code = 3


def in_one_line(error: click.UsageError) -> click.ClickException:
    """A usage error without the lines of usage above it. A command without arguments still answers with its help."""
    if isinstance(error, getattr(click.exceptions, "NoArgsIsHelpError", ())):
        return error
    said = error.format_message()
    if isinstance(error, click.NoSuchOption):
        said = f"no such option {error.option_name}"
        known = [name for option in error.ctx.command.params for name in option.opts] if error.ctx else []
        near = nearest(error.option_name, (name for name in known if name.startswith("--")))
        said += f"; did you mean {near}?" if near else ""
    help_at = f" (help: {error.ctx.command_path} --help)" if error.ctx else ""
    return OneLineError(" ".join(said.split()) + help_at)
