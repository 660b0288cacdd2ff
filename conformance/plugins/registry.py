"""Engines, scenarios and checkers by name, this package's own and third parties' alike."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from importlib.metadata import EntryPoint
from typing import Any, cast

from packaging.version import Version

from conformance.model.checker import Checker
from conformance.model.engine import Dated, Engine, Family, Released, Resumable, Setting, bare
from conformance.model.export import Exportable
from conformance.model.scenario import Scenario
from conformance.plugins.loading import Loaded, asked, loaded, narrowed
from conformance.plugins.points import load, registered
from conformance.plugins.settings import configured, declared_by, values
from conformance.support.grouping import grouped
from conformance.support.naming import unknown
from conformance.support.reading import BadInput
from conformance.support.release import Release, version_in


class UnknownName(BadInput):
    """Nothing is registered under a name. The message lists the registered names."""


def engine_ids() -> list[str]:
    """The engines that run by default; the reference first."""
    return sorted(_listed(lambda family: family.all), key=lambda name: (name != "reference", name))


def variant_ids() -> list[str]:
    """The engines that run on request: other configurations of the engines in ``engine_ids``. Mutants are left out."""
    default = engine_ids()
    return [name for name in _listed(lambda family: not family.seeded) if name not in default]


def _families() -> dict[str, Family]:
    return {name: _family(point) for name, point in registered("engines").items()}


def _listed(with_variants: Callable[[Family], bool]) -> list[str]:
    found = []
    for name, family in _families().items():
        found += [name] if family.alone else []
        found += [f"{name}:{variant}" for variant in family.variants if with_variants(family)]
    return found


def load_engine(name: str) -> Engine:
    """The engine of an id, or of ``family:variant``, with the values of its settings. ``@VERSION`` gives the engine in
    a release of its framework. ``@OLD+NEW`` gives it begun in one release and resumed in another one; a third release,
    or the first one again, goes on from the second.

    Raises:
        UnknownName: there is no such engine, or it has no releases.
    """
    engine = _load(bare(name))
    releases = releases_of(name)
    if len(releases) > 1 and not isinstance(engine, Resumable):
        raise UnknownName(f"{bare(name)!r} cannot be resumed in another release: it keeps no checkpoint")
    if releases:
        engine.id = name
        if isinstance(engine, Dated):
            engine.date(Version(release.version) for release in releases)
        host = engine.capabilities.host or bare(name)
        versions = "+".join(release.version for release in releases)
        cast(Any, engine).capabilities = replace(engine.capabilities, host=f"{host}@{versions}")
    configured(engine)
    return engine


def releases_of(name: str) -> tuple[Release, ...]:
    """The releases that an engine's id asks for: none, one, or one to begin in and others to go on in.

    Raises:
        UnknownName: the engine has no releases, or the id has no valid version.
    """
    base, at, numbers = name.partition("@")
    if not at:
        return ()
    engine = _load(base)
    if not isinstance(engine, Released):
        raise UnknownName(f"{base!r} comes in no releases: it has no framework to install")
    return tuple(_release(engine, name, number) for number in numbers.split("+"))


def package_of(name: str) -> str:
    """The name on PyPI of an engine's framework, "" if it has none. Raises UnknownName."""
    engine = _load(bare(name))
    return engine.package if isinstance(engine, Released) else ""


def packages() -> list[str]:
    """The names on PyPI of the engines' frameworks."""
    return sorted({package_of(name) for name in engine_ids()} - {""})


def lacks_of(engine: Engine) -> str:
    """What the installed release lacks for an engine, "" for nothing."""
    return engine.lacks() if isinstance(engine, Released) else ""


def _release(engine: Released, name: str, number: str) -> Release:
    if not (version := version_in(number)):
        raise UnknownName(f"{name!r}: {number!r} is no version of {engine.package}; write {bare(name)}@VERSION")
    return Release(engine.package, str(version), tuple(engine.beside(version)), tuple(engine.foreign))


def _load(name: str) -> Engine:
    base, colon, variant = name.partition(":")
    if point := registered("engines").get(base):
        family = _family(point)
        # The list of variants has no pairs of mutants.
        if (variant in family.variants or (family.seeded and variant)) if colon else family.alone:
            return family.make(variant)
        if family.ports:
            raise UnknownName(f"unknown engine {name!r}: no such port is loaded; name its file with --load")
    seeded = [f"{family}:NAME" for family, found in _families().items() if found.seeded]
    there = [*engine_ids(), *variant_ids(), *seeded]
    raise UnknownName(unknown("engine", name, there))


def port_engines(on_request: bool = False) -> list[str]:
    """The engines of the loaded ports, port by port: those that run by default, or those that run ``on_request``."""
    families = {name: family for name, family in _families().items() if family.ports and family.all is not on_request}
    return [f"{name}:{p.name}" for p in users().ports for name, family in families.items() if p.name in family.variants]


@dataclass(frozen=True)
class PortNames(Mapping[str, str]):
    """The variants of a family of ports: the name of each loaded port with this ``side`` -> the operator's name. Sides
    that the family does not take (``takes``) are left out."""

    side: str
    takes: Callable[[Any], bool] = lambda side: True

    def __getitem__(self, name: str) -> str:
        return self._there()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._there())

    def __len__(self) -> int:
        return len(self._there())

    def _there(self) -> dict[str, str]:
        sides = {port.name: port.sides[self.side] for port in users().ports if self.side in port.sides}
        return {name: side.words for name, side in sides.items() if self.takes(side)}


def users() -> Loaded:
    """The ports and scenarios of ``--load``.

    Raises:
        InvalidPort: they cannot be used.
    """
    if not asked():
        return Loaded()
    return loaded({name: load(point) for name, point in registered("scenarios").items()})


def users_scenarios() -> list[Scenario]:
    """The scenarios that run by default after ``--load``: those of the loaded ports, with the ports' programs alone. If
    no port is loaded, all loaded scenarios."""
    found = users()
    return scenarios_of(port.ref for port in found.ports) if found.ports else list(found.scenarios)


def _family(point: EntryPoint) -> Family:
    """The family of an entry point. An engine's class makes a family of one."""
    found: Any = load(point)
    return found if isinstance(found, Family) else Family(lambda variant: found(), {})


def mutant_ids() -> list[str]:
    """The names of the mutants. ``mutant_engine`` gives their ids as engines."""
    return [variant for family in _families().values() if family.seeded for variant in family.variants]


def mutant_engine(name: str) -> str:
    """The engine id of a mutant, or of two at once, "one+two"."""
    return next(f"{family}:{name}" for family, found in _families().items() if found.seeded)


def settings() -> dict[str, Setting]:
    """Name -> setting, for all settings that engines and checkers declare."""
    found: dict[str, Setting] = {}
    for name, family in _families().items():
        first = name if family.alone else next((f"{name}:{variant}" for variant in family.variants), "")
        if first and not family.seeded:
            found |= declared_by(_load(first))
    for name in checker_ids():
        found |= declared_by(_checker(name))
    return dict(sorted(found.items()))


def values_for(engine: str) -> dict[str, str]:
    """Name -> value, for the settings of an engine that the user gave. Raises UnknownName."""
    return values(declared_by(_load(bare(engine))))


def values_for_checker(name: str) -> dict[str, str]:
    """Name -> value, for the settings of a checker that the user gave. Raises UnknownName."""
    return values(declared_by(_checker(name)))


def load_scenarios(names: Iterable[str] = ()) -> list[Scenario]:
    """The scenarios of these ids, in the order of their ids. Without an id, all scenarios.

    Raises:
        UnknownName: there is no such scenario.
    """
    there_already = registered("scenarios")
    own = {scenario.id: scenario for scenario in users().scenarios}
    there = sorted({*there_already, *own})
    wanted = set(names) or set(there)
    if gone := sorted(wanted - set(there)):
        raise UnknownName(unknown("scenario", gone[0], there))
    return [own[name] if name in own else load(there_already[name]) for name in there if name in wanted]


def scenarios_of(programs: Iterable[str]) -> list[Scenario]:
    """The scenarios of some programs ("scenario/program"), with these programs alone. Raises UnknownName."""
    wanted = grouped(ref.partition("/")[::2] for ref in programs)
    return [narrowed(scenario, wanted[scenario.id]) for scenario in load_scenarios(wanted)]


def checker_ids() -> list[str]:
    """The names of the registered checkers."""
    return list(registered("checkers"))


def load_checker(name: str) -> Checker:
    """A checker, with the values of its settings. Raises UnknownName."""
    checker = _checker(name)
    configured(checker)
    return checker


def export_names() -> list[str]:
    """The names of the registered formats of exports. No format is loaded."""
    return list(registered("exports"))


def load_export(name: str) -> Callable[[Exportable], str]:
    """A format of exports. Raises UnknownName."""
    found: Callable[[Exportable], str] = load_named("exports", "format", name)
    return found


def load_named(group: str, kind: str, name: str, others: Iterable[str] = ()) -> Any:
    """The plugin of a group and a name. Messages call it ``kind``, and name ``others`` that there are.

    Raises:
        UnknownName: there is no such plugin.
    """
    there = registered(group)
    if name not in there:
        raise UnknownName(unknown(kind, name, [*others, *there]))
    return load(there[name])


def _checker(name: str) -> Checker:
    found: Checker = load_named("checkers", "checker", name, ["local"])()
    return found
