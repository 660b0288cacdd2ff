"""Baselines: results brought down to what later runs are compared with, a line for each guarantee on an engine, for git.

A comparison is of the same engines in other versions: an engine ``NAME@VERSION`` is NAME wherever that is clear.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from conformance.reading import text_of
from conformance.results import SCHEMA as RESULTS
from conformance.results import Cell, Results, UnreadableResults, Verdict
from conformance.witnesses import signature

SCHEMA = "conformance/baseline/1"

Place = tuple[str, str, str, str]
"""(engine, scenario, guarantee, perturbation), or with a program in place of the guarantee."""


class UnreadableBaseline(ValueError):
    """A file that is neither a baseline of this version nor results; the message says what is wrong with it."""


@dataclass(frozen=True)
class Standing:
    """Where a cell stands. ``witness`` and ``signature`` (how it failed) are those of a violated one."""

    verdict: Verdict
    cases: int = 0
    witness: str = ""
    signature: str = ""


@dataclass(frozen=True)
class Baseline:
    """What a run found, without the evidence.

    Attributes:
        harness, cases_digest: what both sides of a comparison must have in common.
        engines: engine -> its versions, the framework first.
        cells: where each cell stands.
        alike: by program: the strongest equivalences that every pair of twins showed.
    """

    harness: str
    cases_digest: str
    engines: Mapping[str, Mapping[str, str]]
    cells: Mapping[Place, Standing]
    alike: Mapping[Place, tuple[str, ...]] = field(default_factory=dict)

    @classmethod
    def of(cls, results: Results) -> Baseline:
        results = results.in_short()
        engines = dict.fromkeys(results.engines)
        return cls(
            str(results.run["harness"]),
            str(results.run["cases_digest"]),
            {engine: dict(results.environment[engine]["versions"]) for engine in engines},
            {(c.engine, c.scenario, c.guarantee, c.perturbation): _standing(c, results) for c in results.cells},
            {
                (s["engine"], s["scenario"], s["program"], s["perturbation"]): tuple(s["observed"])
                for s in results.survivals
                if s["pairs"] and s["engine"] in engines
            },
        )

    def updated(self, newer: Baseline) -> Baseline:
        """With the engines of another in place of its own of the same names."""

        def kept(mine: Mapping[Place, Any], other: Mapping[Place, Any]) -> dict[Place, Any]:
            return {place: found for place, found in mine.items() if place[0] not in newer.engines} | dict(other)

        engines = {**self.engines, **newer.engines}
        return Baseline(
            newer.harness, newer.cases_digest, engines, kept(self.cells, newer.cells), kept(self.alike, newer.alike)
        )

    def without(self, engines: Collection[str]) -> Baseline:
        """As if these engines had taken no part."""
        return replace(
            self,
            engines={name: versions for name, versions in self.engines.items() if name not in engines},
            cells={place: standing for place, standing in self.cells.items() if place[0] not in engines},
            alike={place: found for place, found in self.alike.items() if place[0] not in engines},
        )

    def write(self, path: Path) -> None:
        """Sorted, one guarantee on one engine a line."""
        head = {
            "schema": SCHEMA,
            "harness": self.harness,
            "cases": self.cases_digest,
            "engines": {name: dict(self.engines[name]) for name in sorted(self.engines)},
        }
        lines = [json.dumps(head, ensure_ascii=False), *_lines("guarantee", self.cells, _to_json)]
        lines += _lines("program", self.alike, list)
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")

    @classmethod
    def read(cls, path: Path) -> Baseline:
        """Of a baseline's file, or of results.

        Raises:
            UnreadableBaseline: it is neither, or of a run that was cut short.
        """
        text = text_of(path, UnreadableBaseline)
        if text[:300].find(f'"{RESULTS}"') >= 0:
            try:
                results = Results.read(path)
            except UnreadableResults as error:
                raise UnreadableBaseline(str(error)) from None
            if results.run["partial"]:
                raise UnreadableBaseline(f"{path} is of a run that was cut short: run it again to its end")
            return cls.of(results)
        try:
            head, *lines = map(json.loads, text.splitlines())
            if not isinstance(head, dict) or head.get("schema") != SCHEMA:
                raise UnreadableBaseline(f"{path} is neither a baseline of this version nor results")
            cells, alike = dict[Place, Standing](), dict[Place, tuple[str, ...]]()
            for line in lines:
                for perturbation, found in line["under"].items():
                    if "guarantee" in line:
                        cells[line["engine"], line["scenario"], line["guarantee"], perturbation] = _from_json(found)
                    else:
                        alike[line["engine"], line["scenario"], line["program"], perturbation] = tuple(found)
            return cls(str(head["harness"]), str(head["cases"]), dict(head["engines"]), cells, alike)
        except UnreadableBaseline:
            raise
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise UnreadableBaseline(f"{path} is neither a whole baseline nor results: {error!r}") from None

    @property
    def able(self) -> frozenset[str]:
        """The engines that could be asked something: not all of their cells are unsupported."""
        return frozenset(engine for (engine, *_), s in self.cells.items() if s.verdict is not Verdict.UNSUPPORTED)

    def counts(self) -> dict[str, Counter[Verdict]]:
        """How many cells of each verdict an engine has."""
        found = {name: Counter[Verdict]() for name in self.engines}
        for (engine, *_), standing in self.cells.items():
            found[engine][standing.verdict] += 1
        return found

    def version(self, engine: str) -> str:
        """The version of the framework that an engine is of, "" where it is of none."""
        name, number = next(iter(self.engines[engine].items()), ("", ""))
        return "" if name == "python" else number


def _standing(cell: Cell, results: Results) -> Standing:
    if cell.verdict is not Verdict.VIOLATED:
        return Standing(cell.verdict, cell.cases)
    message = results.witnesses[cell.witness]["message"] if cell.witness else cell.reason
    return Standing(cell.verdict, cell.cases, cell.witness, signature(message))


def _to_json(standing: Standing) -> list[Any]:
    found: list[Any] = [standing.verdict.value, standing.cases]
    return [*found, standing.witness, standing.signature] if standing.verdict is Verdict.VIOLATED else found


def _from_json(found: list[Any]) -> Standing:
    verdict, cases, *rest = found
    return Standing(Verdict(verdict), int(cases), *map(str, rest))


def _lines(what: str, found: Mapping[Place, Any], told: Any) -> Iterator[str]:
    rows: dict[tuple[str, str, str], dict[str, Any]] = {}
    for engine, scenario, name, perturbation in sorted(found):
        row = rows.setdefault((engine, scenario, name), {})
        row[perturbation] = told(found[engine, scenario, name, perturbation])
    for (engine, scenario, name), under in rows.items():
        yield json.dumps({"engine": engine, "scenario": scenario, what: name, "under": under}, ensure_ascii=False)
