"""Entry points: the plugins that installed packages, and the checkout that this package runs from, register.

The groups are ``conformance.engines``, ``conformance.scenarios``, ``conformance.ports``, ``conformance.checkers``,
``conformance.exports``, ``conformance.reports`` and ``conformance.subjects``. An installed package registers by its
metadata. A checkout registers by its ``pyproject.toml``, because metadata are as old as the last installation. Every
file in the checkout's folder ``scenarios`` with a ``SCENARIO`` is registered by the scenario's id. So a new file in the
folder runs without another edit or a reinstallation.
"""

import re
import sys
import traceback
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from packaging.utils import canonicalize_name

from conformance.support.reading import BadInput, tables_of, text_of

PACKAGE = "conformance"
"""The package that is imported. The names of the groups begin with it, too."""

DISTRIBUTION = "stream-conformance"
"""This project's name among installed packages."""

SCENARIOS = "scenarios"
"""The group of scenarios, and the name of the folder with their files."""

PLUGINS = ("engines", SCENARIOS, "reports")
"""The packages in this one with the project's own plugins. In a checkout they lie beside it, and links in it lead
there."""


class InvalidPlugin(BadInput):
    """A file or a module cannot be loaded. The message says in one line which, where in it, and why."""


HOME = Path(__file__).resolve().parents[2]
"""The folder that this package lies in: that of a checkout, or that of installed packages."""


def checkout() -> Path | None:
    """The folder of the checkout that this package runs from; None where the package is installed."""
    return HOME if (HOME / "pyproject.toml").is_file() else None


def registered(group: str) -> dict[str, EntryPoint]:
    """The entry points of a group, such as "engines": name -> entry point, in the order of the names.

    Raises:
        InvalidPlugin: a scenario file of the checkout is broken.
    """
    folder = checkout()
    found = {point.name: point for point in _installed(group, tuple(sys.path), but_own=bool(folder))}
    if folder:
        found |= {point.name: point for point in checkout_points(folder) if point.group == f"{PACKAGE}.{group}"}
    if group == SCENARIOS:
        found |= _unlisted(folder or HOME, {point.module for point in found.values()})
    return dict(sorted(found.items()))


@lru_cache(maxsize=32)
def _installed(group: str, path: tuple[str, ...], but_own: bool) -> tuple[EntryPoint, ...]:
    """The entry points of the packages installed on a path. With ``but_own``, those of this package are left out."""
    return tuple(
        point
        for point in entry_points(group=f"{PACKAGE}.{group}")
        if not but_own or not point.dist or canonicalize_name(point.dist.name) != DISTRIBUTION
    )


def package_of(module: str) -> str:
    """The package of one author that a module belongs to: the top-level one. ``conformance.engines`` and its like count
    as packages of their own, apart from the harness."""
    top, _, rest = module.partition(".")
    within = rest.partition(".")[0]
    return f"{top}.{within}" if top == PACKAGE and within in PLUGINS else top


def load(point: EntryPoint) -> Any:
    """The object that an entry point names.

    Raises:
        InvalidPlugin: the module cannot be imported, or lacks the object.
    """
    try:
        return point.load()
    except Exception as error:
        raise import_failure(point.module, error, _file_of(point.module)) from error


def checkout_points(folder: Path) -> tuple[EntryPoint, ...]:
    """The entry points that a checkout's ``pyproject.toml`` declares.

    Raises:
        InvalidPlugin: the file is not TOML.
    """
    file = folder / "pyproject.toml"
    return _declared(file, file.stat().st_mtime_ns)


@lru_cache(maxsize=4)
def _declared(file: Path, changed: int) -> tuple[EntryPoint, ...]:
    """The entry points in a file. ``changed`` is the file's time of change, so that the cache holds each version
    apart."""
    tables = (
        tables_of(text_of(file, InvalidPlugin), shown(file), InvalidPlugin).get("project", {}).get("entry-points", {})
    )
    return tuple(
        EntryPoint(name, value, group)
        for group, points in tables.items()
        if group.startswith(f"{PACKAGE}.")
        for name, value in points.items()
    )


def _unlisted(folder: Path, listed: set[str]) -> dict[str, EntryPoint]:
    """The scenarios of files that no entry point names, by their ids."""
    found: dict[str, EntryPoint] = {}
    for file in sorted((folder / PACKAGE / SCENARIOS).rglob("*.py")):
        module = ".".join(file.relative_to(folder).with_suffix("").parts)
        if module in listed or not re.search(r"^SCENARIO\b", file.read_text(encoding="utf-8"), re.MULTILINE):
            continue
        point = EntryPoint("", f"{module}:SCENARIO", f"{PACKAGE}.{SCENARIOS}")
        name = getattr(load(point), "id", "")
        if not name:
            raise InvalidPlugin(f"{shown(file)}: SCENARIO is a conformance Scenario, not {load(point)!r:.60}")
        if name in found:
            raise InvalidPlugin(f"{shown(file)}: {found[name].module} has a scenario called {name!r} too; rename one")
        found[name] = EntryPoint(name, point.value, point.group)
    return found


def shown(path: str | Path) -> str:
    """A path relative to the working directory, if it lies below."""
    path = Path(path)
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)


def import_failure(
    name: str, error: BaseException, file: str = "", kind: type[InvalidPlugin] = InvalidPlugin
) -> InvalidPlugin:
    """The reason why an import of ``name`` failed, in one line, with the last place in ``file`` that the import passed
    through. A KeyboardInterrupt is raised again."""
    if isinstance(error, KeyboardInterrupt):
        raise error
    if isinstance(error, SyntaxError):
        where = f"{shown(error.filename or file or name)}, line {error.lineno}"
        return kind(f"{where}: {type(error).__name__}: {error.msg}")
    passed = [f for f in traceback.extract_tb(error.__traceback__) if file and Path(f.filename) == Path(file)]
    where = f", line {passed[-1].lineno}" if passed else ""
    said = " ".join(str(error).split()) or "no message"
    cause = said if isinstance(error, InvalidPlugin) else f"{type(error).__name__}: {said}"
    return kind(f"{shown(file or name)}{where}: {cause}"[:600])


def _file_of(module: str) -> str:
    """The file that a module is imported from, "" if none is found."""
    try:
        spec = find_spec(module)
    except (ImportError, ValueError):
        return ""
    return (spec and spec.origin) or ""
