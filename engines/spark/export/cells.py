"""Timers of an exported program on transformWithState. An export holds the source of this."""

from collections.abc import Iterator
from typing import Any


class NamedTimers:
    """Names for timers, which transformWithState knows by their time alone: a MapState says which are set. Times are ms
    since the epoch."""

    def __init__(self, handle: Any) -> None:
        self._handle, self._times = handle, handle.getMapState("timers", "name string", "time long")

    def set(self, name: str, time: int, tag: str = "") -> None:
        self.clear(name, tag)
        self._times.updateValue((f"{name}/{tag}",), (time,))
        self._handle.registerTimer(time)

    def clear(self, name: str, tag: str = "") -> None:
        if before := self._times.getValue((f"{name}/{tag}",)):
            self._times.removeKey((f"{name}/{tag}",))
            if all(time[0] != before[0] for _, time in self._times.iterator()):
                self._handle.deleteTimer(before[0])

    def due(self, time: int, first: str) -> Iterator[list[str]]:
        """[name, tag] of the timers that are set for a time, each unset as it is handed over; one that a callback has
        cleared or moved meanwhile is left out. ``first`` where none is set: the program gets to see that one fires."""
        due = [name[0] for name, at in self._times.iterator() if at[0] == time]
        yield from [[first, ""]] * (not due)
        for name in due:
            if (self._times.getValue((name,)) or [None])[0] == time:
                self._times.removeKey((name,))
                yield name.split("/", 1)
