"""Engines, scenarios and reports, found by entry points: ours and third parties' alike."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.metadata import EntryPoint, entry_points
from inspect import getsourcefile
from pathlib import Path
from typing import Any

from conformance.engine import Engine
from conformance.guarantees import Scenario
from conformance.model import digest


class UnknownName(ValueError):
    """A name that nothing is registered under; the message lists what there is."""


def _registered(group: str) -> dict[str, EntryPoint]:
    return {point.name: point for point in sorted(entry_points(group=f"conformance.{group}"), key=lambda p: p.name)}


def engine_ids() -> list[str]:
    """The engines that run by default: all but the family of mutants, the reference first."""
    names = [name for name in _registered("engines") if name != "mutant"]
    return sorted(names, key=lambda name: (name != "reference", name))


def load_engine(name: str) -> Engine:
    """The engine of an id, or of ``family:variant`` (``mutant:late-by-row``).

    Raises:
        UnknownName: no such engine.
    """
    registered = _registered("engines")
    family, _, variant = name.partition(":")
    if family not in registered or bool(variant) is not (family == "mutant"):
        raise UnknownName(f"unknown engine {name!r}; there are: {', '.join([*engine_ids(), 'mutant:NAME'])}")
    factory: Any = registered[family].load()
    engine: Engine = factory(variant) if variant else factory()
    return engine


def adapter_digest(engine: Engine) -> str:
    """Twelve hex digits that identify the source of an engine's adapter: all Python files beside its module."""
    source = getsourcefile(type(engine))
    if source is None:
        return ""
    texts = {path.name: path.read_text(encoding="utf-8") for path in Path(source).parent.glob("*.py")}
    return digest(texts)


def mutant_ids() -> list[str]:
    """The names that ``mutant:NAME`` takes."""
    return [name for point in _registered("mutants").values() for name in point.load()]


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
