"""A program that does what its events say, so that tests can compare engines on any sequence of state calls."""

from typing import Any

from conformance.model import Event
from conformance.program import Cell, Emit, Program, State, Timer, Timers


class Interpreter(Program):
    """An event's value is a list of calls, [cell or "timers", method, *arguments]; each call's result is emitted."""

    cells = {
        "value": Cell.VALUE,
        "bag": Cell.BAG,
        "map": Cell.MAP,
        "set": Cell.SET,
        "sum": Cell.COMBINING,
    }
    timers = ("one", "two")

    def on_event(self, event: Event, state: State, timers: Timers, emit: Emit) -> None:
        for target, method, *arguments in event.value:
            if target == "raise":
                raise ValueError(method)
            subject: Any = timers if target == "timers" else getattr(state, target)
            result = getattr(subject, method)(*arguments)
            if result is not None or method == "get":
                emit([event.id, target, method, _plain(target, result)])

    def on_timer(self, timer: Timer, state: State, timers: Timers, emit: Emit) -> None:
        emit(["fired", timer.name, timer.tag, timer.time, state.sum.get()])


def _plain(target: str, result: Any) -> Any:
    """Sets and maps have no order of their own."""
    return sorted(result) if target in ("set", "map") and isinstance(result, list) else result
