"""Files and modules of the user's that ``--load`` names: their ports, and scenarios of their own.

What to load stands in an environment variable, so that the processes that engines run in load the same.
"""

from __future__ import annotations

import importlib
import importlib.util
import logging
import os
import sys
import traceback
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any

from conformance.guarantees import Scenario
from conformance.model import digest
from conformance.port import InvalidPort, Port

LOAD = "CONFORMANCE_LOAD"
"""The environment variable: files and modules, parted as PATH is."""


@dataclass(frozen=True)
class Loaded:
    """What was loaded.

    Attributes:
        sources: the files that it came from.
        by_value: the modules made of files, and of others beside them: other processes do not find them by their names, or
            only by an import that takes its time.
        origins: a port's or a scenario's name -> where it was found, as the user named it.
    """

    ports: tuple[Port, ...] = ()
    scenarios: tuple[Scenario, ...] = ()
    sources: tuple[Path, ...] = ()
    by_value: tuple[ModuleType, ...] = ()
    origins: Mapping[str, str] = field(default_factory=dict)


def ask_for(names: Iterable[str]) -> None:
    """Let this process and those that it starts load these, instead of what was asked for before."""
    os.environ[LOAD] = os.pathsep.join(str(Path(n).resolve()) if _is_file(n) else n for n in names)


def loaded(registered: Mapping[str, Scenario]) -> Loaded:
    """What the environment asks for. ``registered`` are the scenarios that ports may name.

    Raises:
        InvalidPort: a file or what is in it cannot be used.
    """
    found = _read(os.environ.get(LOAD, ""))
    scenarios = dict(registered)
    for scenario in found.scenarios:
        if scenario.id in registered:
            where = found.origins[scenario.name]
            raise InvalidPort(
                f"{where}: the scenario {scenario.name!r} has the id of one that is there; give it another name"
            )
        scenarios[scenario.id] = scenario
    return replace(found, ports=tuple(_with_program(p, scenarios, found.origins[p.name]) for p in found.ports))


def narrowed(scenario: Scenario, programs: Iterable[str]) -> Scenario:
    """A scenario with these of its programs alone, and the guarantees that speak of them."""
    kept = set(programs)
    return replace(
        scenario,
        programs={name: program for name, program in scenario.programs.items() if name in kept},
        domain={name: domain for name, domain in scenario.domain.items() if name in kept},
        survives={name: promised for name, promised in scenario.survives.items() if name in kept},
        guarantees=tuple(g for g in scenario.guarantees if g.program in kept),
    )


def _with_program(port: Port, scenarios: Mapping[str, Scenario], where: str) -> Port:
    """The port with its scenario's id and its program's name."""
    name = port.scenario if isinstance(port.scenario, str) else port.scenario.id
    if name not in scenarios:
        there = ", ".join(sorted(scenarios))
        raise InvalidPort(f"{where}: port {port.name}: unknown scenario {name!r}; there are: {there}")
    programs = list(scenarios[name].programs)
    if port.program not in programs and (port.program or len(programs) > 1):
        said = f"unknown program {port.program!r}" if port.program else "program= is missing"
        raise InvalidPort(f"{where}: port {port.name}: {said}; {name} has: {', '.join(map(repr, programs))}")
    return replace(port, scenario=name, program=port.program or programs[0])


@lru_cache(maxsize=1)
def _read(text: str) -> Loaded:
    ports: dict[str, Port] = {}
    scenarios: dict[str, Scenario] = {}
    origins: dict[str, str] = {}
    names = list(dict.fromkeys(filter(None, text.split(os.pathsep))))
    modules = [_module(name) for name in names]
    for name, module in zip(map(_shown, names), modules, strict=True):
        mine = _listed(name, module, "PORT", Port)
        own = _listed(name, module, "SCENARIO", Scenario)
        if not mine and not own:
            raise InvalidPort(f"{name} has no PORT (nor PORTS, nor a SCENARIO): assign one, PORT = Port(…)")
        for port in mine:
            if port.name in ports:
                raise InvalidPort(f"{name}: there are two ports called {port.name!r}; give one another name")
            ports[port.name], origins[port.name] = port, name
            own += [port.scenario] if isinstance(port.scenario, Scenario) else []
        for scenario in own:
            origins.setdefault(scenario.name, name)
            if scenarios.setdefault(scenario.id, scenario) is not scenario:
                raise InvalidPort(f"{name}: there are two scenarios called {scenario.name!r}; give one another name")
    by_value = tuple(_made_of_files({Path(name).resolve().parent for name in names if _is_file(name)}))
    sources = sorted({Path(module.__file__) for module in (*modules, *by_value) if module.__file__})
    return Loaded(tuple(ports.values()), tuple(scenarios.values()), tuple(sources), by_value, origins)


def _made_of_files(folders: set[Path]) -> Iterator[ModuleType]:
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None)
        if isinstance(file, str) and Path(file).parent in folders and module.__name__ != "__main__":
            yield module


def _listed(name: str, module: ModuleType, word: str, kind: type) -> list[Any]:
    """What a module gives under WORD and WORDS."""
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


def _shown(name: str) -> str:
    """A file as it lies from here."""
    path = Path(name)
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else name


def _is_file(name: str) -> bool:
    return name.endswith(".py") or os.sep in name or Path(name).is_file()


def _module(name: str) -> ModuleType:
    if not _is_file(name):
        _find_beside(Path.cwd())
        try:
            with _without_warnings():
                return importlib.import_module(name)
        except BaseException as error:
            if isinstance(error, ModuleNotFoundError) and error.name and name.split(".")[0] == error.name.split(".")[0]:
                raise InvalidPort(f"{name} is neither a file nor a module to import; give the path of a file") from None
            raise _import_failure(name, error) from None
    path = Path(name)
    if not path.is_file():
        raise InvalidPort(f"there is no file {_shown(name)}; --load takes a Python file or the name of a module")
    _find_beside(path.resolve().parent)
    known = f"loaded_{digest(str(path))}_{path.stem}"
    spec = importlib.util.spec_from_file_location(known, path)
    if spec is None or spec.loader is None:
        raise InvalidPort(f"{_shown(name)} is not a Python file; --load takes one, its name ends in .py")
    module = sys.modules[known] = importlib.util.module_from_spec(spec)
    try:
        with _without_warnings():
            spec.loader.exec_module(module)
    except BaseException as error:
        del sys.modules[known]
        raise _import_failure(str(path), error) from None
    return module


@contextmanager
def _without_warnings() -> Iterator[None]:
    """Frameworks log what they lack when they are imported (Beam 2.77.0), which is no news to who loads a port."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        yield
    finally:
        logging.disable(before)


def _find_beside(folder: Path) -> None:
    """Let what lies in a folder be imported here, and by the Python processes of engines."""
    if str(folder) not in sys.path:
        sys.path.append(str(folder))
    paths = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    if str(folder) not in paths:
        os.environ["PYTHONPATH"] = os.pathsep.join([*paths, str(folder)])


def _import_failure(name: str, error: BaseException) -> InvalidPort:
    """What an import died of, and where in the user's file, in one line."""
    if isinstance(error, KeyboardInterrupt):
        raise error
    said = " ".join(str(error).split()) or "no message"
    if isinstance(error, SyntaxError):
        where = _shown(str(error.filename or name))
        return InvalidPort(f"{where}, line {error.lineno}: {type(error).__name__}: {error.msg}")
    mine = [f for f in traceback.extract_tb(error.__traceback__) if Path(f.filename) == Path(name)]
    where = f", line {mine[-1].lineno}" if mine else ""
    kind = "" if isinstance(error, InvalidPort) else f"{type(error).__name__}: "
    return InvalidPort(f"{_shown(name)}{where}: {kind}{said}"[:600])
