"""The Beam side of a port, as a user writes it down. Imports no Beam."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from conformance.model.schedule import Event
from conformance.model.values import Json
from conformance.plugins.port import ask_callable, ask_factory, called


def same_key(key: str) -> Any:
    """The operator's key is the event's."""
    return key


def event_value(event: Event) -> Any:
    """The element's value is the event's."""
    return event.value


def unchanged(output: Any) -> Json:
    """The output is the emission."""
    return output


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
        ask_factory(self.dofn, "BeamPort: dofn", "process", "a DoFn")
        for name in ("element", "emission", "key"):
            ask_callable(getattr(self, name), f"BeamPort: {name}")

    @property
    def words(self) -> str:
        """What reports call it."""
        return called(self.dofn)
