"""Results: what a run found, as one file that every report reads.

``results.schema.json`` beside this module fixes the form of the file. The file is zipped: a run of everything has some
60,000 cells and 30,000 agreements.
"""

from __future__ import annotations

import gzip
import json
import operator
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from conformance.judgement.agreement import Agreement
from conformance.judgement.cell import Folded, MatrixCell
from conformance.judgement.stability import Stability
from conformance.judgement.verdict import fold
from conformance.model.engine import bare
from conformance.model.schedule import InvalidSchedule
from conformance.model.values import Json
from conformance.results.record import LEFT_OUT, EngineRecord, ReplayRecord, RunRecord, ScenarioRecord
from conformance.results.subject import SubjectRecord
from conformance.results.witness import UnreadableWitness, Witness
from conformance.support.grouping import grouped
from conformance.support.naming import counted
from conformance.support.plain import Plain
from conformance.support.reading import BadInput, json_of
from conformance.support.writing import write_whole

SCHEMA = "conformance/results/5"

RESULTS = "results.json.gz"
"""The name of the file that a run writes."""


class UnreadableResults(BadInput):
    """A file is not a results file that this version can read. The message says what is wrong with it."""


@dataclass
class Results(Plain):
    """The findings of a run.

    Attributes:
        environment: id -> engine, for the engines that ran.
        scenarios: id -> scenario.
        stability: per program, perturbation and engine, the equivalences up to which the output is stable.
        agreements: per program, the equivalences up to which two engines agree, and each engine and the reference.
        replays: the answers of the stored witnesses.
        witnesses: id -> witness.
        subjects: what was found of queries and pipelines.
        timing: seconds and counts, for people. Two runs of one seed may differ in it.
    """

    run: RunRecord
    environment: dict[str, EngineRecord]
    scenarios: dict[str, ScenarioRecord]
    cells: list[MatrixCell]
    stability: list[Stability] = field(default_factory=list)
    agreements: list[Agreement] = field(default_factory=list)
    replays: list[ReplayRecord] = field(default_factory=list)
    witnesses: dict[str, Witness] = field(default_factory=dict)
    subjects: list[SubjectRecord] = field(default_factory=list)
    timing: dict[str, Json] = field(default_factory=dict)

    @property
    def engines(self) -> list[str]:
        """The engines that gave cells, in the order of the run."""
        with_cells = set(map(operator.attrgetter("engine"), self.cells))
        return [engine for engine in self.environment if engine in with_cells]

    @property
    def not_run(self) -> list[tuple[str, str]]:
        """(engine, reason) for each engine that did not run, or not to its end."""
        return [(name, found.failure) for name, found in self.environment.items() if found.failure]

    @property
    def frameworks(self) -> list[str]:
        """The frameworks of its engines, with their releases, in words."""
        found = (self.environment[engine].framework for engine in self.engines)
        return list(dict.fromkeys(" ".join(named) for named in found if named))

    @property
    def columns(self) -> dict[str, list[str]]:
        """Column of the matrix -> the engines in it: one engine, or all engines of a framework that run a native
        operator."""
        return grouped((self.environment[engine].shown_as, engine) for engine in self.engines)

    @property
    def shortened(self) -> list[str]:
        """The ways in which the run asked less than a full one, in words; [] for a full run to its end."""
        run = self.run
        found = ["cut short: the results are partial"] if run.partial and not run.budget else []
        if run.budget:
            engines = sum(record.failure == LEFT_OUT for record in self.environment.values())
            numbers = {"engine": engines, "pack": run.left_out}
            left = " and ".join(counted(number, what) for what, number in numbers.items() if number)
            found.append(f"a budget of {run.budget:g} s" + f" left out {left}" * bool(left))
        found += ["brief: what failed ran alone once"] if run.brief else []
        found += [f"at most {counted(run.rows, 'row')} for each kind of program"] if run.rows else []
        found += [f"under {', '.join(run.perturbations)} alone"] if run.perturbations else []
        return found

    def in_short(self) -> Results:
        """The results with NAME in place of NAME@VERSION wherever no two engines then have one name. Comparisons of
        runs of several versions use this form. A witness keeps the name of the engine that it was found on."""
        alike = Counter(map(bare, self.environment))
        names = {engine: bare(engine) if alike[bare(engine)] == 1 else engine for engine in self.environment}
        if all(name == engine for engine, name in names.items()):
            return self

        def renamed(engine: str, record: EngineRecord) -> EngineRecord:
            return replace(record, shown_as=bare(record.shown_as)) if names[engine] == bare(engine) else record

        return replace(
            self,
            environment={names[engine]: renamed(engine, record) for engine, record in self.environment.items()},
            cells=[replace(cell, engine=names[cell.engine]) for cell in self.cells],
            stability=[replace(found, engine=names.get(found.engine, found.engine)) for found in self.stability],
            agreements=[found.renamed(names) for found in self.agreements],
            replays=[replace(found, engine=names.get(found.engine, found.engine)) for found in self.replays],
        )

    @property
    def by_row(self) -> dict[tuple[tuple[str, str], str], list[MatrixCell]]:
        """((scenario, guarantee), engine) -> its cells, one for each perturbation."""
        return grouped(((cell.row, cell.engine), cell) for cell in self.cells)

    def folded(self) -> dict[tuple[str, str], dict[str, Folded]]:
        """(scenario, guarantee) -> engine -> one row over all perturbations. Made once for the cells that there are."""
        of, known = self.__dict__.get("_folded", ((), {}))
        if len(of) == len(self.cells) and all(map(operator.is_, of, self.cells)):
            return known  # type: ignore[no-any-return]
        folded: dict[tuple[str, str], dict[str, Folded]] = {}
        for (row, engine), cells in self.by_row.items():
            folded.setdefault(row, {})[engine] = fold(cells)
        self.__dict__["_folded"] = tuple(self.cells), folded
        return folded

    def of(self, row: tuple[str, str], engine: str) -> list[MatrixCell]:
        return [cell for cell in self.cells if cell.row == row and cell.engine == engine]

    def to_json(self) -> Json:
        """The content of the file, in the form of ``results.schema.json``."""
        return {"schema": SCHEMA} | super().to_json()

    def write(self, path: Path) -> None:
        """Write the file, zipped if its name ends in ``.gz``. The file is there whole, or is what it was before."""
        content = json.dumps(self.to_json(), ensure_ascii=False, indent=0).encode()
        write_whole(path, gzip.compress(content, mtime=0) if path.suffix == ".gz" else content)

    @classmethod
    def read(cls, path: Path) -> Results:
        """The results in a file, zipped or not.

        Raises:
            UnreadableResults: the file is not a results file of this version.
        """
        return cls.from_json(json_of(path, UnreadableResults), str(path))

    @classmethod
    def from_json(cls, data: Json, name: str = "results") -> Results:
        """Results from the output of ``to_json``. Messages use ``name``. Raises UnreadableResults."""
        found = data.get("schema") if isinstance(data, dict) else None
        if found != SCHEMA:
            raise UnreadableResults(
                f"{name} is not a results file of this version (its schema is {found!r}, not {SCHEMA!r})"
            )
        import jsonschema_rs  # here, because most commands read no results

        try:
            _validator().validate(data)
        except jsonschema_rs.ValidationError as error:
            where = "/".join(str(part) for part in error.instance_path)
            raise UnreadableResults(
                f"{name} is not a valid results file: at {where or 'the top'}: {error.message[:200]}"
            ) from None
        if wrong := next(_wrong(data), None):
            raise UnreadableResults(f"{name} is not a valid results file: {wrong}")
        try:
            return super().from_json(data)
        except (InvalidSchedule, UnreadableWitness) as error:
            raise UnreadableResults(f"{name} is not a valid results file: {error}") from None
        except (ValueError, LookupError, TypeError, AttributeError) as error:  # a part that no schema speaks of
            raise UnreadableResults(f"{name} is not a valid results file: a witness in it: {error}") from None


def _wrong(data: Mapping[str, Any]) -> Iterator[str]:
    """The contradictions between parts of the file."""
    guarantees = {(name, g) for name, texts in data["scenarios"].items() for g in texts.get("guarantees", ())}
    witnesses = data.get("witnesses", {})
    seen = set()
    for cell in data["cells"]:
        place = cell["engine"], cell["scenario"], cell["guarantee"], cell["perturbation"]
        if place in seen:
            yield f"it has the cell {'/'.join(place)} twice"
        seen.add(place)
        if place[1:3] not in guarantees:
            yield f"it speaks of the guarantee {cell['scenario']}/{cell['guarantee']}, which it does not have"
        if cell["engine"] not in data["environment"]:
            yield f"it speaks of the engine {cell['engine']}, which it does not have"
        if cell["verdict"] == "holds" and not cell.get("cases"):
            yield f"the cell {'/'.join(place)} holds without a case"
        if name := cell.get("witness"):
            witness = witnesses.get(name)
            if witness is None:
                yield f"it speaks of the witness {name}, which it does not have"
            elif (witness.get("scenario"), witness.get("guarantee")) != place[1:3]:
                yield f"the witness {name} is not of the cell {'/'.join(place)}"
    for found in (*data.get("stability", ()), *data.get("agreements", ())):
        if found["scenario"] not in data["scenarios"]:
            yield f"it speaks of the scenario {found['scenario']}, which it does not have"
    for name, witness in witnesses.items():
        if witness.get("id") != name:
            yield f"its witness {name} is another's"


@cache
def _validator() -> Any:
    import jsonschema_rs

    return jsonschema_rs.validator_for(schema())


@cache
def schema() -> dict[str, Any]:
    """The JSON Schema of a results file."""
    loaded: dict[str, Any] = json.loads(
        files("conformance.results").joinpath("results.schema.json").read_text(encoding="utf-8")
    )
    return loaded
