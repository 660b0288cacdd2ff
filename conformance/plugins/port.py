"""Ports: a user's own stateful operator in the place of a scenario's program, on one framework or on several.

A user writes a port in a Python file, under the name PORT (or several under PORTS), and loads it with ``--load FILE``.
Each side of a port is the operator on one framework. A side says how an event of the scenario becomes an input of the
operator, and how an output of the operator becomes an emission. The scenario's guarantees judge each side. If a port
has several sides, their outputs are compared.

The entry-point group ``conformance.ports`` registers the classes of sides, each by its keyword of ``Port``. They can be
imported from here by their own names, without their framework.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Any, Protocol, runtime_checkable

from conformance.model.case import program_ref
from conformance.model.scenario import Scenario
from conformance.plugins.points import InvalidPlugin, load, registered
from conformance.support.naming import instead


class InvalidPort(InvalidPlugin):
    """A port, or a file of ports, cannot be used. The message says in one line what is wrong and how to mend it."""


@runtime_checkable
class PortSide(Protocol):
    """A port's operator on one framework. The class of a side checks its arguments and raises InvalidPort. Importing
    the class does not import the framework."""

    @property
    def words(self) -> str:
        """The operator's name in reports."""


def port_sides() -> dict[str, type]:
    """The keyword of ``Port`` -> the registered class of that side."""
    return {name: load(point) for name, point in registered("ports").items()}


@dataclass(frozen=True, init=False)
class Port:
    """A user's operator in the place of a scenario's program.

    Attributes:
        name: the port's name. The engine of each side is called ``FAMILY:NAME``; ``conformance list engines --load
            FILE`` lists it.
        scenario: the id of a scenario (``conformance list scenarios``), or a Scenario of the user's own.
        program: the name of the scenario's program whose job the operator does. A scenario with one program needs no
            name.
        sides: keyword -> the operator on that framework. Keywords without a registered side are refused.

    Raises:
        InvalidPort: an argument cannot be used.
    """

    name: str
    scenario: str | Scenario
    program: str
    sides: Mapping[str, PortSide]

    def __init__(self, *, name: str, scenario: str | Scenario, program: str = "", **sides: Any) -> None:
        ask(name, str, "Port: name is a string")
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", name):
            raise InvalidPort(f"Port: a name has letters, digits and .-_ only, not {name!r}")
        ask(scenario, (str, Scenario), f"port {name}: scenario is a scenario's id, or a Scenario")
        ask(program, str, f"port {name}: program is the name of one of the scenario's programs")
        known = port_sides()
        given = {**sides.pop("sides", {}), **sides}  # dataclasses.replace(port, SIDE=…) hands on the sides that stay
        given = {side: value for side, value in given.items() if value is not None}
        for side, value in given.items():
            if side not in known:
                said = instead(side, known, "the sides of a port are")
                raise InvalidPort(f"port {name}: unknown argument {side!r}; {said}")
            ask(value, known[side], f"port {name}: {side} is a {known[side].__name__}")
        if not given:
            makers = " or ".join(f"{side}={kind.__name__}(…)" for side, kind in known.items())
            raise InvalidPort(f"port {name}: nothing to run; give {makers}")
        for field, value in (("name", name), ("scenario", scenario), ("program", program), ("sides", given)):
            object.__setattr__(self, field, value)

    def __getattr__(self, side: str) -> PortSide | None:
        """The operator on a framework, by its keyword; None for a registered side that the port does not have."""
        if not side.startswith("_") and side in port_sides():
            return self.sides.get(side)
        raise AttributeError(f"a port has no {side!r}")

    def of(self, scenario: str, program: str) -> Port:
        """The same operator for another program; ``scenario`` is an id, ``program`` a name."""
        return Port(name=self.name, scenario=scenario, program=program, **self.sides)

    @property
    def ref(self) -> str:
        """ "scenario/program". The port must name its program."""
        scenario = self.scenario if isinstance(self.scenario, str) else self.scenario.id
        return program_ref(scenario, self.program)


def moment(ms: int) -> datetime:
    """A time (ms since the epoch, UTC) as the aware datetime that a timestamp column takes."""
    return datetime(1970, 1, 1, tzinfo=timezone.utc) + timedelta(milliseconds=ms)


# Checks of arguments for the classes of sides


def ask(value: object, kind: Any, says: str) -> None:
    """Raise InvalidPort if a value is not of a kind. ``says`` is the start of the message."""
    if not isinstance(value, kind):
        raise InvalidPort(f"{says}, not {_what(value)}")


def ask_callable(value: object, name: str) -> None:
    """Raise InvalidPort if a value is not a function."""
    if not callable(value):
        raise InvalidPort(f"{name} is a function, not {_what(value)}")


def ask_factory(value: object, name: str, method: str, kind: str) -> None:
    """Raise InvalidPort if a value cannot make an object with this method, as far as that shows without making one."""
    if not callable(value):
        hint = f"give its class: {type(value).__name__}" if hasattr(value, method) else f"give the class of {kind}"
        raise InvalidPort(f"{name} is a class or a function that makes one, not {_what(value)}; {hint}")
    if isinstance(value, type) and not hasattr(value, method):
        raise InvalidPort(f"{name}: the class {value.__name__} has no {method}; give the class of {kind}")


def called(made: object) -> str:
    """The name of a class or a function in its source."""
    name = str(getattr(made, "__qualname__", type(made).__name__))
    return name.rpartition("<locals>.")[2]


def one_of(names: Iterable[str]) -> str:
    return " or ".join(repr(name) for name in names)


def _what(value: object) -> str:
    return f"the class {value.__name__}" if isinstance(value, type) else f"{value!r:.60} ({type(value).__name__})"


def __getattr__(name: str) -> Any:
    """The registered class of a side, by its own name."""
    for point in registered("ports").values():
        if point.attr == name:
            return load(point)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
