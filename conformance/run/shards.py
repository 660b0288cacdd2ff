"""Shards: one run on several machines, and the results of all of them.

Every shard generates the same cases and takes a share of the engines, by expected cost. An engine that would take
longer than a shard should is shared by several, pack by pack. A shard leaves the traces that its engines gave.
``merged`` runs what was asked for once more, with these traces in the place of engines. So merged results come about
like those of a run on one machine, and verdicts see all evidence. Engines are asked for what is left: to confirm the
violations of an engine that several shards shared.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from conformance.execution.kept import Kept
from conformance.execution.process import ENGINES
from conformance.model.values import Json
from conformance.plugins.registry import load_engine, load_scenarios
from conformance.plugins.source import JUDGING, harness_digest
from conformance.results.record import KeptRecord
from conformance.results.results import Results
from conformance.run.options import Excerpt, KeptTraces, Options, Part
from conformance.support.reading import BadInput
from conformance.support.writing import write_whole

FILE, TRACES = "shard.json", "kept"
"""The description of a shard in its folder, and the folder of its traces there."""

PLAIN = ("wanted", "seed", "brief")
"""The options that a description has as they are."""


class UnusableShards(BadInput):
    """Folders do not hold the shards of one run. The message says why."""


def parts_of(engines: Sequence[str], number: int, of: int) -> dict[str, Part]:
    """Engine -> its part in shard ``number`` of ``of``, counted from 1. The same arguments give the same parts on every
    machine."""
    cost = {engine: _cost(engine) for engine in engines}
    shared = dict.fromkeys(engines, 1)
    while sum(shared.values()) < of:
        dearest = max(engines, key=lambda engine: cost[engine] / shared[engine])
        shared[dearest] += 1
    load = [0.0] * of
    mine: dict[str, list[int]] = {}
    for engine in sorted(engines, key=lambda engine: -cost[engine] / shared[engine]):
        for part in range(shared[engine]):
            lightest = load.index(min(load))
            load[lightest] += cost[engine] / shared[engine]
            if lightest == number - 1:
                mine.setdefault(engine, []).append(part)
    return {engine: Part(tuple(mine[engine]), shared[engine]) for engine in engines if engine in mine}


def _cost(engine: str) -> float:
    """The expected seconds of an engine in a run, roughly: only their relation counts."""
    can = load_engine(engine).capabilities
    return (30.0 if can.heavy else 10.0) * (can.each if can.native_operator else 4 * can.each)


def shard_of(options: Options, number: int, of: int) -> Options:
    """What shard ``number`` of ``of`` of a run is asked to do."""
    parts = parts_of(options.engines, number, of)
    subjects = options.subjects if number == 1 else ()
    traces = replace(options.traces, out=options.out / TRACES)
    return replace(options, engines=tuple(parts), parts=parts, subjects=subjects, traces=traces)


def leave(options: Options, number: int, of: int, results: Results) -> None:
    """Writes the description of a shard, for ``Shards.read``. ``options`` are those of the whole run, ``results`` the
    shard's."""
    kept = Kept(options.out / TRACES)
    found = {path.stem: kept.data(f"{ENGINES}/{path.stem}") for path in (kept.folder / ENGINES).glob("*.json")}
    told = {
        "shard": [number, of],
        "harness": harness_digest(JUDGING),
        "options": {
            "engines": list(options.engines),
            "scenarios": [scenario.id for scenario in options.scenarios],
            "subjects": list(options.subjects),
            "rows": options.excerpt.rows,
            "perturbations": list(options.excerpt.perturbations),
            "given": options.cases_from is not None,
            **{name: getattr(options, name) for name in PLAIN},
        },
        "cases": results.run.cases_digest,
        "stored_witnesses": results.run.stored_witnesses,
        "shelves": {data["engine"]: name for name, data in sorted(found.items()) if data},
        "kept": {name: [record.kept.answers, record.kept.oldest] for name, record in results.environment.items()},
    }
    write_whole(options.out / FILE, json.dumps(told, indent=1) + "\n")


@dataclass(frozen=True)
class Shards:
    """The shards of one run, in their folders."""

    folders: tuple[Path, ...]
    told: tuple[Mapping[str, Any], ...]

    @classmethod
    def read(cls, folders: Iterable[Path]) -> Shards:
        """Raises UnusableShards: a folder holds no shard, a shard is missing, or the shards are not of one run."""
        folders = tuple(folders)
        told = tuple(_told(folder) for folder in folders)
        of = told[0]["shard"][1]
        there = sorted(shard["shard"][0] for shard in told)
        if there != list(range(1, of + 1)):
            raise UnusableShards(f"there are {of} shards, and these are number {', '.join(map(str, there))}")
        for folder, shard in zip(folders, told, strict=True):
            for about in ("harness", "options", "cases", "stored_witnesses"):
                if shard[about] != told[0][about]:
                    raise UnusableShards(f"{folder} is a shard of another run than {folders[0]}: {about} differ")
        if told[0]["harness"] != harness_digest(JUDGING):
            raise UnusableShards(f"{folders[0]} was made by another version of the harness")
        return cls(folders, told)

    def options(self, out: Path, witnesses: Path, timeout: float) -> Options:
        """The run that the shards are shares of. Raises UnknownName."""
        asked = self.told[0]["options"]
        return Options(
            engines=tuple(asked["engines"]),
            scenarios=tuple(load_scenarios(asked["scenarios"])),
            out=out,
            subjects=tuple(asked["subjects"]),
            excerpt=Excerpt(asked["rows"], tuple(asked["perturbations"])),
            cases_from=self.folders[0] if asked["given"] else None,
            witnesses=(witnesses,),
            timeout=timeout,
            **{name: asked[name] for name in PLAIN},
            traces=KeptTraces(
                out / TRACES,
                beside=tuple(folder / TRACES for folder in self.folders),
                shelves={name: shelf for shard in self.told for name, shelf in shard["shelves"].items()},
            ),
        )

    def checked(self, results: Results) -> Results:
        """The merged results, with the age of evidence as the shards tell it.

        Raises:
            UnusableShards: the cases or the stored witnesses are not those of the shards.
        """
        for about, found in (("cases", results.run.cases_digest), ("stored_witnesses", results.run.stored_witnesses)):
            if found != self.told[0][about]:
                raise UnusableShards(f"{about.replace('_', ' ')} differ from those of the shards")
        ages: dict[str, KeptRecord] = {}
        for shard in self.told:
            for name, (answers, oldest) in shard["kept"].items():
                before = ages.get(name, KeptRecord())
                days = [day for day in (before.oldest, oldest) if day]
                ages[name] = KeptRecord(before.answers + answers, min(days, default=""))
        environment = {name: replace(r, kept=ages.get(name, KeptRecord())) for name, r in results.environment.items()}
        return replace(results, environment=environment)


def _told(folder: Path) -> Mapping[str, Json]:
    try:
        found: Mapping[str, Json] = json.loads((folder / FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise UnusableShards(f"{folder} is not the folder of a shard: it has no readable {FILE}") from None
    return found
