"""Environments: an engine's framework in the release that is asked for (``spark-tws@4.0.5``), in a Python of its own.

An environment is built once, with uv, and kept by what is installed in it. The harness is not installed there: a worker finds
this very one, and every package that has engines or scenarios for it, through links. So both sides of a comparison run one harness.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import Distribution, PackageNotFoundError, distribution, distributions
from importlib.util import find_spec
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from conformance.engine import CannotRun
from conformance.model import digest

CACHE = "CONFORMANCE_CACHE"
"""The environment variable that says where environments are kept."""

FOREIGN = ("PYTHONHOME", "SPARK_CONF_DIR", "SPARK_DIST_CLASSPATH", "SPARK_HOME", "VIRTUAL_ENV")
"""Environment variables that would lead a release to what another installation has."""

TIMEOUT = 1_800
"""Seconds that an installation may take."""


@dataclass(frozen=True)
class Release:
    """A released version of what an engine is installed from, by its name on PyPI. ``beside`` are requirements of that version
    which it does not declare itself."""

    package: str
    version: str
    beside: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.package} {self.version}"


def requirements(release: Release) -> list[str]:
    """What a worker needs: the harness' own dependencies, and those of the extra that has the package, in this release."""
    declared = [Requirement(text) for text in distribution("conformance").requires or []]
    extras = distribution("conformance").metadata.get_all("Provides-Extra") or []
    mine = next((e for e in extras if _of(release.package, declared, e)), "")
    wanted = [r for r in declared if _asked(r, "") or (mine and _asked(r, mine))]
    found = [_bare(r) for r in wanted if canonicalize_name(r.name) != canonicalize_name(release.package)]
    own = next((r for r in wanted if canonicalize_name(r.name) == canonicalize_name(release.package)), None)
    options = f"[{','.join(sorted(own.extras))}]" if own and own.extras else ""
    return sorted([*found, *release.beside, f"{release.package}{options}=={release.version}"])


def _of(package: str, declared: list[Requirement], extra: str) -> bool:
    names = {canonicalize_name(r.name) for r in declared if _asked(r, extra) and not _asked(r, "")}
    return canonicalize_name(package) in names


def _asked(requirement: Requirement, extra: str) -> bool:
    return requirement.marker is None or requirement.marker.evaluate({"extra": extra})


def _bare(requirement: Requirement) -> str:
    options = f"[{','.join(sorted(requirement.extras))}]" if requirement.extras else ""
    return f"{requirement.name}{options}{requirement.specifier}"


def python_of(release: Release) -> Path:
    """The Python of an environment with this release, which is built where there is none yet.

    Raises:
        CannotRun: there is no such release, or it cannot be installed here.
    """
    wanted = requirements(release)
    tag = f"py{sys.version_info.major}.{sys.version_info.minor}-{digest(wanted)}"
    place = _cache() / "environments" / f"{release.package}-{release.version}-{tag}"
    python = place / "bin" / "python"
    if not python.exists():
        _build(release, wanted, place)
    return python


def _cache() -> Path:
    return Path(
        os.environ.get(CACHE) or Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "conformance"
    )


def _build(release: Release, wanted: list[str], place: Path) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=place.parent, prefix="building-", ignore_cleanup_errors=True) as folder:
        made = Path(folder, "environment")
        _uv(release, place, "venv", "--quiet", "--python", sys.executable, str(made))
        _uv(release, place, "pip", "install", "--quiet", "--python", str(made / "bin" / "python"), *wanted)
        try:
            made.rename(place)
        except OSError:
            if not place.exists():  # else somebody else was faster
                raise


def _uv(release: Release, place: Path, *arguments: str) -> None:
    """Run uv. Raises CannotRun with the cause in a line, where what it printed is kept beside the environments."""
    program = shutil.which("uv")
    command = [program] if program else [sys.executable, "-m", "uv"]
    if not program and find_spec("uv") is None:
        raise CannotRun(f"{release} needs an environment of its own, and there is no uv to build it: pip install uv")
    try:
        done = subprocess.run(
            [*command, *arguments],
            capture_output=True,
            text=True,
            check=False,
            stdin=subprocess.DEVNULL,
            timeout=TIMEOUT,
        )
        said = done.stderr + done.stdout
    except subprocess.TimeoutExpired:
        raise CannotRun(f"{release} was not installed within {TIMEOUT} s") from None
    if done.returncode:
        log = place.with_suffix(".log")
        log.write_text(said, encoding="utf-8")
        raise CannotRun(f"{release} cannot be installed: {_cause(said)}; the full log is in {log}")


def _cause(said: str) -> str:
    """What uv said went wrong, in a line."""
    words = " ".join(said.replace("×", " ").replace("╰─▶", " ").replace("│", " ").split())
    start = words.find("Because")
    return (words[start:] if start >= 0 else words)[:300] or "uv gave no reason"


def link_harness(folder: Path) -> Path:
    """A folder for PYTHONPATH with this harness, and with every package that registers something with it."""
    target = folder / "harness"
    target.mkdir()
    for found in _registering():
        name, number = found.metadata["Name"], found.version
        about = target / f"{canonicalize_name(name).replace('-', '_')}-{number}.dist-info"
        about.mkdir()
        (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {number}\n", encoding="utf-8")
        (about / "entry_points.txt").write_text(found.read_text("entry_points.txt") or "", encoding="utf-8")
        for module in sorted({point.module.partition(".")[0] for point in found.entry_points}):
            where = _place(module)
            link = target / where.name
            if not link.exists():
                link.symlink_to(where, target_is_directory=where.is_dir())
    return target


def _registering() -> Iterator[Distribution]:
    names = set()
    for found in distributions():
        name = found.metadata["Name"]
        if name not in names and any(point.group.startswith("conformance.") for point in found.entry_points):
            names.add(name)
            yield found


def _place(module: str) -> Path:
    spec = find_spec(module)
    if spec is None:
        raise PackageNotFoundError(module)
    if spec.submodule_search_locations:
        return Path(next(iter(spec.submodule_search_locations))).resolve()
    return Path(spec.origin or "").resolve()
