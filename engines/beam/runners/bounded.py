"""Bounded input of one bundle, for the runners that get no TestStream: the watermark is at -infinity until the input
ends, then it goes to +infinity and every timer fires.

So the schedules are those of one bundle: the first advance is the state before any input, the last is the end of the
input.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Protocol

import apache_beam as beam
from apache_beam.transforms.window import TimestampedValue

from conformance.engines.beam.pipelines import pipeline as shared
from conformance.engines.beam.pipelines import sink
from conformance.engines.beam.pipelines.collecting import collected, emission
from conformance.engines.beam.pipelines.sink import Kind
from conformance.engines.beam.pipelines.typed_keys import Typed
from conformance.engines.beam.plans import around
from conformance.engines.beam.plans.around import BeamPlan
from conformance.engines.beam.runners import beside
from conformance.engines.typed_keys import types_in_use
from conformance.model.case import program_ref
from conformance.model.engine import NotDriven
from conformance.model.program import Program
from conformance.model.runs import Pack, PackRun
from conformance.model.trace import Emission


class Finish(Protocol):
    """Is given what builds a pipeline, and options beside its own, runs the pipeline to its end, and returns a note on
    how it ran (none: "")."""

    def __call__(self, build: Callable[[beam.Pipeline], None], options: Sequence[str] = ()) -> str: ...


Apply = Callable[[shared.Branch], Any]
"""Is given a branch, and returns what comes out of it."""


def run(
    pack: Pack,
    groups: Iterable[Mapping[str, Program]],
    finish: Finish,
    apply: Apply = shared.Branch.run_programs,
    plan: BeamPlan = around.PLAIN,
    native: bool = False,
) -> PackRun:
    """Run a pack in a pipeline for each group of programs, which are of one windowing, with a plan around the
    transform. Where all in it is Beam's own (``native``), a failure of the pipeline is an answer, and no stateful DoFn
    says what it was handed.

    Raises:
        NotDriven: the schedule is not of one bundle, or its elements did not come in as it has them.
    """
    if len(around.driven(pack)) != 3:
        raise NotDriven(
            f"a schedule of {len(around.driven(pack))} steps cannot be driven on bounded input; it takes one bundle"
        )
    emissions: dict[str, list[Emission]] = {case.id: [] for case in pack.cases}
    groups = tuple(groups)
    types = types_in_use(pack, {name: program for group in groups for name, program in group.items()})
    notes: dict[str, str] = {}
    for programs, typed in (part for group in groups for part in shared.by_key(group, types)):
        cases = Pack(tuple(case for case in pack.cases if program_ref(case.scenario, case.program) in programs))
        rows = _rows(cases, typed)
        seen = sink.Collected()
        with sink.collecting(seen):
            try:
                with beside.another(finish, plan.beside):
                    note = finish(partial(_build, rows, programs, typed, apply, plan), plan.options)
            except Exception as error:
                if not native:
                    return around.failed(pack, plan, error)
                for case in cases.cases:
                    emissions[case.id] = [around.ended(case, error)]
                continue
        notes |= dict.fromkeys(programs, note) if note else {}
        _prove_inputs(rows, seen)
        to_come = 0 if native else _prove_handed(rows, seen)
        for name, one in _emissions(cases, programs, seen, to_come):
            emissions[name].append(one)
    return replace(collected(pack, emissions), notes=notes)


def _rows(pack: Pack, typed: Typed | None) -> list[TimestampedValue]:
    """The elements of a pack; those with keys of one type, if ``typed`` has one."""
    bundle = around.driven(pack)[1].id
    rows = [shared.element(case, event, bundle) for case, event in pack.bundle(bundle)]
    return [row for row in rows if typed is None or typed.has(row.value)]


def _build(
    rows: list[TimestampedValue],
    programs: Mapping[str, Program],
    typed: Typed | None,
    apply: Apply,
    plan: BeamPlan,
    pipeline: beam.Pipeline,
) -> None:
    (windowing,) = {program.windowing for program in programs.values()}
    created = pipeline | beam.Create([(row.value, row.timestamp) for row in rows], reshuffle=False)
    elements = created | beam.MapTuple(TimestampedValue) | shared.typed()
    elements | "see inputs" >> beam.ParDo(sink.Inputs())
    branch = shared.Branch(plan.before(elements), windowing, programs, typed)
    plan.behind(apply(branch)) | "see outputs" >> beam.ParDo(sink.Outputs())


def _wanted(given: list[TimestampedValue]) -> list[tuple[str, str]]:
    return [(row.value[0][1], row.value[1][1]) for row in given]


def _prove_inputs(given: list[TimestampedValue], seen: sink.Collected) -> None:
    rows = [(element[0][1], element[1][1]) for element in seen.of(Kind.INPUT)]
    if rows != _wanted(given):
        raise NotDriven(f"{len(given)} elements were to be delivered in order, {len(rows)} came in")


def _prove_handed(given: list[TimestampedValue], seen: sink.Collected) -> int:
    """How many elements a stateful DoFn was handed: all of them, in one bundle."""
    handed = seen.of(Kind.HANDED)
    if Counter((element.key[1], element.event) for element in handed) != Counter(_wanted(given)):
        raise NotDriven(f"the stateful DoFn was handed {len(handed)} elements, the bundle has {len(given)}")
    if len(bundles := {element.bundle for element in handed}) > 1:
        raise NotDriven(f"the stateful DoFn was handed one bundle in {len(bundles)}")
    return len(given)


def _emissions(
    pack: Pack, programs: Mapping[str, Program], seen: sink.Collected, to_come: int
) -> Iterator[tuple[str, Emission]]:
    """(case, emission) of everything that came out, in order. A stateful DoFn was handed ``to_come`` elements."""
    end = around.driven(pack)[2].id
    for kind, what in seen.seen:
        if kind is Kind.HANDED:
            to_come -= 1
        elif kind is Kind.OUTPUT:
            (program, case, key, caused_in, output), time = what
            if caused_in is None and to_come:
                raise NotDriven(f"a timer fired with {to_come} elements to come")
            step = end if caused_in is None else caused_in
            yield case, emission(programs[program], key, output, step, time)
