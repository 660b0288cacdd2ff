"""Releases: versions of an engine's framework."""

from __future__ import annotations

from dataclasses import dataclass


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
