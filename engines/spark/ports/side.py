"""The Spark side of a port, as a user writes it down. Imports no PySpark."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from conformance.model.schedule import Event
from conformance.model.values import Json
from conformance.plugins.port import InvalidPort, ask, ask_callable, ask_factory, called, one_of

TIME_MODES = {"EventTime": "EventTimeTimeout", "None": "NoTimeout"}
"""A port's time -> what applyInPandasWithState calls it; transformWithState takes it as it is."""

MODES = ("append", "update")

OPERATORS = ("processor", "pandas_processor", "function")
"""The fields that an operator can be given in, each for an API of its own."""


def key_alone(key: str) -> tuple[Any, ...]:
    """The grouping key is the event's key alone."""
    return (key,)


@dataclass(frozen=True, kw_only=True)
class SparkPort:
    """A stateful operator for Spark: a ``StatefulProcessor`` for transformWithState on rows, one for
    transformWithStateInPandas, or a state function for applyInPandasWithState.

    Attributes:
        input: the schema of the rows that the operator gets, as DDL: ``"id string, ts timestamp"``.
        row: event -> such a row, as a dictionary. Times are aware datetimes; ``conformance.plugins.port.moment`` makes
            them.
        output: the schema of the rows that it puts out, as DDL.
        emission: a row that it put out, as a dictionary -> the emission, a JSON value; None leaves the row out.
        processor: the class of a StatefulProcessor on rows, or a function that makes one.
        pandas_processor: the class of a StatefulProcessor on pandas frames, or a function that makes one, instead of a
            processor.
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
    pandas_processor: Callable[[], Any] | None = None
    function: Callable[..., Any] | None = None
    state: str = ""
    key: Callable[[str], tuple[Any, ...]] = key_alone
    time: str = "EventTime"
    mode: str = "append"

    def __post_init__(self) -> None:
        for name in ("input", "output"):
            ask(getattr(self, name), str, f"SparkPort: {name} is a schema as DDL, such as 'id string, n long'")
            if not getattr(self, name).strip():
                raise InvalidPort(f"SparkPort: {name} is empty; give a schema as DDL, such as 'id string, n long'")
        for name in ("row", "emission", "key"):
            ask_callable(getattr(self, name), f"SparkPort: {name}")
        given = [name for name in OPERATORS if getattr(self, name) is not None]
        if len(given) != 1:
            raise InvalidPort(
                "SparkPort: give one operator: processor= or pandas_processor=, a StatefulProcessor class, or function="
            )
        if self.function is None:
            ask_factory(self.make, f"SparkPort: {given[0]}", "handleInputRows", "a StatefulProcessor")
            if self.state:
                raise InvalidPort("SparkPort: state= is for a state function; a processor declares its own in init")
        else:
            ask_callable(self.function, "SparkPort: function")
            ask(self.state, str, "SparkPort: state is the schema of the function's state, as DDL")
            if not self.state.strip():
                raise InvalidPort("SparkPort: a function needs state=, the schema of its state as DDL")
        if self.time not in TIME_MODES:
            raise InvalidPort(
                f"SparkPort: time is {one_of(TIME_MODES)}, not {self.time!r}; processing time cannot be driven"
            )
        if self.mode not in MODES:
            raise InvalidPort(f"SparkPort: mode is {one_of(MODES)}, not {self.mode!r}")

    @property
    def words(self) -> str:
        """What reports call it."""
        return called(self.make or self.function)

    @property
    def make(self) -> Any:
        """What makes the processor, on rows or on frames; None for a state function."""
        return self.processor or self.pandas_processor
