"""Power: how many of the seeded bugs a run on an engine would catch, as files record it; ``measured`` measures it."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from conformance.support.plain import Plain
from conformance.support.reading import BadInput, json_of
from conformance.support.writing import write_whole

SCHEMA = "conformance/power/3"

Row = tuple[str, str]
"""(scenario, guarantee)."""


class UnreadablePower(BadInput):
    """A file that does not say the power of a run; the message says what is wrong with it."""


@dataclass(frozen=True)
class Asked(Plain):
    """The options of a run that decide which cases an engine is given, see ``Options``. ``brief`` is for readers."""

    wanted: int
    seed: int = 0
    brief: bool = False


@dataclass(frozen=True)
class Power(Plain):
    """The seeded bugs that a run on an engine would catch.

    Attributes:
        packs, cases: number of packs that the engine runs, and of cases in them.
        caught: mutant -> the first guarantee (scenario, guarantee) that it breaks.
        missed: mutants that differ from the reference on a case of the suite, but break nothing in it.
        not_visible: mutants that answer as the reference does on every case of the suite.
    """

    engine: str
    asked: Asked
    packs: int = 0
    cases: int = 0
    caught: Mapping[str, Row] = field(default_factory=dict)
    missed: tuple[str, ...] = ()
    not_visible: tuple[str, ...] = ()

    @property
    def visible(self) -> int:
        """Number of mutants that the engine could show."""
        return len(self.caught) + len(self.missed)


def write_powers(path: Path, powers: Iterable[Power]) -> None:
    """A line for each engine."""
    lines = ",\n".join(json.dumps(power.to_json()) for power in powers)
    write_whole(path, f'{{"schema": "{SCHEMA}", "engines": [\n{lines}\n]}}\n')


def with_others(powers: Iterable[Power], before: Iterable[Power]) -> list[Power]:
    """The powers, in the places that their engines had before, and those of other engines that were asked alike."""
    new = {power.engine: power for power in powers}
    asked = [power.asked for power in new.values()]
    kept = [new.pop(p.engine, p) for p in before if p.engine in new or p.asked in asked]
    return [*kept, *new.values()]


def read_powers(path: Path) -> list[Power]:
    """Raises UnreadablePower for anything but a file that ``write_powers`` wrote."""
    data = json_of(path, UnreadablePower)
    if not isinstance(data, dict) or data.get("schema") != SCHEMA:
        raise UnreadablePower(f"{path} does not say the power of a run: write one with `selftest --as ENGINE --json`")
    try:
        return [Power.from_json(found) for found in data["engines"]]
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise UnreadablePower(f"{path} does not say the whole power of a run: {error!r}") from None
