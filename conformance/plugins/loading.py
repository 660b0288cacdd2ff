"""The user's files and modules that ``--load`` and ``--next`` name, with their ports and scenarios.

This module keeps the requested names for this process alone. A request to an engine's process carries the same names,
so that the process loads the same files.
"""

import importlib
import importlib.util
import logging
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any

from conformance.model.scenario import Scenario
from conformance.model.values import digest
from conformance.plugins.next_port import with_next_version
from conformance.plugins.points import import_failure, shown
from conformance.plugins.port import InvalidPort, Port
from conformance.support.naming import instead, unknown

_asked: tuple[str, ...] = ()

NEXT = "next version: "
"""What stands before the name of a file or module among the requested ones, if its ports are next versions."""

LOADABLE = "conformance_loads"
"""The attribute that says of a class that a file may have its objects in the place of ports and scenarios."""


@dataclass(frozen=True)
class Loaded:
    """The loaded ports and scenarios.

    Attributes:
        sources: the files that they came from.
        by_value: the modules made from files and from files beside these. Other processes cannot import them by name,
            or only slowly.
        origins: a port's or a scenario's name -> its file or module, as the user named it.
        modules: the loaded files and modules: as the user named it -> the module.
        later: a port's name -> its next version. Such a port is for the scenario of ``next_port``.
    """

    ports: tuple[Port, ...] = ()
    scenarios: tuple[Scenario, ...] = ()
    sources: tuple[Path, ...] = ()
    by_value: tuple[ModuleType, ...] = ()
    origins: Mapping[str, str] = field(default_factory=dict)
    modules: Mapping[str, ModuleType] = field(default_factory=dict)
    later: Mapping[str, Port] = field(default_factory=dict)


def ask_for(names: Iterable[str]) -> None:
    """Let this process load these files and modules, in place of those requested before. A name behind NEXT is of
    next versions."""
    global _asked
    _asked = tuple(NEXT * name.startswith(NEXT) + _absolute(name.removeprefix(NEXT)) for name in names)


def asked() -> tuple[str, ...]:
    """The requested files and modules: absolute paths of files, and names of modules."""
    return _asked


def loaded_modules() -> Loaded:
    """The requested files and modules, with ports and scenarios as they are declared.

    Raises:
        InvalidPort: a file or its content cannot be used.
    """
    return _read(_asked)


def loaded(registered: Mapping[str, Scenario]) -> Loaded:
    """The requested ports and scenarios. ``registered`` are the scenarios that ports may name.

    Raises:
        InvalidPort: a file or its content cannot be used.
    """
    found = _read(_asked)
    for name, module in found.modules.items():
        words = [f"{word}{plural}" for word in ("PORT", "SCENARIO") for plural in ("", "S")]
        if not any(hasattr(module, word) for word in words) and not _loadable(module):
            raise InvalidPort(f"{shown(name)} has no PORT (nor PORTS, nor a SCENARIO): assign one, PORT = Port(…)")
    scenarios = dict(registered)
    for scenario in found.scenarios:
        if scenario.id in registered:
            where = found.origins[scenario.name]
            raise InvalidPort(
                f"{where}: a registered scenario has the id of the scenario {scenario.name!r} already; rename yours"
            )
        scenarios[scenario.id] = scenario
    ports = {p.name: _with_program(p, scenarios, found.origins[p.name]) for p in found.ports}
    made: dict[str, Scenario] = {}
    for later in found.later.values():
        port, where = ports.get(later.name), f"--next: port {later.name}"
        fits = (
            port and _with_program(later, scenarios, where).ref == port.ref and later.sides.keys() >= port.sides.keys()
        )
        if not (port and fits):
            raise InvalidPort(
                f"{where}: it goes on from a port of --load with its name, its program and its sides; loaded: "
                f"{', '.join(f'{name} of {p.ref}' for name, p in ports.items()) or 'none'}"
            )
        scenario = with_next_version(scenarios[str(port.scenario)], port.program, where)
        made[scenario.id], ports[port.name] = scenario, port.of(scenario.id, port.program)
    return replace(found, ports=tuple(ports.values()), scenarios=(*found.scenarios, *made.values()))


def _loadable(module: ModuleType) -> bool:
    return any(getattr(type(value), LOADABLE, False) for value in vars(module).values())


def narrowed(scenario: Scenario, programs: Iterable[str]) -> Scenario:
    """A scenario with only these of its programs, and with the guarantees that speak of them."""
    kept = set(programs)
    return replace(
        scenario,
        programs={name: program for name, program in scenario.programs.items() if name in kept},
        domain={name: domain for name, domain in scenario.domain.items() if name in kept},
        stable_under={name: promised for name, promised in scenario.stable_under.items() if name in kept},
        guarantees=tuple(g for g in scenario.guarantees if g.program in kept),
    )


def _with_program(port: Port, scenarios: Mapping[str, Scenario], where: str) -> Port:
    """The port with its scenario's id and its program's name."""
    name = port.scenario if isinstance(port.scenario, str) else port.scenario.id
    if name not in scenarios:
        raise InvalidPort(f"{where}: port {port.name}: {unknown('scenario', name, sorted(scenarios))}")
    programs = list(scenarios[name].programs)
    if port.program not in programs and (port.program or len(programs) > 1):
        said = f"unknown program {port.program!r}" if port.program else "program= is missing"
        raise InvalidPort(f"{where}: port {port.name}: {said}; {instead(port.program, programs, f'{name} has')}")
    program = port.program or programs[0]
    if scenarios[name].programs[program].keys:
        raise InvalidPort(
            f"{where}: port {port.name}: {name}/{program} has typed keys, and a port's keys are texts; take another"
        )
    return port.of(name, program)


@lru_cache(maxsize=1)
def _read(asked: tuple[str, ...]) -> Loaded:
    ports: dict[str, Port] = {}
    scenarios: dict[str, Scenario] = {}
    origins: dict[str, str] = {}
    names = list(dict.fromkeys(name for name in asked if not name.startswith(NEXT)))
    later = {name: _module(name) for name in (name.removeprefix(NEXT) for name in asked if name.startswith(NEXT))}
    modules = [_module(name) for name in names]
    for name, module in zip(map(shown, names), modules, strict=True):
        mine = _listed(name, module, "PORT", Port)
        own = _listed(name, module, "SCENARIO", Scenario)
        for port in mine:
            if port.name in ports:
                raise InvalidPort(f"{name}: two ports are called {port.name!r}; rename one")
            ports[port.name], origins[port.name] = port, name
            own += [port.scenario] if isinstance(port.scenario, Scenario) else []
        for scenario in own:
            origins.setdefault(scenario.name, name)
            if scenarios.setdefault(scenario.id, scenario) is not scenario:
                raise InvalidPort(f"{name}: two scenarios are called {scenario.name!r}; rename one")
    behind = {port.name: port for name, module in later.items() for port in _listed(shown(name), module, "PORT", Port)}
    by_value = tuple(_made_of_files({Path(name).resolve().parent for name in (*names, *later) if _is_file(name)}))
    sources = sorted({Path(module.__file__) for module in (*modules, *later.values(), *by_value) if module.__file__})
    there = dict(zip(names, modules, strict=True))
    return Loaded(tuple(ports.values()), tuple(scenarios.values()), tuple(sources), by_value, origins, there, behind)


def _made_of_files(folders: set[Path]) -> Iterator[ModuleType]:
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None)
        if isinstance(file, str) and Path(file).parent in folders and module.__name__ != "__main__":
            yield module


def _listed(name: str, module: ModuleType, word: str, kind: type) -> list[Any]:
    """The values that a module has under WORD and WORDS."""
    found = [getattr(module, word)] if hasattr(module, word) else []
    several = getattr(module, f"{word}S", ())
    if not isinstance(several, Iterable) or isinstance(several, (str, Mapping)):
        raise InvalidPort(f"{name}: {word}S is a tuple of them, not a {type(several).__name__}")
    found += several
    for each in found:
        if not isinstance(each, kind):
            what = f"a {type(each).__name__}" if not isinstance(each, type) else f"the class {each.__name__}"
            raise InvalidPort(f"{name}: {word} is a conformance {kind.__name__}, not {what}")
    return found


def _absolute(name: str) -> str:
    return str(Path(name).resolve()) if _is_file(name) else name


def _is_file(name: str) -> bool:
    return name.endswith(".py") or os.sep in name or Path(name).is_file()


def _module(name: str) -> ModuleType:
    if not _is_file(name):
        _find_beside(Path.cwd())
        try:
            with without_warnings():
                return importlib.import_module(name)
        except BaseException as error:
            if isinstance(error, ModuleNotFoundError) and error.name and name.split(".")[0] == error.name.split(".")[0]:
                raise InvalidPort(f"{name} is neither a file nor a module to import; give the path of a file") from None
            raise import_failure(name, error, kind=InvalidPort) from None
    path = Path(name)
    if not path.is_file():
        raise InvalidPort(f"there is no file {shown(name)}; --load takes a Python file or the name of a module")
    _find_beside(path.resolve().parent)
    known = f"loaded_{digest(str(path))}_{path.stem}"
    spec = importlib.util.spec_from_file_location(known, path)
    if spec is None or spec.loader is None:
        raise InvalidPort(f"{shown(name)} is not a Python file; --load takes one, its name ends in .py")
    module = sys.modules[known] = importlib.util.module_from_spec(spec)
    try:
        with without_warnings():
            spec.loader.exec_module(module)
    except BaseException as error:
        del sys.modules[known]
        raise import_failure(name, error, str(path), InvalidPort) from None
    return module


@contextmanager
def without_warnings() -> Iterator[None]:
    """Silence the logs of an import. Some frameworks log what they lack (Beam 2.77.0), which a user who loads a port
    need not read."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        yield
    finally:
        logging.disable(before)


def _find_beside(folder: Path) -> None:
    """Let this process, and the Python processes of engines, import modules from a folder."""
    if str(folder) not in sys.path:
        sys.path.append(str(folder))
    paths = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    if str(folder) not in paths:
        os.environ["PYTHONPATH"] = os.pathsep.join([*paths, str(folder)])
