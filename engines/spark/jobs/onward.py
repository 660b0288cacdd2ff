"""A job that goes on from copies of its checkpoint: damaged ones, and in next versions."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from conformance.engines.spark.checkpoint import copies, damages, settings
from conformance.engines.spark.jobs import moved
from conformance.engines.spark.refused.ended import ended_by
from conformance.engines.spark.runtime import session
from conformance.model.case import Case, program_ref
from conformance.model.damage import damage_of
from conformance.model.next_version import change_of, next_versions
from conformance.model.program import BEGUN_AGAIN, JobKind, Program, by_processing_time
from conformance.model.runs import Pack, PackRun
from conformance.model.values import Json

if TYPE_CHECKING:
    from conformance.engines.spark.jobs.connected import Beside
    from conformance.engines.spark.jobs.job import Job


def apart(pack: Pack, programs: Mapping[str, Program]) -> list[Pack]:
    """The parts of a pack that run as jobs of their own: each program with next versions, and the others."""
    parts: dict[str, list[Case]] = {}
    for case in pack.cases:
        ref = program_ref(case.scenario, case.program)
        parts.setdefault(ref if programs[ref].job is JobKind.NEXT_VERSION else "", []).append(case)
    return [Pack(tuple(cases)) for cases in parts.values()]


def joined(runs: list[PackRun]) -> PackRun:
    """The runs of such parts as one."""
    first, *rest = runs
    for run in rest:
        first = PackRun(
            {**first.traces, **run.traces},
            (*first.counts, *run.counts),
            first.untouched | run.untouched,
            {**first.notes, **run.notes},
        )
    return first


def rest(job: Job) -> PackRun:
    """The run of a job that was begun. Raises as ``Job.rest`` does."""
    return on_copies(job) if any(p.job in BEGUN_AGAIN for p in job.programs.values()) else job.rest()


def on_copies(job: Job) -> PackRun:
    """Go on from a copy of the checkpoint for each damage, and for each next version."""
    job.write_later()
    damaged: dict[str, list[Case]] = {}
    changed: dict[tuple[str, str], list[Case]] = {}
    for case in job.pack.cases:
        ref = program_ref(case.scenario, case.program)
        program = job.programs[ref]
        if program.job is JobKind.DAMAGE:
            damaged.setdefault(damage_of(case), []).append(case)
        else:
            changed.setdefault((ref, change_of(case, program)), []).append(case)
    ways: list[tuple[list[Case], copies.GoOn]]
    ways = [(cases, partial(_on_damaged, job, damage)) for damage, cases in damaged.items()]
    notes: dict[str, str] = {}
    ways += [(cases, partial(_in_another, job, which, notes)) for which, cases in changed.items()]
    return replace(copies.answers(job.pack, job.checkpoint, job.batches, job.rows, ways), notes=notes)


def _on_damaged(job: Job, damage: str, checkpoint: Path) -> tuple[copies.Rows, Json]:
    if damage:
        damages.inflict(checkpoint, damage, max(job.rows))
    rows, ended = job.go_on(checkpoint)
    return damages.of_planned(rows, len(job.batches)), ended and {"refused": next(iter(ended.values()))}


def _in_another(job: Job, which: tuple[str, str], notes: dict[str, str], checkpoint: Path) -> tuple[copies.Rows, Json]:
    """Go on with a next version of a program: (program, change). ``notes`` gets what became of a setting."""
    ref, change = which
    if change == "another client" and job.connected:
        return job.connected.go_on(job.folder, checkpoint)
    if change == "begun by another client" and job.connected:
        job = _begun(job, job.connected, checkpoint.with_name(f"{checkpoint.name}-begun"))
        rows, ended = next_version(job, ref, change).go_on(job.checkpoint)
        return {**job.rows, **rows}, ended
    later = next_version(job, ref, change)
    if change == "another API" and job.moved:
        return moved.go_on(later, job.moved, checkpoint)
    empty = session.NO_EMPTY_BATCHES if by_processing_time(later.programs.values()) else {}
    setting = settings.SETTINGS.get(later.change)
    if setting is None:
        with session.changed(job.spark, empty):
            return later.go_on(checkpoint)
    before = setting.used(checkpoint)
    asked = setting.another(before)
    refused = None
    with session.changed(job.spark, asked.conf):
        try:
            setting.ask(job.spark, checkpoint, asked.value)
        except Exception as error:
            refused = ended_by(error)
        rows, ended = later.go_on(checkpoint)
    notes[f"{ref}: {change}"] = settings.told(before, asked.value, setting.used(checkpoint), refused or ended)
    return rows, ended


def _begun(job: Job, client: Beside, folder: Path) -> Job:
    """The job, begun anew in a folder of its own by a client of Spark Connect."""
    begun = copy(job)
    begun.folder, begun.checkpoint = folder, folder / job.checkpoint.name
    client.begin(folder)
    begun.take_over()
    begun.write_later()
    return begun


def next_version(job: Job, ref: str, change: str) -> Job:
    """The job that goes on with the next version of a program. What it does not have is no change."""
    later, program = copy(job), job.programs[ref]
    there = next_versions(program)
    later.change = change if change in there else ""
    later.programs, later.mode = {ref: there.get(change, program)}, job.mode_of(later.change)
    return later
