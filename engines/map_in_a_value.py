"""A map that an adapter keeps as one value, where the engine has no state of maps."""

from typing import Any


class MapInAValue:
    """The calls of a map cell, on a value cell that holds all entries."""

    def __init__(self, value: Any) -> None:
        self._value = value

    def _entries(self) -> dict[Any, Any]:
        return dict(self._value.get({}))

    def get(self, key: Any, default: Any = None) -> Any:
        return self._entries().get(key, default)

    def put(self, key: Any, value: Any) -> None:
        self._value.set({**self._entries(), key: value})

    def remove(self, key: Any) -> None:
        self._value.set({k: v for k, v in self._entries().items() if k != key})

    def items(self) -> list[tuple[Any, Any]]:
        return list(self._entries().items())

    def clear(self) -> None:
        self._value.clear()
