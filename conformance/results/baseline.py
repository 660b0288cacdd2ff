"""Baselines: results reduced to the data that later runs are compared with, one line for each guarantee on an engine,
for git.

A comparison pairs the same engines in different versions: an engine ``NAME@VERSION`` is called NAME if that is
unambiguous.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

from conformance.judgement.cell import MatrixCell, Verdict
from conformance.results.record import RunRecord
from conformance.results.results import Results, UnreadableResults
from conformance.results.signature import signature
from conformance.results.subject import SubjectRecord
from conformance.support.naming import counted
from conformance.support.reading import BadInput, text_of, value_of
from conformance.support.writing import write_whole

SCHEMA = "conformance/baseline/2"

Place = tuple[str, str, str, str]
"""(engine, scenario, guarantee, perturbation), or with a program in place of the guarantee."""


class UnreadableBaseline(BadInput):
    """A file that is neither a baseline of this version nor results; the message says what is wrong with it."""


class UnfitBaseline(BadInput):
    """Results that must not become a baseline; the message says why."""


@dataclass(frozen=True)
class Standing:
    """The state of a cell. All fields but ``verdict`` and ``cases`` belong to violated cells.

    Attributes:
        signature: how the guarantee failed.
        violations: number of cases that speak against the guarantee, 0 if unknown.
        intermittent: "k/n" if the witness fails in only k of n runs alone.
    """

    verdict: Verdict
    cases: int = 0
    witness: str = ""
    signature: str = ""
    violations: int = 0
    intermittent: str = ""


@dataclass(frozen=True)
class Scope:
    """How much a run asked engines for.

    Attributes:
        rows: the most rows of programs of a kind that engines ran; 0 for all.
        perturbations: those that were asked about, () for all.
        brief: whether it was a first look, or one side of an upgrade: a failing case runs alone once.
        partial: whether the run was cut short.
    """

    brief: bool = False
    rows: int = 0
    partial: bool = False
    perturbations: tuple[str, ...] = ()

    @classmethod
    def of(cls, run: RunRecord) -> Scope:
        """The scope of a run's record."""
        return cls(run.brief, run.rows, run.partial, tuple(sorted(run.perturbations)))

    @property
    def flaws(self) -> list[str]:
        """The ways in which the scope falls short of a full run, in words."""
        found = ["was cut short"] if self.partial else []
        found += ["was brief"] if self.brief else []
        found += [f"ran {counted(self.rows, 'row')}"] if self.rows else []
        found += [f"asked about {', '.join(self.perturbations)} alone"] if self.perturbations else []
        return found

    def comparable(self, other: Scope) -> bool:
        """Whether the results of two runs can be compared: neither run was cut short, and both were asked the same
        amount."""
        return not (self.partial or other.partial) and self == other


@dataclass(frozen=True)
class Baseline:
    """The results of a run, without the evidence.

    Attributes:
        harness, cases_digest: values that both sides of a comparison must share.
        engines: engine -> its versions, the framework first.
        cells: the standing of each cell.
        alike: by program: the strongest equivalences that every pair of twins showed.
        scope: how much was asked.
        stored_witnesses: identifies the stored witnesses that were replayed, "" where that is not known.
        packs: engine -> number of packs that it ran. An engine whose number is unknown is left out.
        failures: engine -> why it did not run, or not to its end; also those that gave no cells at all.
        measured: the day of the run (YYYY-MM-DD, UTC), "" where that is not known.
    """

    harness: str
    cases_digest: str
    engines: Mapping[str, Mapping[str, str]]
    cells: Mapping[Place, Standing]
    alike: Mapping[Place, tuple[str, ...]] = field(default_factory=dict)
    scope: Scope = Scope()
    stored_witnesses: str = ""
    packs: Mapping[str, int] = field(default_factory=dict)
    failures: Mapping[str, str] = field(default_factory=dict)
    measured: str = ""

    @classmethod
    def of(cls, results: Results) -> Baseline:
        results = results.in_short()
        engines = dict.fromkeys(results.engines)
        cells = {(c.engine, c.scenario, c.guarantee, c.perturbation): _standing(c, results) for c in results.cells}
        return cls(
            results.run.harness,
            results.run.cases_digest,
            {engine: dict(results.environment[engine].versions) for engine in engines}
            | {subject.engine: dict(subject.versions) for subject in results.subjects},
            cells | _of_subjects(results.subjects),
            {
                (s.engine, s.scenario, s.program, s.perturbation): tuple(how.value for how in s.observed)
                for s in results.stability
                if s.pairs and s.engine in engines
            },
            Scope.of(results.run),
            results.run.stored_witnesses,
            {engine: found.packs.run for engine, found in results.environment.items() if found.packs.drawn},
            {engine: found.failure for engine, found in results.environment.items() if found.failure},
            str(results.timing.get("day", "")),
        )

    def updated(self, newer: Baseline) -> Baseline:
        """A copy in which the engines of ``newer`` replace the engines of the same names."""
        return self._put_together(newer.engines, newer)

    def _put_together(self, gone: Collection[str], newer: Baseline) -> Baseline:
        """``newer`` with this one's engines but those that are ``gone``."""

        def kept(mine: Mapping[Any, Any], other: Mapping[Any, Any]) -> dict[Any, Any]:
            named = (((key if isinstance(key, str) else key[0]), key, found) for key, found in mine.items())
            return {key: found for engine, key, found in named if engine not in gone} | dict(other)

        return replace(
            newer,
            engines=kept(self.engines, newer.engines),
            cells=kept(self.cells, newer.cells),
            alike=kept(self.alike, newer.alike),
            packs=kept(self.packs, newer.packs),
            failures=kept(self.failures, newer.failures),
        )

    def check_fit(self, before: Baseline | None = None) -> None:
        """Whether it may become a baseline, in place of its engines in ``before`` where that is given.

        Raises:
            UnfitBaseline: the run was not a full one, an engine failed, or its results have fewer scenarios than
                ``before`` has.
        """
        if self.scope.flaws:
            raise UnfitBaseline(f"a baseline is of a full run; this run {' and '.join(self.scope.flaws)}")
        if self.failures:
            engine, why = next(iter(self.failures.items()))
            raise UnfitBaseline(f"{engine} failed, so that there is nothing to compare with: {why}")
        there = {place[:2] for place in self.cells}
        for engine, scenario, *_ in before.cells if before else ():
            if engine in self.engines and (engine, scenario) not in there:
                raise UnfitBaseline(
                    f"{engine} was not asked about {scenario}, which the baseline has: "
                    "run all of its scenarios, or write a new baseline"
                )

    def without(self, engines: Collection[str]) -> Baseline:
        """A copy without these engines, as if they had taken no part."""
        return self._put_together(engines, replace(self, engines={}, cells={}, alike={}, packs={}, failures={}))

    def write(self, path: Path) -> None:
        """Writes the baseline sorted, with one line for each guarantee on an engine."""
        head = {
            "schema": SCHEMA,
            "harness": self.harness,
            "cases": self.cases_digest,
            **({"measured": self.measured} if self.measured else {}),
            "run": {name: value for name, value in asdict(self.scope).items() if value != ()}
            | {"stored_witnesses": self.stored_witnesses},
            "packs": dict(sorted(self.packs.items())),
            "failures": dict(sorted(self.failures.items())),
            "engines": {name: dict(self.engines[name]) for name in sorted(self.engines)},
        }
        lines = [json.dumps(head, ensure_ascii=False), *_lines("guarantee", self.cells, _to_json)]
        lines += _lines("program", self.alike, list)
        write_whole(path, "\n".join(lines) + "\n")

    @classmethod
    def read(cls, path: Path) -> Baseline:
        """Reads a baseline from its own file, or from results.

        Raises:
            UnreadableBaseline: it is neither, or of a run that was cut short.
        """
        return cls.of_text(text_of(path, UnreadableBaseline), str(path))

    @classmethod
    def of_text(cls, text: str, name: str) -> Baseline:
        """Reads a baseline from the text of its own file, or of results. Messages use ``name``. Raises
        UnreadableBaseline."""
        if _of_results(text):
            try:
                results = Results.from_json(value_of(text, name, UnreadableResults), name)
            except UnreadableResults as error:
                raise UnreadableBaseline(str(error)) from None
            if results.run.partial:
                raise UnreadableBaseline(f"{name} is of a run that was cut short: run it again to its end")
            return cls.of(results)
        try:
            head, *lines = map(json.loads, text.splitlines())
            if not isinstance(head, dict) or head.get("schema") != SCHEMA:
                raise UnreadableBaseline(f"{name} is neither a baseline of this version nor results")
            cells, alike = dict[Place, Standing](), dict[Place, tuple[str, ...]]()
            for line in lines:
                of_guarantee = "guarantee" in line
                place = line["engine"], line["scenario"], line["guarantee" if of_guarantee else "program"]
                if not all(isinstance(part, str) for part in place) or place[0] not in head["engines"]:
                    raise ValueError(f"{'/'.join(map(str, place))} is of no engine that it has")
                if of_guarantee:
                    cells |= {(*place, under): _from_json(*found) for under, found in line["under"].items()}
                else:
                    alike |= {(*place, under): tuple(found) for under, found in line["under"].items()}
            run = dict(head["run"])
            measured = str(head.get("measured", ""))
            if measured:
                date.fromisoformat(measured)
            return cls(
                str(head["harness"]),
                str(head["cases"]),
                {name: dict(versions) for name, versions in head["engines"].items()},
                cells,
                alike,
                stored_witnesses=str(run.pop("stored_witnesses", "")),
                scope=Scope(**run | {"perturbations": tuple(run.get("perturbations", ()))}),
                packs={name: int(number) for name, number in head["packs"].items()},
                failures={name: str(why) for name, why in head["failures"].items()},
                measured=measured,
            )
        except UnreadableBaseline:
            raise
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            why = f"it lacks {error}" if isinstance(error, KeyError) else error
            raise UnreadableBaseline(f"{name} is neither a whole baseline nor results: {why}") from None

    @property
    def able(self) -> frozenset[str]:
        """The engines with at least one cell that is not unsupported."""
        return frozenset(engine for (engine, *_), s in self.cells.items() if s.verdict is not Verdict.UNSUPPORTED)

    def counts(self) -> dict[str, Counter[Verdict]]:
        """Number of cells of an engine by verdict."""
        found = {name: Counter[Verdict]() for name in self.engines}
        for (engine, *_), standing in self.cells.items():
            found[engine][standing.verdict] += 1
        return found

    def version(self, engine: str) -> str:
        """The version of an engine's framework, "" if it has none."""
        name, number = next(iter(self.engines[engine].items()), ("", ""))
        return "" if name == "python" else number


def is_results(file: Path) -> bool:
    """Whether a file has results, with their evidence, and no baseline."""
    return _of_results(text_of(file, UnreadableBaseline))


def _of_results(text: str) -> bool:
    return '"conformance/results/' in text[:300]


def _of_subjects(subjects: Iterable[SubjectRecord]) -> dict[Place, Standing]:
    """A subject stands in the place of a scenario, and its questions in that of guarantees."""
    return {
        (subject.engine, subject.subject, answer.question, ""): Standing(
            answer.verdict,
            answer.cases,
            signature=signature(answer.why) if answer.verdict is Verdict.VIOLATED else "",
        )
        for subject in subjects
        for answer in subject.answers
    }


def _standing(cell: MatrixCell, results: Results) -> Standing:
    if cell.verdict is not Verdict.VIOLATED:
        return Standing(cell.verdict, cell.cases)
    message = results.witnesses[cell.witness].message if cell.witness else cell.reason
    return Standing(cell.verdict, cell.cases, cell.witness, signature(message), cell.violations, cell.intermittent)


def _to_json(standing: Standing) -> list[Any]:
    found: list[Any] = [standing.verdict.value, standing.cases]
    if standing.verdict is not Verdict.VIOLATED:
        return found
    how_often = [standing.violations, standing.intermittent] if standing.violations or standing.intermittent else []
    return [*found, standing.witness, standing.signature, *how_often]


@cache
def _from_json(*found: Any) -> Standing:
    """A standing; many cells have the same one."""
    kinds = (Verdict, int, str, str, int, str)
    if not 2 <= len(found) <= len(kinds):
        raise ValueError(f"{found} is no cell")
    return Standing(*(kind(value) for kind, value in zip(kinds, found, strict=False)))


def _lines(what: str, found: Mapping[Place, Any], told: Any) -> Iterator[str]:
    rows: dict[tuple[str, str, str], dict[str, Any]] = {}
    for engine, scenario, name, perturbation in sorted(found):
        row = rows.setdefault((engine, scenario, name), {})
        row[perturbation] = told(found[engine, scenario, name, perturbation])
    for (engine, scenario, name), under in rows.items():
        yield json.dumps({"engine": engine, "scenario": scenario, what: name, "under": under}, ensure_ascii=False)
