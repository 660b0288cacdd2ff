"""Answers that are kept for as long as there is room."""

from collections.abc import Callable, Hashable
from contextlib import suppress
from typing import Generic, TypeVar

Place = TypeVar("Place", bound=Hashable)
Answer = TypeVar("Answer")


class Known(Generic[Place, Answer]):
    """Answers by what was asked. When there are more than ``most``, all are forgotten, and found again as they are
    asked for."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._answers: dict[Place, Answer] = {}

    def of(self, place: Place, find: Callable[[], Answer]) -> Answer:
        """The answer for ``place``: what ``find`` gave when it was asked first. Several threads may ask at a time."""
        with suppress(KeyError):
            return self._answers[place]
        found = find()
        if len(self._answers) > self._most:
            self._answers.clear()
        self._answers[place] = found
        return found
