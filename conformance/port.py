"""Ports: a user's own stateful operator on Spark, on Beam, or on both, put in the place of a scenario's program.

A port is written down in a Python file of the user's, under the name PORT (or several under PORTS), and loaded with
``--load FILE``. It says how an event of the scenario becomes an input of the operator, and an output of the operator an
emission; the scenario's guarantees then judge it, and where both engines are given, their outputs are compared.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from conformance.guarantees import Scenario
from conformance.model import Event, Json, program_ref

TIME_MODES = {"EventTime": "EventTimeTimeout", "None": "NoTimeout"}
"""A port's time -> what applyInPandasWithState calls it; transformWithState takes it as it is."""

MODES = ("append", "update")


class InvalidPort(ValueError):
    """A port, or a file of ports, that cannot be used; the message says in one line what is wrong and how to mend it."""


def same_key(key: str) -> Any:
    """The operator's key is the event's."""
    return key


def key_alone(key: str) -> tuple[Any, ...]:
    """The grouping key is the event's key alone."""
    return (key,)


def event_value(event: Event) -> Any:
    """The element's value is the event's."""
    return event.value


def unchanged(output: Any) -> Json:
    """The output is the emission."""
    return output


@dataclass(frozen=True, kw_only=True)
class SparkPort:
    """A stateful operator for Spark: a ``StatefulProcessor`` for transformWithState on rows, or a state function for
    applyInPandasWithState.

    Attributes:
        input: the schema of the rows that the operator gets, as DDL: ``"id string, ts timestamp"``.
        row: event -> such a row, as a dictionary. Times are aware datetimes; ``conformance.port.moment`` makes them.
        output: the schema of the rows that it puts out, as DDL.
        emission: a row that it put out, as a dictionary -> the emission, a JSON value; None leaves the row out.
        processor: the StatefulProcessor's class, or a function that makes one.
        function: the state function, instead of a processor.
        state: the schema of the state function's state, as DDL.
        key: the event's key -> the tuple that the operator is to see as its grouping key.
        time: "EventTime" or "None": the time mode (EventTimeTimeout or NoTimeout for a state function).
        mode: the output mode, "append" or "update".
    """

    input: str
    row: Callable[[Event], dict[str, Any]]
    output: str
    emission: Callable[[dict[str, Any]], Json]
    processor: Callable[[], Any] | None = None
    function: Callable[..., Any] | None = None
    state: str = ""
    key: Callable[[str], tuple[Any, ...]] = key_alone
    time: str = "EventTime"
    mode: str = "append"

    def __post_init__(self) -> None:
        for name in ("input", "output"):
            _ask(getattr(self, name), str, f"SparkPort: {name} is a schema as DDL, such as 'id string, n long'")
            if not getattr(self, name).strip():
                raise InvalidPort(f"SparkPort: {name} is empty; give a schema as DDL, such as 'id string, n long'")
        for name in ("row", "emission", "key"):
            _ask_callable(getattr(self, name), f"SparkPort: {name}")
        if (self.processor is None) is (self.function is None):
            raise InvalidPort("SparkPort: give either processor=, a StatefulProcessor class, or function=")
        if self.processor is not None:
            _ask_factory(self.processor, "SparkPort: processor", "handleInputRows", "a StatefulProcessor")
            if self.state:
                raise InvalidPort("SparkPort: state= is for a state function; a processor declares its own in init")
        else:
            _ask_callable(self.function, "SparkPort: function")
            _ask(self.state, str, "SparkPort: state is the schema of the function's state, as DDL")
            if not self.state.strip():
                raise InvalidPort("SparkPort: a function needs state=, the schema of its state as DDL")
        if self.time not in TIME_MODES:
            raise InvalidPort(
                f"SparkPort: time is {_or(TIME_MODES)}, not {self.time!r}; processing time cannot be driven"
            )
        if self.mode not in MODES:
            raise InvalidPort(f"SparkPort: mode is {_or(MODES)}, not {self.mode!r}")

    @property
    def words(self) -> str:
        """What reports call it."""
        return _called(self.processor or self.function)


@dataclass(frozen=True, kw_only=True)
class BeamPort:
    """A stateful ``DoFn`` for Beam. It runs in the windows of the scenario's program.

    Attributes:
        dofn: the DoFn's class, or a function that makes one. Its elements are (key, value).
        element: event -> the element's value; the event's own value where nothing is said.
        emission: an output, as the DoFn put it out (a TimestampedValue stays one) -> the emission, a JSON value; None
            leaves the output out. The output itself where nothing is said.
        key: the event's key -> the element's key.
    """

    dofn: Callable[[], Any]
    element: Callable[[Event], Any] = event_value
    emission: Callable[[Any], Json] = unchanged
    key: Callable[[str], Any] = same_key

    def __post_init__(self) -> None:
        _ask_factory(self.dofn, "BeamPort: dofn", "process", "a DoFn")
        for name in ("element", "emission", "key"):
            _ask_callable(getattr(self, name), f"BeamPort: {name}")

    @property
    def words(self) -> str:
        """What reports call it."""
        return _called(self.dofn)


@dataclass(frozen=True, kw_only=True)
class Port:
    """A user's operator in the place of a scenario's program.

    Attributes:
        name: its engines are called ``spark-port:NAME`` and ``beam-port:NAME``.
        scenario: the id of a scenario (``conformance list scenarios``), or a Scenario of the user's own.
        program: the name of the scenario's program that the operator does the job of; may be left out where it has one.
        spark: the operator on Spark, if any.
        beam: the operator on Beam, if any.
    """

    name: str
    scenario: str | Scenario
    program: str = ""
    spark: SparkPort | None = None
    beam: BeamPort | None = None

    def __post_init__(self) -> None:
        _ask(self.name, str, "Port: name is a string")
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", self.name):
            raise InvalidPort(f"Port: a name has letters, digits and .-_ only, not {self.name!r}")
        _ask(self.scenario, (str, Scenario), f"port {self.name}: scenario is a scenario's id, or a Scenario")
        _ask(self.program, str, f"port {self.name}: program is the name of one of the scenario's programs")
        _ask(self.spark, (SparkPort, type(None)), f"port {self.name}: spark is a SparkPort")
        _ask(self.beam, (BeamPort, type(None)), f"port {self.name}: beam is a BeamPort")
        if self.spark is None and self.beam is None:
            raise InvalidPort(f"port {self.name}: nothing to run; give spark=SparkPort(…), beam=BeamPort(…), or both")

    @property
    def ref(self) -> str:
        """ "scenario/program"; the program must have been named."""
        scenario = self.scenario if isinstance(self.scenario, str) else self.scenario.id
        return program_ref(scenario, self.program)


def moment(ms: int) -> Any:
    """A time (ms since the epoch) as the aware datetime that a timestamp column takes."""
    from datetime import datetime, timedelta, timezone

    return datetime(1970, 1, 1, tzinfo=timezone.utc) + timedelta(milliseconds=ms)


def _ask(value: object, kind: Any, says: str) -> None:
    if not isinstance(value, kind):
        raise InvalidPort(f"{says}, not {_what(value)}")


def _ask_callable(value: object, name: str) -> None:
    if not callable(value):
        raise InvalidPort(f"{name} is a function, not {_what(value)}")


def _ask_factory(value: object, name: str, method: str, kind: str) -> None:
    """Refuse what cannot make an object with this method, as far as that can be told without making one."""
    if not callable(value):
        hint = f"give its class: {type(value).__name__}" if hasattr(value, method) else f"give the class of {kind}"
        raise InvalidPort(f"{name} is a class or a function that makes one, not {_what(value)}; {hint}")
    if isinstance(value, type) and not hasattr(value, method):
        raise InvalidPort(f"{name}: the class {value.__name__} has no {method}; give the class of {kind}")


def _what(value: object) -> str:
    return f"the class {value.__name__}" if isinstance(value, type) else f"{value!r:.60} ({type(value).__name__})"


def _called(made: object) -> str:
    name = str(getattr(made, "__qualname__", type(made).__name__))
    return name.rpartition("<locals>.")[2]


def _or(names: Any) -> str:
    return " or ".join(repr(name) for name in names)
