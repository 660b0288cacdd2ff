"""Settings: values that a user gives to the engines that declare them (``Configurable``).

The user's process takes the values from options or environment variables. The request to open an engine carries the
engine's values. An engine's process reads them from the request alone.
"""

import os
from collections.abc import Mapping
from typing import Any

from conformance.model.engine import Configurable, Setting

_given: dict[str, str] | None = None
"""The values that ``configure`` got. If None, the environment variables count."""


def configure(values: Mapping[str, str]) -> None:
    """Let plugins in this process take these values (name -> value), in place of earlier values and of environment
    variables."""
    global _given
    _given = dict(values)


def values(declared: Mapping[str, Setting]) -> dict[str, str]:
    """Name -> value, for the declared settings that have a value."""
    if _given is not None:
        return {name: _given[name] for name in declared if name in _given}
    return {name: text for name, setting in declared.items() if (text := os.environ.get(setting.envvar or "", ""))}


def declared_by(plugin: Any) -> Mapping[str, Setting]:
    """The settings that an engine or a checker declares."""
    return plugin.settings if isinstance(plugin, Configurable) else {}


def configured(plugin: Any) -> None:
    """Give an engine or a checker the values of its settings."""
    if isinstance(plugin, Configurable):
        plugin.configure(values(plugin.settings))
