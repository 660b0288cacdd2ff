"""Turns of earlier runs: what a run found on an engine is read as a whole if nothing at all has changed.

A kept turn depends on more than kept traces do: on every file of the harness, of the scenarios and of the adapters, on all options, and
on the stored witnesses. So an edit anywhere leads back to the traces.
"""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from conformance.confirmation.replay import Replay
from conformance.execution.cached import TURNS, Shelf
from conformance.execution.kept import CONTENT, Kept, unzipped, zipped
from conformance.judgement.cell import MatrixCell
from conformance.judgement.stability import Stability
from conformance.model.engine import EngineInfo, bare
from conformance.model.values import Json, digest
from conformance.plugins import loading
from conformance.plugins.points import registered
from conformance.plugins.source import Untold, judged_digest
from conformance.results.store import Store
from conformance.results.witness import Witness
from conformance.run.checks import LOCAL
from conformance.run.options import Options
from conformance.run.outcome import EngineOutcome

BYTE_CODE = {".pyc", ".pyo"}


class KeptTurns:
    """The turns of the engines of one run.

    Raises:
        Untold: a scenario cannot be told from a changed one.
    """

    def __init__(self, kept: Kept, options: Options, stored: Sequence[Witness], store: Store) -> None:
        self._kept, self._options, self._stored, self._store = kept, options, stored, store
        self._run = self._depends()

    @classmethod
    def of_run(cls, kept: Kept, options: Options, stored: Sequence[Witness], store: Store) -> KeptTurns | None:
        """None for a run of a part, within a budget, of given cases, of the user's files or of scenarios that cannot be told from changed
        ones: such a run has no kept turns."""
        part = options.parts or options.shelves or options.traces_out or options.budget is not None
        if part or options.cases_from or loading.asked() or options.checker not in ("auto", LOCAL):
            return None
        try:
            return cls(kept, options, stored, store)
        except Untold:
            return None

    def of_engine(self, info: EngineInfo, shelf: Shelf, plans: Sequence[str]) -> KeptTurn:
        """The turn of an engine whose kept traces these are, and that is given these plans (ids)."""
        mine = {witness.id: witness for witness in self._stored if bare(witness.engine) == bare(info.id)}
        told = [self._run, info.id, list(plans), [witness.to_json() for witness in mine.values()]]
        return KeptTurn(self._kept, digest(told), info, shelf, mine, self._store)

    def _depends(self) -> Json:
        """All that the turns of this run depend on alike."""
        asked = self._options
        options = [asked.wanted, asked.seed, asked.timeout, asked.all_packs, asked.share, asked.brief, asked.sampled]
        scenarios = [[scenario.id, judged_digest(scenario)] for scenario in asked.scenarios]
        return [options, scenarios, code_digest(), version("hypothesis"), platform.python_version()]


class KeptTurn:
    """The turn of an engine, as an earlier run kept it or as this run makes it.

    Attributes:
        was_read: whether the turn is that of an earlier run.
    """

    def __init__(
        self, kept: Kept, name: str, info: EngineInfo, shelf: Shelf, stored: Mapping[str, Witness], store: Store
    ) -> None:
        self._kept, self._asked, self._info, self._shelf = kept, name, info, shelf
        self._stored, self._store = stored, store
        self._tables: dict[str, bytes] = {}
        self.was_read = False

    def read(self) -> EngineOutcome | None:
        """What an earlier run found on the engine that this run has met; None if no such turn is kept."""

        def read(content: bytes) -> tuple[EngineOutcome, dict[str, bytes]]:
            files = unzipped(content)
            return self._outcome(json.loads(files.pop(CONTENT))), files

        found = self._kept.content(self._file, read)
        if found:
            outcome, self._tables = found
            self.was_read = True
            return outcome  # type: ignore[no-any-return]
        return None

    def put(self, number: int) -> None:
        """Writes the engine's tables, as they were read, to the store of this run. ``number`` is the engine's place in the run."""
        for member, content in self._tables.items():
            path = self._store.folder / member
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        if not self._info.lacks:
            self._store.write_engine(self._info, number)

    def keep(self, outcome: EngineOutcome) -> None:
        """Keeps what this run found, if the engine gave every answer in such a way that the next run would not ask for it again."""
        if self._shelf.unsettled or self._info.failure:
            return
        told = {
            "cells": [cell.to_json() for cell in outcome.cells],
            "stabilities": [found.to_json() for found in outcome.stabilities],
            "witnesses": [witness.to_json() for witness in outcome.witnesses.values()],
            "replays": [[replay.witness.id, replay.answer, replay.message] for replay in outcome.replays],
            "answered": outcome.answered,
            "effort": outcome.effort,
            "packs": self._info.packs,
            "kept": self._shelf.age_in_the_next_run,
        }
        tables = {
            str(path.relative_to(self._store.folder)): path.read_bytes() for path in self._store.files(self._info.id)
        }
        self._kept.keep_content(self._file, zipped({CONTENT: json.dumps(told).encode(), **tables}))

    @property
    def _file(self) -> str:
        met = self._shelf.met()
        return f"{TURNS}/{self._shelf.name}/{digest([self._asked, met and met.environment])}.zip"

    def _outcome(self, told: Mapping[str, Any]) -> EngineOutcome:
        info = self._info
        found = EngineOutcome(
            info,
            [MatrixCell.from_json(cell) for cell in told["cells"]],
            [Stability.from_json(one) for one in told["stabilities"]],
            {one["id"]: Witness.from_json(one) for one in told["witnesses"]},
            [Replay(self._stored[witness], answer, message) for witness, answer, message in told["replays"]],
            answered=told["answered"],
            effort=told["effort"],
        )
        info.packs, info.kept = (told["packs"][0], told["packs"][1]), (told["kept"][0], told["kept"][1])
        return found


@cache
def code_digest() -> str:
    """Identifies every file of the packages that the harness, its scenarios and its adapters are in."""
    points = (*registered("engines").values(), *registered("scenarios").values())
    packages = {__name__.partition(".")[0], *(point.module.partition(".")[0] for point in points)}
    about = hashlib.sha256()
    for name in sorted(packages):
        for path in sorted(_files(name)):
            about.update(f"{name} {path.name} ".encode() + hashlib.sha256(path.read_bytes()).digest())
    return about.hexdigest()


def _files(package: str) -> Iterator[Path]:
    spec = find_spec(package)
    for folder in (spec and spec.submodule_search_locations) or ():
        yield from (path for path in Path(folder).rglob("*") if path.is_file() and path.suffix not in BYTE_CODE)
    if spec and not spec.submodule_search_locations and spec.origin:
        yield Path(spec.origin)
