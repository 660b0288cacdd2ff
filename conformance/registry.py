"""Engines, scenarios and reports, found by entry points: ours and third parties' alike."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib.metadata import EntryPoint, entry_points
from inspect import getsourcefile
from pathlib import Path
from typing import Any

from conformance.engine import Engine, Family
from conformance.guarantees import Scenario
from conformance.model import digest


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
    """The engine of an id, or of ``family:variant`` (``mutant:late-by-row``).

    Raises:
        UnknownName: no such engine.
    """
    registered = _registered("engines")
    base, colon, variant = name.partition(":")
    if base in registered:
        family = _family(base)
        # A pair of mutants is none of their list.
        if (variant in family.variants or (base == "mutant" and variant)) if colon else family.alone:
            return family.make(variant)
    there = [*engine_ids(), *variant_ids(), "mutant:NAME"]
    raise UnknownName(f"unknown engine {name!r}; there are: {', '.join(there)}")


def _family(name: str) -> Family:
    """What an entry point stands for; an engine's class is a family of one."""
    found: Any = _registered("engines")[name].load()
    return found if isinstance(found, Family) else Family(lambda variant: found(), {})


def adapter_digest(engine: Engine) -> str:
    """Twelve hex digits that identify the source of an engine's adapter: the Python and Java files beside its class and the
    classes that it is made from."""
    folders = {Path(source).parent for base in type(engine).__mro__[:-1] if (source := _source(base))}
    texts = {
        f"{folder.name}/{path.name}": path.read_text(encoding="utf-8")
        for folder in sorted(folders)
        for path in folder.iterdir()
        if path.suffix in (".py", ".java")
    }
    return digest(texts)


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
    wanted = set(names) or set(registered)
    if unknown := sorted(wanted - set(registered)):
        raise UnknownName(f"unknown scenario {unknown[0]!r}; there are: {', '.join(registered)}")
    return [registered[name].load() for name in registered if name in wanted]


def load_reports() -> dict[str, Any]:
    """Report writers: file format -> a function that renders results as text."""
    return {name: point.load() for name, point in _registered("reports").items()}
