"""What a run is asked to do."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from conformance.model.scenario import Scenario


@dataclass(frozen=True)
class Options:
    """What to run.

    Attributes:
        engines: their ids.
        out: the folder of results, tables, logs and witnesses.
        wanted: requested number of cases that test each guarantee.
        cases_from: the folder of another run, or a file, with cases to use instead of new ones.
        witnesses: folders of stored witnesses, which are replayed first.
        timeout: seconds for one pack on one engine.
        checker: where cases are checked: "local", the name of a checker, or "auto", which chooses by the number of
            cases.
        all_packs: slow engines run all packs.
        share: fraction of the selected packs that slow engines run.
        brief: for a first look, and for runs whose differences are checked again later. A new witness runs alone once,
            in the existing process. Every stored witness is replayed in a pack, confirmed here or not.
    """

    engines: tuple[str, ...]
    scenarios: tuple[Scenario, ...]
    out: Path
    wanted: int = 200
    seed: int = 0
    cases_from: Path | None = None
    witnesses: tuple[Path, ...] = ()
    timeout: float = 600.0
    checker: str = "auto"
    all_packs: bool = False
    share: float = 1.0
    brief: bool = False
