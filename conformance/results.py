"""Results: what a run found, as one file that every report reads.

The file's shape is fixed by ``results.schema.json`` beside this module.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from enum import Enum
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema

from conformance.coverage import in_order
from conformance.engine import bare
from conformance.reading import json_of
from conformance.witnesses import UnreadableWitness, Witness

SCHEMA = "conformance/results/1"


class UnreadableResults(ValueError):
    """A file that is not a results file of this version; the message says what is wrong with it."""


class Verdict(Enum):
    VIOLATED = "violated"
    ERROR = "error"
    UNKNOWN = "unknown"
    HOLDS = "holds"
    UNSUPPORTED = "unsupported"


AS_DRAWN = "as drawn"
"""The perturbation of a cell that is about cases as Hypothesis drew them."""


@dataclass(frozen=True)
class Cell:
    """One guarantee on one engine under one perturbation.

    Attributes:
        cases: how many distinct cases put the guarantee to the test.
        clocks: on how many distinct clocks.
        violations: how many of them speak against it.
        inapplicable: pairs that do not count, because the reference does not keep them alike either.
        lost: cases that the engine gave no answer to.
        witness: the id of the smallest case that speaks against it, "" where there is none.
        intermittent: "k/n" where the witness fails alone in only k of n runs.
        reason: why the verdict is what it is, in one line.
        notes: emulations that the engine's adapter used.
        coverage: how many of the cases had what in them, see ``conformance.coverage``.
    """

    scenario: str
    program: str
    guarantee: str
    perturbation: str
    engine: str
    verdict: Verdict
    reason: str
    subject: str = "neutral program"
    cases: int = 0
    clocks: int = 0
    violations: int = 0
    inapplicable: int = 0
    lost: int = 0
    witness: str = ""
    intermittent: str = ""
    claimed: str = ""
    notes: tuple[str, ...] = ()
    coverage: dict[str, int] = field(default_factory=dict, hash=False)

    @property
    def row(self) -> tuple[str, str]:
        return self.scenario, self.guarantee

    def to_json(self) -> dict[str, Any]:
        return asdict(self) | {"verdict": self.verdict.value, "notes": list(self.notes)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Cell:
        known = {f.name for f in fields(cls)}
        given = {name: value for name, value in data.items() if name in known}
        return cls(**given | {"verdict": Verdict(data["verdict"]), "notes": tuple(data["notes"])})


def fold(cells: Iterable[Cell]) -> Cell:
    """One cell for a guarantee on an engine, over its perturbations.

    A violation anywhere is a violation; then errors, then cells that could not be decided; then what holds. A
    perturbation that the engine cannot express, or that never exercised the guarantee, does not weaken those that did.
    """
    cells = list(cells)

    def rank(cell: Cell) -> tuple[int, int]:
        never_exercised = cell.verdict is Verdict.UNKNOWN and cell.cases == cell.lost == 0
        order = [Verdict.VIOLATED, Verdict.ERROR, Verdict.UNKNOWN, Verdict.HOLDS, Verdict.UNSUPPORTED]
        return (3, 1) if never_exercised else (order.index(cell.verdict), 0)

    worst = min(cells, key=rank)
    asked = [cell for cell in cells if cell.verdict is not Verdict.UNSUPPORTED]
    total = {
        name: sum(getattr(cell, name) for cell in asked) for name in ("cases", "violations", "inapplicable", "lost")
    }
    notes = tuple(dict.fromkeys(note for cell in cells for note in cell.notes))
    clocks = max(cell.clocks for cell in cells)
    coverage = in_order(sum((Counter(cell.coverage) for cell in asked), Counter()))
    more = {"perturbation": "", "notes": notes, "clocks": clocks, "coverage": coverage}
    merged = asdict(worst) | total | more
    if worst.verdict is Verdict.HOLDS:
        merged["reason"] = held(merged["cases"], clocks, "at least ")
    return Cell(**merged)


def held(cases: int, clocks: int, least: str = "") -> str:
    """The reason of a cell that holds: evidence, not proof. 3/n is the rule of three, which would bound the share of
    failing cases with 95 % confidence if cases were drawn independently; they are not quite, so it is a heuristic."""
    return f"{cases} cases on {least}{clocks} clocks, none against (heuristic bound 3/n = {3 / cases:.1%})"


@dataclass
class Results:
    """Everything that a run found. ``partial`` marks a run that was cut short.

    ``survivals`` says, per program, perturbation and engine, up to which equivalence the output stayed the same.
    ``agreements`` says, per program, up to which equivalence two engines agree, and each engine and the reference.
    ``replays`` says what the stored witnesses gave.
    ``scenarios`` holds the texts (id -> name, summary, guarantees), ``environment`` an entry per engine, ``witnesses``
    the witness files by id. ``timing`` is the only part that differs between two runs of one seed.
    """

    run: dict[str, Any]
    environment: dict[str, Any]
    scenarios: dict[str, Any]
    cells: list[Cell]
    survivals: list[dict[str, Any]] = field(default_factory=list)
    agreements: list[dict[str, Any]] = field(default_factory=list)
    replays: list[dict[str, Any]] = field(default_factory=list)
    witnesses: dict[str, Any] = field(default_factory=dict)
    timing: dict[str, Any] = field(default_factory=dict)

    @property
    def engines(self) -> list[str]:
        """The engines that gave cells, in the order of the run."""
        with_cells = {cell.engine for cell in self.cells}
        return [engine for engine in self.environment if engine in with_cells]

    @property
    def columns(self) -> dict[str, list[str]]:
        """Column -> the engines in it: one, or all of one framework that run an idiom in place of a program."""
        found: dict[str, list[str]] = {}
        for engine in self.engines:
            found.setdefault(self.environment[engine]["column"], []).append(engine)
        return found

    def in_short(self) -> Results:
        """With NAME for an engine NAME@VERSION, where no other engine would have that name too: as runs of several versions are
        compared. Witnesses keep the name of the engine that they were found on."""
        alike = Counter(map(bare, self.environment))
        names = {engine: bare(engine) if alike[bare(engine)] == 1 else engine for engine in self.environment}
        if all(name == engine for engine, name in names.items()):
            return self

        def short(engine: str) -> str:
            return names.get(engine, engine)

        return replace(
            self,
            environment={
                name: entry | {"column": bare(entry["column"]) if name == bare(engine) else entry["column"]}
                for (engine, entry), name in zip(self.environment.items(), names.values(), strict=True)
            },
            cells=[replace(cell, engine=names[cell.engine]) for cell in self.cells],
            survivals=[s | {"engine": short(s["engine"])} for s in self.survivals],
            agreements=[a | {"left": short(a["left"]), "right": short(a["right"])} for a in self.agreements],
            replays=[r | {"engine": short(r["engine"])} for r in self.replays],
        )

    def folded(self) -> dict[tuple[str, str], dict[str, Cell]]:
        """(scenario, guarantee) -> engine -> one cell over all perturbations."""
        groups: dict[tuple[str, str], dict[str, list[Cell]]] = {}
        for cell in self.cells:
            groups.setdefault(cell.row, {}).setdefault(cell.engine, []).append(cell)
        return {row: {engine: fold(cells) for engine, cells in found.items()} for row, found in groups.items()}

    def of(self, row: tuple[str, str], engine: str) -> list[Cell]:
        return [cell for cell in self.cells if cell.row == row and cell.engine == engine]

    def to_json(self) -> dict[str, Any]:
        return {
            "schema": SCHEMA,
            "run": self.run,
            "environment": self.environment,
            "scenarios": self.scenarios,
            "cells": [cell.to_json() for cell in self.cells],
            "survivals": self.survivals,
            "agreements": self.agreements,
            "replays": self.replays,
            "witnesses": self.witnesses,
            "timing": self.timing,
        }

    def write(self, path: Path) -> None:
        path.write_text(json.dumps(self.to_json(), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")

    @classmethod
    def read(cls, path: Path) -> Results:
        """Raises UnreadableResults for anything but a results file of this version."""
        return cls.from_json(json_of(path, UnreadableResults), str(path))

    @classmethod
    def from_json(cls, data: Any, name: str = "results") -> Results:
        found = data.get("schema") if isinstance(data, dict) else None
        if found != SCHEMA:
            raise UnreadableResults(
                f"{name} is not a results file of this version (its schema is {found!r}, not {SCHEMA!r})"
            )
        try:
            jsonschema.validate(data, schema())
        except jsonschema.ValidationError as error:
            where = "/".join(str(part) for part in error.absolute_path)
            raise UnreadableResults(
                f"{name} is not a valid results file: at {where or 'the top'}: {error.message[:200]}"
            ) from None
        if wrong := next(_wrong(data), None):
            raise UnreadableResults(f"{name} is not a valid results file: {wrong}")
        for key, witness in data["witnesses"].items():
            try:
                if Witness.from_json(witness, "it").id != key:
                    raise UnreadableWitness("it is another's")
            except UnreadableWitness as error:
                raise UnreadableResults(f"{name} is not a valid results file: witness {key}: {error}") from None
        cells = [Cell.from_json(cell) for cell in data["cells"]]
        return cls(**{name: data[name] for name in data if name not in ("schema", "cells")}, cells=cells)


def _wrong(data: Mapping[str, Any]) -> Iterator[str]:
    """What parts of the file say of each other that cannot be."""
    guarantees = {(scenario, g) for scenario, texts in data["scenarios"].items() for g in texts["guarantees"]}
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
        if cell["verdict"] == "holds" and not cell["cases"]:
            yield f"the cell {'/'.join(place)} holds without a case"
        if cell["witness"]:
            witness = data["witnesses"].get(cell["witness"])
            if witness is None:
                yield f"it speaks of the witness {cell['witness']}, which it does not have"
            elif (witness.get("scenario"), witness.get("guarantee")) != place[1:3]:
                yield f"the witness {cell['witness']} is not of the cell {'/'.join(place)}"
    for found in (*data["survivals"], *data["agreements"]):
        if found["scenario"] not in data["scenarios"]:
            yield f"it speaks of the scenario {found['scenario']}, which it does not have"


@cache
def schema() -> dict[str, Any]:
    """The JSON Schema of a results file."""
    loaded: dict[str, Any] = json.loads(
        files("conformance").joinpath("results.schema.json").read_text(encoding="utf-8")
    )
    return loaded
