"""Environments: an engine's framework in a requested release (``spark-tws@4.0.5``), in a Python of its own.

uv builds an environment once. Its folder is named after its contents. The framework is installed first, with
dependencies no newer than the release itself: PySpark 3.5.0 fails beside NumPy 2, but does not exclude it. The
harness's own dependencies come on top and change none of these. The harness itself is not installed. Links lead a
worker to the running harness, and to every package that has engines or scenarios for it. So both sides of a comparison
run one harness.
"""

import datetime
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import Distribution, EntryPoint, PackageNotFoundError, distribution, distributions
from importlib.util import find_spec
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from conformance.model.engine import CannotRun
from conformance.model.values import digest
from conformance.plugins.points import DISTRIBUTION, PACKAGE, checkout, checkout_points
from conformance.support.reading import tables_of, text_of
from conformance.support.release import IN_RELEASE, Release

NO_BYTECODE = "PYTHONDONTWRITEBYTECODE"
"""Where the environment sets this, as many containers do, each process of an engine would compile PySpark or Beam anew.
Compiled modules then lie with what else runs keep, and not beside the sources."""

CACHE = "CONFORMANCE_CACHE"
"""The environment variable with the folder of the environments and of kept traces."""

FOREIGN = ("PYTHONHOME", "VIRTUAL_ENV")
"""Environment variables that would make a Python load files of another installation. ``Release.foreign`` has those of a
framework."""

TIMEOUT = 1_800
"""Seconds that an installation may take."""

SHARED = ("pyarrow",)
"""Packages that the harness and the frameworks share. The framework decides their versions."""

BINARY = ("numpy", "pandas", "pyarrow")
"""Packages that are never built from source. If the release's time has no wheel for this Python, a newer version is
taken."""


@dataclass(frozen=True)
class Wanted:
    """The requirements of an environment: the framework's, and the harness's own. ``bounds`` are today's bounds on the
    packages beside the framework."""

    framework: tuple[str, ...]
    harness: tuple[str, ...]
    bounds: tuple[str, ...] = ()


def requirements(release: Release) -> Wanted:
    """The requirements of a worker: the framework in this release with the packages of its extra, and the harness's
    dependencies."""
    declared = [Requirement(text) for text in distribution(DISTRIBUTION).requires or []]
    extras = distribution(DISTRIBUTION).metadata.get_all("Provides-Extra") or []
    mine = next((e for e in extras if _of(release.package, declared, e)), "")
    own = [r for r in declared if _asked(r, "")]
    extra = [r for r in declared if mine and _asked(r, mine) and r not in own]
    package = next((r for r in extra if canonicalize_name(r.name) == canonicalize_name(release.package)), None)
    options = f"[{','.join(sorted(package.extras))}]" if package and package.extras else ""
    pinned = f"{release.package}{options}=={release.version}"
    # The harness needs PyArrow beside every framework. PyArrow, too, must be of the release's time.
    beside = [r.name for r in extra if r is not package] + [r.name for r in own if r.name in SHARED]
    return Wanted(
        tuple(sorted([pinned, *beside, *release.beside])),
        tuple(sorted(_bare(r) for r in own if r.name not in SHARED)),
        tuple(sorted(_bare(r) for r in extra if r is not package)),
    )


def _of(package: str, declared: list[Requirement], extra: str) -> bool:
    names = {canonicalize_name(r.name) for r in declared if _asked(r, extra) and not _asked(r, "")}
    return canonicalize_name(package) in names


def _asked(requirement: Requirement, extra: str) -> bool:
    return requirement.marker is None or requirement.marker.evaluate({"extra": extra})


def _bare(requirement: Requirement) -> str:
    options = f"[{','.join(sorted(requirement.extras))}]" if requirement.extras else ""
    return f"{requirement.name}{options}{requirement.specifier}"


def python_of(release: Release) -> Path:
    """The Python of an environment with this release. If there is no such environment, it is built.

    Raises:
        CannotRun: there is no such release, or it cannot be installed here.
    """
    wanted = requirements(release)
    tag = f"py{sys.version_info.major}.{sys.version_info.minor}-{digest([wanted.framework, wanted.harness])}"
    place = cache_folder() / "environments" / f"{release.package}-{release.version}-{tag}"
    python = place / "bin" / "python"
    if not python.exists():
        _build(release, wanted, place)
    return python


def cache_folder() -> Path:
    """The folder of environments, and of what else runs keep for later ones."""
    return Path(
        os.environ.get(CACHE) or Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "conformance"
    )


def _build(release: Release, wanted: Wanted, place: Path) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=place.parent, prefix="building-", ignore_cleanup_errors=True) as folder:
        made = Path(folder, "environment")
        python = str(made / "bin" / "python")
        install = ["pip", "install", "--quiet", "--python", python]
        _uv(release, place, "venv", "--quiet", "--python", sys.executable, str(made))
        until = ["--exclude-newer", _day_after(release, place, Path(folder))]
        until += [word for name in BINARY for word in ("--only-binary", name)]
        try:
            _uv(release, place, *install, *until, *wanted.framework)
        except CannotRun:
            # No packages of that time for this Python: take the versions that the harness itself is tested with.
            _uv(release, place, *install, *wanted.framework, *wanted.bounds)
        frozen = Path(folder, "frozen.txt")
        frozen.write_text(_uv(release, place, "pip", "freeze", "--quiet", "--python", python), encoding="utf-8")
        _uv(release, place, *install, "--constraint", str(frozen), *wanted.harness)
        try:
            made.rename(place)
        except OSError:
            if not place.exists():  # otherwise another process was faster
                raise


def _day_after(release: Release, place: Path, folder: Path) -> str:
    """The day after the upload of the release, as YYYY-MM-DD. The lock file that uv writes for a project with this one
    dependency has the day."""
    project = folder / "project"
    project.mkdir()
    (project / "pyproject.toml").write_text(
        f'[project]\nname = "release-date"\nversion = "0"\ndependencies = ["{release.package}=={release.version}"]\n'
        f'requires-python = "=={sys.version_info.major}.{sys.version_info.minor}.*"\n',
        encoding="utf-8",
    )
    _uv(release, place, "lock", "--quiet", "--python", sys.executable, "--project", str(project))
    locked = tables_of(text_of(project / "uv.lock", ValueError), "uv.lock", ValueError)
    mine = next(p for p in locked["package"] if canonicalize_name(p["name"]) == canonicalize_name(release.package))
    files = [*mine.get("wheels", []), *([mine["sdist"]] if "sdist" in mine else [])]
    uploaded = min((file["upload-time"] for file in files if "upload-time" in file), default="")
    first = (
        datetime.date.fromisoformat(uploaded[:10]) if uploaded else datetime.datetime.now(datetime.timezone.utc).date()
    )
    return (first + datetime.timedelta(days=1)).isoformat()


def _uv(release: Release, place: Path, *arguments: str) -> str:
    """Run uv and return its output. Raises CannotRun with the cause in a line; a log beside the environments then has
    the output."""
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
        log = place.with_name(f"{place.name}.log")
        log.write_text(said, encoding="utf-8")
        raise CannotRun(f"{release} cannot be installed: {_cause(said, release)}; the full log is in {log}")
    return done.stdout


def _cause(said: str, release: Release) -> str:
    """The cause of a failure, from uv's output, in a line."""
    words = " ".join(said.replace("×", " ").replace("╰─▶", " ").replace("│", " ").split())
    if f"there is no version of {release.package}=={release.version} " in words:
        return f"the package index has no such release (`pip index versions {release.package}` lists those that it has)"
    if unbuilt := re.search(r"Failed to build `([^`]+)`", words):
        return f"{unbuilt[1]} has no wheel for Python {sys.version_info[0]}.{sys.version_info[1]}, and cannot be built"
    start = words.find("Because")
    return (words[start:] if start >= 0 else words)[:300] or "uv gave no reason"


def python_in(folder: Path, release: Release | None, hash_seed: int = 0) -> tuple[str, dict[str, str]]:
    """(Python, its environment variables) of a process whose temporary files lie in a folder: of this installation, or
    of a release.

    Raises:
        CannotRun: the release is not available.
    """
    mine = {"PYTHONHASHSEED": str(hash_seed), "TMPDIR": str(folder)}
    if os.environ.get(NO_BYTECODE):
        mine |= {NO_BYTECODE: "", "PYTHONPYCACHEPREFIX": str(cache_folder() / "bytecode")}
    if release is None:
        return sys.executable, os.environ | mine
    python = str(python_of(release))
    foreign = {*FOREIGN, *release.foreign}
    own = {"PYTHONPATH": str(link_harness(folder)), "PYTHONNOUSERSITE": "1", IN_RELEASE: str(release)}
    return python, {name: value for name, value in os.environ.items() if name not in foreign} | own | mine


def link_harness(folder: Path) -> Path:
    """A folder for PYTHONPATH with links to this harness and to every package that registers a plugin."""
    target = folder / "harness"
    target.mkdir()
    for found, points in _registering():
        name, number = found.metadata["Name"], found.version
        about = target / f"{canonicalize_name(name).replace('-', '_')}-{number}.dist-info"
        about.mkdir()
        (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {number}\n", encoding="utf-8")
        (about / "entry_points.txt").write_text(found.read_text("entry_points.txt") or "", encoding="utf-8")
        for module in sorted({point.module.partition(".")[0] for point in points}):
            where = _place(module)
            link = target / where.name
            if not link.exists():
                link.symlink_to(where, target_is_directory=where.is_dir())
    return target


def _registering() -> Iterator[tuple[Distribution, list[EntryPoint]]]:
    """The packages that register a plugin, each with its entry points. A checkout's entry points come from its
    files."""
    names = set()
    folder = checkout()
    for found in distributions():
        name, points = found.metadata["Name"], list(found.entry_points)
        if folder and canonicalize_name(name) == DISTRIBUTION:
            points += checkout_points(folder)
        if name not in names and any(point.group.startswith(f"{PACKAGE}.") for point in points):
            names.add(name)
            yield found, points


def _place(module: str) -> Path:
    spec = find_spec(module)
    if spec is None:
        raise PackageNotFoundError(module)
    if spec.submodule_search_locations:
        return Path(next(iter(spec.submodule_search_locations))).resolve()
    return Path(spec.origin or "").resolve()
