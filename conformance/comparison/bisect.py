"""Bisection: the first release of a package in which a witness answers otherwise."""

import json
import os
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from packaging.version import Version

from conformance.support.reading import BadInput
from conformance.support.release import version_in

INDEX = "https://pypi.org/simple"
FORMAT = "application/vnd.pypi.simple.v1+json"


class CannotBisect(BadInput):
    """The two ends do not differ, or there is nothing to ask. The message says which."""


@dataclass(frozen=True)
class Flip:
    """The two releases between which the answer of a witness changes. The releases in ``unanswered`` lie between them
    and gave no answer."""

    before: str
    after: str
    unanswered: tuple[str, ...]


def released(package: str) -> list[str]:
    """All versions of a package that its index has and has not withdrawn, oldest first, without pre-releases.

    Raises:
        CannotBisect: the index does not answer.
    """
    index = next(
        (url for name in ("UV_DEFAULT_INDEX", "UV_INDEX_URL", "PIP_INDEX_URL") if (url := os.environ.get(name))), INDEX
    )
    request = urllib.request.Request(f"{index.rstrip('/')}/{package}/", headers={"Accept": FORMAT})
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            found = json.load(answer)
        return listed(found)
    except (urllib.error.URLError, ValueError, KeyError, TimeoutError) as error:
        raise CannotBisect(f"{index} does not say which releases {package} has: {error}") from None


def listed(found: dict[str, list[dict[str, object]]]) -> list[str]:
    """The versions in an index's answer that have a file that was not withdrawn."""
    versions: dict[Version, bool] = {}
    for file in found["files"]:
        name = str(file["filename"]).removesuffix(".tar.gz").removesuffix(".zip")
        for part in name.split("-")[1:]:
            if version := version_in(part):
                versions[version] = versions.get(version, False) or not file.get("yanked")
                break
    return [str(version) for version in sorted(versions) if versions[version] and not version.is_prerelease]


def between(versions: Sequence[str], one: str, other: str) -> list[str]:
    """The versions from one to the other, both included, in that direction.

    Raises:
        CannotBisect: one of them is no version, or is not among them.
    """
    for version in (one, other):
        if version not in versions:
            raise CannotBisect(f"there is no release {version}; the latest are {', '.join(versions[-8:])}")
    low, high = sorted((versions.index(one), versions.index(other)))
    found = list(versions[low : high + 1])
    return found if found[0] == one else found[::-1]


def bisect(versions: Sequence[str], fails: Callable[[str], bool | None]) -> Flip:
    """Finds the release in which a witness begins to fail. ``versions`` starts with a version in which the witness
    should pass and ends with one in which it should fail. ``fails`` says whether the witness fails, None if a release
    gives no answer.

    Raises:
        CannotBisect: an end gives no answer, the first version does not pass, or the last one does not fail.
    """
    good, bad = 0, len(versions) - 1
    for end, wanted in ((good, False), (bad, True)):
        answer = fails(versions[end])
        if answer is None:
            raise CannotBisect(f"{versions[end]} gives no answer")
        if answer is not wanted:
            raise CannotBisect(
                f"the witness {'fails' if answer else 'does not fail'} in {versions[end]}: nothing to find"
            )
    unanswered: set[int] = set()
    while untried := [n for n in range(good + 1, bad) if n not in unanswered]:
        middle = untried[len(untried) // 2]
        answer = fails(versions[middle])
        if answer is None:
            unanswered.add(middle)
        elif answer:
            bad = middle
        else:
            good = middle
    return Flip(versions[good], versions[bad], tuple(versions[n] for n in sorted(unanswered) if good < n < bad))
