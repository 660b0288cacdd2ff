"""Engines, scenarios and reports, found by entry points: ours and third parties' alike."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from importlib.metadata import EntryPoint, entry_points
from inspect import getsourcefile
from pathlib import Path
from typing import Any

from packaging.version import InvalidVersion, Version

from conformance.engine import Engine, Family, bare
from conformance.environments import Release
from conformance.guarantees import Scenario
from conformance.judging import Checker
from conformance.loading import LOAD, Loaded, loaded, narrowed
from conformance.model import digest
from conformance.port import BeamPort, Port, SparkPort


class UnknownName(ValueError):
    """A name that nothing is registered under; the message lists what there is."""


def _registered(group: str) -> dict[str, EntryPoint]:
    return {point.name: point for point in sorted(entry_points(group=f"conformance.{group}"), key=lambda p: p.name)}


def engine_ids() -> list[str]:
    """The engines that run by default; the reference first."""
    return sorted(_listed(lambda family: family.all), key=lambda name: (name != "reference", name))


def variant_ids() -> list[str]:
    """The engines that run when they are asked for: other configurations of those above. Mutants are left out."""
    default = engine_ids()
    return [name for name in _listed(lambda family: True) if name not in default and not name.startswith("mutant:")]


def _listed(with_variants: Callable[[Family], bool]) -> list[str]:
    found = []
    for name in _registered("engines"):
        family = _family(name)
        found += [name] if family.alone else []
        found += [f"{name}:{variant}" for variant in family.variants if with_variants(family)]
    return found


def load_engine(name: str) -> Engine:
    """The engine of an id, or of ``family:variant`` (``mutant:late-by-row``); with ``@VERSION``, as it is in a release of its
    framework; with ``@OLD+NEW``, begun in one release and resumed in another.

    Raises:
        UnknownName: no such engine, or it comes in no releases.
    """
    engine = _load(bare(name))
    releases = releases_of(name)
    if len(releases) == 2 and not hasattr(engine, "begin"):
        raise UnknownName(f"{bare(name)!r} cannot be resumed in another release: it keeps no checkpoint")
    if releases:
        engine.id = name
        host = engine.capabilities.host or bare(name)
        versions = "+".join(release.version for release in releases)
        engine.capabilities = replace(engine.capabilities, host=f"{host}@{versions}")
    return engine


def releases_of(name: str) -> tuple[Release, ...]:
    """The releases of a framework that an engine's id asks for: none, one, or one to begin in and one to resume in.

    Raises:
        UnknownName: the engine comes in no releases, or that is no version.
    """
    base, at, numbers = name.partition("@")
    if not at:
        return ()
    engine: Any = _load(base)
    if not getattr(engine, "package", ""):
        raise UnknownName(f"{base!r} comes in no releases: it has no framework to install")
    return tuple(_release(engine, name, number) for number in numbers.split("+", 1))


def package_of(name: str) -> str:
    """What an engine's framework is called on PyPI, "" where it has none. Raises UnknownName."""
    package: str = getattr(_load(bare(name)), "package", "")
    return package


def packages() -> list[str]:
    """What the engines' frameworks are called on PyPI."""
    return sorted({package_of(name) for name in engine_ids()} - {""})


def _release(engine: Any, name: str, number: str) -> Release:
    try:
        version = Version(number)
    except InvalidVersion:
        raise UnknownName(f"{name!r}: {number!r} is no version of {engine.package}") from None
    return Release(engine.package, str(version), tuple(getattr(engine, "beside", lambda version: ())(version)))


def _load(name: str) -> Engine:
    registered = _registered("engines")
    base, colon, variant = name.partition(":")
    if base in registered:
        family = _family(base)
        # A pair of mutants is none of their list.
        if (variant in family.variants or (base == "mutant" and variant)) if colon else family.alone:
            return family.make(variant)
        if family.ports:
            raise UnknownName(f"unknown engine {name!r}: no such port is loaded; name its file with --load")
    there = [*engine_ids(), *variant_ids(), "mutant:NAME"]
    raise UnknownName(f"unknown engine {name!r}; there are: {', '.join(there)}")


def port_engines() -> list[str]:
    """The engines of the loaded ports, port by port."""
    families = {name: family for name in _registered("engines") if (family := _family(name)).ports}
    return [f"{name}:{p.name}" for p in users().ports for name, family in families.items() if p.name in family.variants]


@dataclass(frozen=True)
class PortNames(Mapping[str, str]):
    """The variants of a family of ports: those of the loaded ports that have this ``side`` -> what it is called."""

    side: Callable[[Port], SparkPort | BeamPort | None]

    def __getitem__(self, name: str) -> str:
        return self._there()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._there())

    def __len__(self) -> int:
        return len(self._there())

    def _there(self) -> dict[str, str]:
        return {port.name: mine.words for port in users().ports if (mine := self.side(port))}


def users() -> Loaded:
    """The ports and scenarios that were asked for with ``--load``.

    Raises:
        InvalidPort: they cannot be used.
    """
    if not os.environ.get(LOAD):
        return Loaded()
    return loaded({name: point.load() for name, point in _registered("scenarios").items()})


def users_scenarios() -> list[Scenario]:
    """What is run by default where something was loaded: the scenarios of the ports, with no other programs than theirs; all
    of the loaded scenarios where there is no port."""
    found = users()
    return scenarios_of(port.ref for port in found.ports) if found.ports else list(found.scenarios)


def _family(name: str) -> Family:
    """What an entry point stands for; an engine's class is a family of one."""
    found: Any = _registered("engines")[name].load()
    return found if isinstance(found, Family) else Family(lambda variant: found(), {})


def adapter_digest(engine: Engine) -> str:
    """Twelve hex digits that identify the source of an engine's adapter: the Python and Java files beside its class and the
    classes that it is made from, and the files that it says it has (``sources``)."""
    folders = {Path(source).parent for base in type(engine).__mro__[:-1] if (source := _source(base))}
    texts = {
        f"{folder.name}/{path.name}": path.read_text(encoding="utf-8")
        for folder in sorted(folders)
        for path in folder.iterdir()
        if path.suffix in (".py", ".java")
    }
    own: Iterable[Path] = getattr(engine, "sources", ())
    return digest(texts | {path.name: path.read_text(encoding="utf-8") for path in own})


def _source(kind: type) -> str | None:
    try:
        return getsourcefile(kind)
    except (TypeError, OSError):
        return None


def mutant_ids() -> list[str]:
    """The names that ``mutant:NAME`` takes."""
    return list(_family("mutant").variants)


def load_scenarios(names: Iterable[str] = ()) -> list[Scenario]:
    """The scenarios of these ids (all where none is given), in the order of their ids.

    Raises:
        UnknownName: no such scenario.
    """
    registered = _registered("scenarios")
    own = {scenario.id: scenario for scenario in users().scenarios}
    there = sorted({*registered, *own})
    wanted = set(names) or set(there)
    if unknown := sorted(wanted - set(there)):
        raise UnknownName(f"unknown scenario {unknown[0]!r}; there are: {', '.join(there)}")
    return [own[name] if name in own else registered[name].load() for name in there if name in wanted]


def scenarios_of(programs: Iterable[str]) -> list[Scenario]:
    """The scenarios of some programs ("scenario/program"), with no others than these. Raises UnknownName."""
    wanted: dict[str, list[str]] = {}
    for ref in programs:
        scenario, _, program = ref.partition("/")
        wanted.setdefault(scenario, []).append(program)
    return [narrowed(scenario, wanted[scenario.id]) for scenario in load_scenarios(wanted)]


def load_checker(name: str) -> Checker:
    """A place where batches are checked. Raises UnknownName."""
    registered = _registered("checkers")
    if name not in registered:
        raise UnknownName(f"unknown checker {name!r}; there are: {', '.join(['local', *registered])}")
    found: Checker = registered[name].load()()
    return found


def load_reports() -> dict[str, Any]:
    """Report writers: file format -> a function that renders results as text."""
    return {name: point.load() for name, point in _registered("reports").items()}
