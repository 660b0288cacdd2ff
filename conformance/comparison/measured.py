"""Files of what was measured once: a list of rows, each a line."""

import json
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any, Protocol, TypeVar

from conformance.support.reading import BadInput
from conformance.support.writing import write_whole


class Measured(Protocol):
    """A dataclass. Of two rows of one ``place``, the later one counts."""

    @property
    def place(self) -> tuple[Any, ...]: ...


Row = TypeVar("Row", bound=Measured)


class UnreadableMeasurements(BadInput):
    """A file that does not hold such rows."""


def read(path: Path, kind: type[Row]) -> list[Row]:
    """What a file holds. Raises UnreadableMeasurements."""
    try:
        rows = json.loads(path.read_text(encoding="utf-8"))
        return [kind(**{k: tuple(v) if isinstance(v, list) else v for k, v in row.items()}) for row in rows]
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise UnreadableMeasurements(f"{path}: no file of measured {kind.__name__}: {error}") from None


def write(path: Path, found: Iterable[Row]) -> None:
    rows = [json.dumps(asdict(row), ensure_ascii=False) for row in sorted(found, key=lambda row: row.place)]  # type: ignore[call-overload]
    write_whole(path, "[\n" + ",\n".join(rows) + "\n]\n")
