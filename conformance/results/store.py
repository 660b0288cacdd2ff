"""The tables of a run: its cases in batches, and the traces of each engine.

cases/0000.parquet              the cases of a batch
traces/ENGINE/0000.parquet      the engine's traces of the cases that it got
traces/ENGINE/engine.json       the engine as the run met it
handed/ENGINE/0000.parquet      the cases that the engine got, twins of its own included
checks/ENGINE/0000.parquet      parts of a check that another process made
"""

import hashlib
import json
import re
import shutil
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from conformance.judgement.evidence import Runs, Traces
from conformance.model.case import Case
from conformance.model.engine import EngineInfo
from conformance.model.feature import Feature
from conformance.model.scenario import Scenario, programs_of
from conformance.model.values import canonical
from conformance.plugins.adapter import adapter_digest
from conformance.plugins.registry import load_engine
from conformance.results import tables
from conformance.support.reading import BadInput
from conformance.support.writing import write_whole


class UnusableCases(BadInput):
    """A file of cases cannot be read, or lacks a case that it names. The message says which."""


class UnusableTraces(BadInput):
    """A folder is not the folder of a run with traces. The message says why."""


class Store:
    """The tables of the run in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "tables"
        self._cases: tuple[int, list[Case]] | None = None
        self._reading = threading.Lock()

    def replaced_by(self, batches: Iterable[list[Case]]) -> Iterator[list[Case]]:
        """Store batches of cases, and yield each of them. They replace all files of an earlier run here, even if the
        batches are read from these."""
        part = self.folder / "cases.part"
        shutil.rmtree(part, ignore_errors=True)
        for number, cases in enumerate(batches):
            write_cases(part / self.cases(number).name, cases)
            with self._reading:
                self._cases = number, cases
            yield cases
        for name in ("cases", "traces", "handed", "checks"):
            shutil.rmtree(self.folder / name, ignore_errors=True)
        part.rename(self.folder / "cases")

    @property
    def batches(self) -> list[int]:
        return sorted(int(path.stem) for path in (self.folder / "cases").glob("[0-9]*.parquet"))

    @property
    def engines(self) -> list[str]:
        """The engines with traces, in the order in which they began."""
        found = [json.loads(path.read_text()) for path in (self.folder / "traces").glob("*/engine.json")]
        return [entry["id"] for entry in sorted(found, key=lambda entry: (entry["number"], entry["id"]))]

    def cases(self, batch: int) -> Path:
        return self.folder / "cases" / f"{batch:04}.parquet"

    def traces(self, engine: str, batch: int) -> Path:
        return self.folder / "traces" / file_name(engine) / f"{batch:04}.parquet"

    def handed(self, engine: str, batch: int) -> Path:
        """The cases that an engine got, twins of its own included."""
        return self.folder / "handed" / file_name(engine) / f"{batch:04}.parquet"

    def checks(self, engine: str, batch: int) -> Path:
        return self.folder / "checks" / file_name(engine) / f"{batch:04}.parquet"

    def count(self, batch: int) -> int:
        """The number of cases in a batch."""
        return tables.count(self.cases(batch))

    def read_cases(self, batch: int) -> list[Case]:
        """The cases of a batch. The last batch stays in memory, because each engine of a run asks for the same."""
        with self._reading:
            if self._cases is None or self._cases[0] != batch:
                self._cases = batch, tables.cases_of(tables.read(self.cases(batch)))
            return list(self._cases[1])

    def read_batch(self, engine: str, batch: int) -> tuple[list[Case], Runs]:
        """The cases of a batch that an engine got, and its traces; nothing if the engine did not reach the batch."""
        path = self.traces(engine, batch)
        if not path.exists():
            return [], Runs()
        cases = tables.cases_of(tables.read(self.handed(engine, batch)))
        return cases, tables.runs_of(tables.read(path), {case.id: case for case in cases})

    def read_traces(self, engine: str, batch: int) -> Traces:
        path = self.traces(engine, batch)
        return tables.traces_of(tables.read(path)) if path.exists() else {}

    def write_engine(self, info: EngineInfo, number: int) -> None:
        """Record an engine; ``number`` is its place in the order of the run."""
        entry = {
            "id": info.id,
            "number": number,
            "environment": info.environment,
            "evidence": {feature.name: text for feature, text in info.evidence.items()},
            "adapter": info.adapter,
            "packs": info.packs,
            "failure": info.failure,
        }
        path = self.folder / "traces" / file_name(info.id) / "engine.json"
        write_whole(path, json.dumps(entry, indent=1) + "\n")

    def read_engine(self, name: str) -> EngineInfo:
        """An engine as the run met it. Raises UnknownName if its adapter is not installed."""
        path = self.folder / "traces" / file_name(name) / "engine.json"
        entry: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        engine = load_engine(name)
        return EngineInfo(
            name,
            engine.title,
            engine.capabilities,
            entry["environment"],
            {Feature[feature]: text for feature, text in entry["evidence"].items()},
            entry["failure"],
            entry["adapter"] or adapter_digest(engine),
            tuple(entry["packs"]),
        )


class Digest:
    """Identifies cases by their content, batch after batch."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()

    def add(self, cases: Iterable[Case]) -> None:
        for case in cases:
            self._hash.update(canonical(case.to_json()).encode() + b"\n")

    def __str__(self) -> str:
        return self._hash.hexdigest()


def write_cases(path: Path, cases: Iterable[Case]) -> None:
    tables.write(path, tables.case_table(cases))


def read_cases(path: Path, scenarios: Iterable[Scenario]) -> Iterator[list[Case]]:
    """The cases of these scenarios, file by file, in a run's folder, in a folder of Parquet files or in one Parquet
    file.

    Raises:
        UnusableCases: a file cannot be used.
    """
    known = programs_of(scenarios)
    folder = next((f for f in (path / "tables" / "cases", path) if f.is_dir()), None)
    files = sorted(folder.glob("*.parquet")) if folder else [path]
    seen: set[str] = set()
    for file in files:
        if not file.exists():
            raise UnusableCases(f"cannot read cases from {file}: there is no such file")
        try:
            found = tables.cases_of(tables.read(file))
        except (OSError, pa.ArrowException, KeyError, ValueError) as error:
            raise UnusableCases(f"cannot read cases from {file}: {str(error).splitlines()[0]}") from None
        cases = [case for case in found if case.ref in known]
        ids = {case.id for case in cases}
        if len(ids) != len(cases) or ids & seen:
            raise UnusableCases(f"{file} holds a case twice")
        if missing := {case.base for case in cases if case.base} - ids:
            raise UnusableCases(f"{file} lacks the case {min(missing)} that another is the twin of")
        seen |= ids
        if cases:
            yield cases
    if not seen:
        raise UnusableCases(f"{path} holds no case of the scenarios asked for")


def file_name(engine: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]", "_", engine)
