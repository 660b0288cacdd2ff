"""Settings that engines declare: each setting is an option of the commands that run engines."""

from __future__ import annotations

import click

from conformance.plugins.registry import settings
from conformance.plugins.settings import configure


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
        configure({option.opts[0].removeprefix("--"): value for option, value in given.items() if value})
        return super().invoke(context)
