"""What was measured of scenarios: in the tree, or by runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from packaging.version import Version

from conformance.judgement.cell import Folded, Verdict
from conformance.judgement.verdict import as_recorded, fold
from conformance.results.baseline import Baseline, Standing
from conformance.results.results import Results
from conformance.results.witness import Witness, file_of, read_witnesses

FRAMEWORKS = {"spark": "Spark", "beam": "Beam"}
"""What a framework is called, by its name in an engine's versions. Engines of none, as the reference, are left out."""

Row = tuple[str, str]
"""(scenario, guarantee), by their ids."""


@dataclass(frozen=True)
class Breach:
    """One way in which an engine violates a guarantee: its witness (an id), how it failed, and under which
    perturbations."""

    engine: str
    framework: str
    witness: str
    message: str
    perturbations: tuple[str, ...]


@dataclass(frozen=True)
class Measured:
    """What was measured: baselines, each of the engines of some framework, and the witnesses that are at hand, by
    id."""

    baselines: Sequence[Baseline] = ()
    witnesses: Mapping[str, Witness] = field(default_factory=dict)

    @cached_property
    def frameworks(self) -> dict[str, list[str]]:
        """ "Spark 4.3.0" -> its engines."""
        found: dict[str, list[str]] = {}
        for baseline in self.baselines:
            for engine, versions in sorted(baseline.engines.items()):
                name, number = next(iter(versions.items()), ("", ""))
                if name in FRAMEWORKS:
                    found.setdefault(f"{FRAMEWORKS[name]} {number}", []).append(engine)
        return found

    @cached_property
    def _standings(self) -> dict[tuple[Row, str], dict[str, Standing]]:
        found: dict[tuple[Row, str], dict[str, Standing]] = {}
        for baseline in self.baselines:
            for (engine, scenario, guarantee, perturbation), standing in baseline.cells.items():
                found.setdefault(((scenario, guarantee), engine), {})[perturbation] = standing
        return found

    def cell(self, row: Row, engine: str) -> Folded | None:
        """One cell over all perturbations; None where the engine was not asked."""
        under = self._standings.get((row, engine))
        if not under:
            return None
        return fold(
            as_recorded(*row, perturbation, engine, standing.verdict, standing.signature, standing.cases)
            for perturbation, standing in under.items()
        )

    def breaches(self, row: Row, framework: str, engine: str) -> list[Breach]:
        """In which ways an engine violates a guarantee, those under the most perturbations first."""
        ways: dict[tuple[str, str], list[str]] = {}
        for perturbation, standing in self._standings.get((row, engine), {}).items():
            if standing.verdict is Verdict.VIOLATED:
                ways.setdefault((standing.witness, standing.signature), []).append(perturbation)
        return [
            Breach(
                engine,
                framework,
                witness,
                self.witnesses[witness].message if witness in self.witnesses else told,
                tuple(under),
            )
            for (witness, told), under in sorted(ways.items(), key=lambda way: (-len(way[1]), way[0]))
        ]

    def violated(self) -> Iterator[tuple[Row, str]]:
        """(guarantee, engine) wherever one is violated."""
        for (row, engine), under in self._standings.items():
            if any(standing.verdict is Verdict.VIOLATED for standing in under.values()):
                yield row, engine


def baselines_in(folder: Path) -> dict[str, Baseline]:
    """The baselines of a folder, by the releases that they are of ("pyspark-4.3.0"), oldest first."""
    return {
        path.stem: Baseline.read(path) for path in sorted(folder.glob("*.jsonl"), key=lambda path: _release(path.stem))
    }


def measured_in(run: Path, witnesses: Path) -> Measured:
    """What a run found that is kept as a baseline is, with the stored witnesses of a folder."""
    return Measured([Baseline.read(run)], {witness.id: witness for witness in read_witnesses(witnesses)})


def in_repository(witness: Witness) -> str:
    """Where the repository has the file of a witness, and the site as well."""
    return file_of(Path("witnesses"), witness).as_posix()


def measured_by(runs: Iterable[Results]) -> Measured:
    """What some runs found."""
    runs = list(runs)
    witnesses = {name: witness for run in runs for name, witness in run.witnesses.items()}
    return Measured([Baseline.of(run) for run in runs], witnesses)


def _release(name: str) -> tuple[str, Version]:
    package, _, number = name.rpartition("-")
    return package, Version(number)
