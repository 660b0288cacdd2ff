"""Settings that engines declare: each setting is an option of the commands that run engines."""

from collections.abc import Iterable

import click

from conformance.model.engine import bare
from conformance.plugins.registry import load_checker, load_engine, settings
from conformance.plugins.settings import configure, declared_by


class ConfigurableCommand(click.Command):
    """A command with an option for each setting that an engine or a checker declares. The command looks up the
    declarations only when it is used, so that other commands load no engine."""

    def get_params(self, context: click.Context) -> list[click.Parameter]:
        if not hasattr(self, "_settings"):
            self._settings: list[click.Parameter] = [
                click.Option([f"--{name}"], help=setting.help, envvar=setting.envvar or None)
                for name, setting in settings().items()
            ]
            at = next((number for number, p in enumerate(self.params) if p.name == "checker"), len(self.params))
            self.params[at:at] = self._settings
        return super().get_params(context)

    def invoke(self, context: click.Context) -> object:
        given = {option: context.params.pop(option.name or "") for option in self._settings}
        configure({_name(option): value for option, value in given.items() if value})
        source = click.core.ParameterSource.COMMANDLINE
        context.meta[GIVEN] = [_name(o) for o in given if context.get_parameter_source(o.name or "") is source]
        return super().invoke(context)


GIVEN = "conformance.settings"
"""Where a context keeps the names of the settings that stand on the command line."""


def _name(option: click.Parameter) -> str:
    return option.opts[0].removeprefix("--")


def check_used(context: click.Context, engines: Iterable[str], checker: str) -> None:
    """Whether something that runs has each setting that stands on the command line. Raises UsageError."""
    if not (given := context.meta.get(GIVEN)):
        return
    engines = list(engines)
    runs = [load_engine(bare(name)) for name in engines]
    used = {name for plugin in runs for name in declared_by(plugin)}
    if checker not in ("auto", "local"):
        used |= {*declared_by(load_checker(checker))}
    for name in given:
        if name not in used:
            raise click.UsageError(
                f"--{name} is a setting of no engine that is to run ({', '.join(engines)}): leave it out"
            )
