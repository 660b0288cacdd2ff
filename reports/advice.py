"""Advice on violated guarantees, from a file: what causes a violation, and what a user can do."""

from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

from conformance.model.engine import bare
from conformance.reports.grid import Row
from conformance.reports.own import own_file
from conformance.support.reading import tables_of, text_of


class UnusableAdvice(ValueError):
    """A file of advice cannot be used. The message says what is wrong with it."""


@dataclass(frozen=True)
class Advice:
    """Advice on some violated guarantees (patterns of "scenario/guarantee") on some engines (patterns of ids)."""

    cause: str
    engines: tuple[str, ...]
    guarantees: tuple[str, ...]
    text: str

    def about(self, row: Row, engine: str) -> bool:
        return _fits("/".join(row), self.guarantees) and _fits(bare(engine), self.engines)


def _fits(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def read_advice(path: Path) -> list[Advice]:
    """The advice of a file. Raises UnusableAdvice."""
    try:
        found = tables_of(text_of(path, UnusableAdvice), path, UnusableAdvice).get("advice", [])
        return [
            Advice(entry["cause"], tuple(entry["engines"]), tuple(entry["guarantees"]), entry["text"].strip())
            for entry in found
        ]
    except (KeyError, TypeError, AttributeError) as error:
        raise UnusableAdvice(f"{path} is no file of advice: {error!r}") from None


@cache
def known_advice() -> tuple[Advice, ...]:
    """The project's own advice; none where its file is not at hand."""
    place = own_file("advice.toml")
    return tuple(read_advice(place)) if place else ()


UNKNOWN_CAUSE = "no cause is known"


def cause_of(row: Row, engine: str) -> str:
    """What causes a violation, as the project's advice knows it."""
    found = advice_on(row, engine)
    return found.cause if found else UNKNOWN_CAUSE


def advice_on(row: Row, engine: str) -> Advice | None:
    """The first of the project's advice that is about a violated guarantee on an engine."""
    return next((advice for advice in known_advice() if advice.about(row, engine)), None)
