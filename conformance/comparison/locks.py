"""Lock files: which release of a framework a project has pinned.

Read are ``requirements.txt`` as pip and uv export it, ``uv.lock``, ``poetry.lock`` and ``pylock.toml``. Where a file
pins several releases of a package, each for other machines, the one for this Python counts.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from packaging.markers import InvalidMarker, Marker
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from conformance.support.reading import BadInput, tables_of, text_of
from conformance.support.release import version_in

TOML = (".lock", ".toml")
"""The endings of lock files. A file with any other ending is read as requirements."""

MARKERS = ("marker", "markers", "resolution-markers")
"""The keys under which ``pylock.toml``, ``poetry.lock`` and ``uv.lock`` say for which machines a release is."""


class UnusableLock(BadInput):
    """A file that does not say which release of a package is in use. The message says which file, and why."""


@dataclass(frozen=True)
class Step:
    """What two files say of a package: the pinned releases, "" where a file does not have the package."""

    package: str
    old: str
    new: str

    @property
    def differs(self) -> bool:
        """Whether both files have the package, in different releases."""
        return bool(self.old and self.new) and Version(self.old) != Version(self.new)

    @property
    def words(self) -> str:
        if self.differs:
            return f"{self.package} {self.old} → {self.new}"
        if self.old and self.new:
            return f"{self.package} {self.old} in both"
        there = "the old file" if self.old else "the new file"
        return f"{self.package} {self.old or self.new} in {there} only" if self.old or self.new else ""


def steps(old: Path, new: Path, packages: Iterable[str]) -> list[Step]:
    """What two files say of some packages, for each package that at least one of them has.

    Raises:
        UnusableLock: a file cannot be read, or has one of the packages without pinning a release of it.
    """
    packages = list(packages)
    before, after = _pinned(old, packages), _pinned(new, packages)
    found = (Step(package, before.get(package, ""), after.get(package, "")) for package in packages)
    return [step for step in found if step.old or step.new]


def _pinned(path: Path, packages: Iterable[str]) -> dict[str, str]:
    """The pinned release of each of these packages that a file has. Raises UnusableLock."""
    wanted = {canonicalize_name(package): package for package in packages}
    text = text_of(path, UnusableLock)
    entries = _locked(path, text) if path.suffix in TOML else _required(path, text)
    found: dict[str, set[str]] = {}
    for name, release in entries:
        if package := wanted.get(canonicalize_name(name)):
            if not version_in(release):
                raise UnusableLock(
                    f"{path}: {package} is not pinned ({release or 'no version'}): write {package}==VERSION, "
                    "or give the lock file that your tool exports"
                )
            found.setdefault(package, set()).add(str(Version(release)))
    for package, releases in found.items():
        if len(releases) > 1:
            raise UnusableLock(
                f"{path} pins {package} in several releases for this Python: {', '.join(sorted(releases, key=Version))}"
            )
    return {package: release for package, (release,) in found.items()}


def _locked(path: Path, text: str) -> Iterator[tuple[str, str]]:
    """(name, release) of the packages in a lock file that this machine would get."""
    data = tables_of(text, path, UnusableLock)
    entries = data.get("package", data.get("packages"))
    if not isinstance(entries, list) or not all(
        isinstance(e, dict) and isinstance(e.get("name"), str) for e in entries
    ):
        raise UnusableLock(f"{path} is no lock file: it has no list of packages ([[package]] with a name)")
    for entry in entries:
        markers = [text for key in MARKERS for text in _texts(entry.get(key))]
        if not markers or any(_applies(path, marker) for marker in markers):
            yield entry["name"], str(entry.get("version", ""))


def _texts(found: Any) -> list[str]:
    """The markers under a key: one text, a list of them, or one for each group of dependencies."""
    if isinstance(found, str):
        return [found]
    values = found.values() if isinstance(found, dict) else found if isinstance(found, list) else ()
    return [str(value) for value in values]


def _applies(path: Path, marker: str) -> bool:
    try:
        return Marker(marker).evaluate({"extra": ""})
    except InvalidMarker as error:
        raise UnusableLock(f"{path}: {marker!r} is no marker: {' '.join(str(error).split())}") from None


def _required(path: Path, text: str) -> Iterator[tuple[str, str]]:
    """(name, pinned release, or else what stands there) of a requirements file. Options and hashes are left out."""
    for line in text.replace("\\\n", " ").splitlines():
        said = re.sub(r"(^|\s)#.*|\s--hash[= ].*", "", line).strip()
        if not said or said.startswith(("-", ".", "/")) or re.match(r"\w+(\+\w+)?://", said):
            continue
        try:
            requirement = Requirement(said)
        except InvalidRequirement:
            raise UnusableLock(f"{path} is no requirements file: it has the line {said[:80]!r}") from None
        if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
            exact = [clause.version for clause in requirement.specifier if clause.operator in ("==", "===")]
            pinned = next(filter(version_in, exact), "")
            yield requirement.name, pinned or str(requirement.specifier) or requirement.url or ""
