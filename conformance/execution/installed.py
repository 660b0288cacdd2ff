"""What an engine would run on here, found without starting the engine."""

import os
import platform
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.metadata import Distribution, distributions

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import NormalizedName, canonicalize_name

from conformance.execution.environments import python_of
from conformance.model.engine import CannotRun, Engine, Released, Rooted
from conformance.model.values import Json
from conformance.plugins.registry import releases_of, values_for
from conformance.support.release import Release

SHARED = ("pyarrow", "pandas", "numpy")
"""Packages that values pass through on their way to and from an engine."""


def installed(engine: Engine) -> Json | None:
    """What decides an engine's answers besides its adapter and the harness: Python, its packages, their configuration,
    and what the engine itself names (``Rooted``). The environment of a release is built if it is not there. None if
    this is not known before the engine is started.

    Raises:
        CannotRun: the release is not available.
    """
    roots = engine.roots() if isinstance(engine, Rooted) else {}
    package, foreign = (engine.package, engine.foreign) if isinstance(engine, Released) else ("", ())
    found = installed_here(package, foreign, roots, releases_of(engine.id) or (None,))
    return found and [*found, values_for(engine.id)]


def installed_here(
    package: str,
    foreign: Iterable[str],
    roots: Mapping[str, str] | None,
    releases: Sequence[Release | None] = (None,),
) -> list[Json] | None:
    """What decides the answers of a package in some releases, None for that of this process: as ``installed``, but for
    the configuration of an engine. Raises CannotRun."""
    versions = [_versions(package, _site(release)) for release in releases]
    if roots is None or None in versions:
        return None
    python = [platform.python_implementation(), platform.python_version(), sys.platform, platform.machine()]
    return [python, versions, dict(roots), {name: os.environ.get(name, "") for name in foreign}]


def _site(release: Release | None) -> str:
    """The folder of the packages of a release's environment, "" for this process's packages. Raises CannotRun."""
    if release is None:
        return ""
    found = sorted(python_of(release).parents[1].glob("lib/python*/site-packages"))
    if not found:
        raise CannotRun(f"{release}: its environment has no packages")
    return str(found[0])


@cache
def _versions(package: str, site: str) -> Mapping[str, str] | None:
    """Name -> version of a package, of those that it requires, of those that these require, and of SHARED. Without a
    package: of all. None if the package is installed from a folder that may change without its version."""
    there = _there(site)
    if not package:
        return {name: found.version for name, found in sorted(there.items())}
    wanted: dict[str, str] = {}
    waiting = [canonicalize_name(name) for name in (package, *SHARED)]
    while waiting:
        name = waiting.pop()
        if name in there and name not in wanted:
            wanted[name] = there[name].version
            waiting += _named(there[name].requires or ())
    mine = there.get(canonicalize_name(package))
    if mine and re.search(r'"editable":\s*true', mine.read_text("direct_url.json") or ""):
        return None
    return dict(sorted(wanted.items()))


def _named(requirements: Iterable[str]) -> Iterable[NormalizedName]:
    """The packages that requirements name, without those of extras."""
    for text in requirements:
        try:
            found = Requirement(text)
        except InvalidRequirement:
            continue
        if found.marker is None or found.marker.evaluate({"extra": ""}):
            yield canonicalize_name(found.name)


@cache
def _there(site: str) -> Mapping[str, Distribution]:
    found: dict[str, Distribution] = {}
    for each in distributions(path=[site]) if site else distributions():
        if name := each.metadata["Name"]:
            found.setdefault(canonicalize_name(name), each)
    return found
