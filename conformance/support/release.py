"""Releases: versions of an engine's framework."""

import os
from dataclasses import dataclass

from packaging.version import InvalidVersion, Version

IN_RELEASE = "CONFORMANCE_RELEASE"
"""The environment variable of a process that runs in the environment of a release, with the release."""


def in_release() -> bool:
    """Whether this process runs in the environment of a release, which is made to compare it with another one."""
    return bool(os.environ.get(IN_RELEASE))


@dataclass(frozen=True)
class Release:
    """A released version of an engine's framework, by its name on PyPI. ``beside`` are requirements that the version
    does not declare. ``foreign`` are environment variables that would make the version load files of another
    installation."""

    package: str
    version: str
    beside: tuple[str, ...] = ()
    foreign: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.package} {self.version}"


def version_in(text: str) -> Version | None:
    """The version that a text is, None for a text that is none."""
    try:
        return Version(text)
    except InvalidVersion:
        return None
