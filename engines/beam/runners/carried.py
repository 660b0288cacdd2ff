"""A TestStream for Prism: each element is a whole step, which the pipeline takes apart; timers show where the watermark
is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import apache_beam as beam
from apache_beam.coders import FastPrimitivesCoder
from apache_beam.testing.test_stream import TestStream
from apache_beam.transforms import userstate
from apache_beam.transforms.timeutil import TimeDomain
from apache_beam.transforms.window import TimestampedValue
from apache_beam.utils.timestamp import Timestamp

from conformance.engines.beam.pipelines import pipeline as shared
from conformance.engines.beam.pipelines import sink
from conformance.engines.beam.pipelines.checkpointing import SelfCheckpointing
from conformance.engines.beam.pipelines.sink import Kind
from conformance.engines.beam.plans import around
from conformance.engines.typed_keys import types_in_use
from conformance.model.program import Program
from conformance.model.runs import Pack
from conformance.model.schedule import Advance

START = -1
"""The step of the first element; it sets the timers that show the watermark."""


def marks(pack: Pack) -> list[int]:
    """The times (ms) of those timers: each watermark, which is to be reached, and the millisecond after it, which is
    not."""
    watermarks = [step.watermark for step in pack.timeline if isinstance(step, Advance)]
    return sorted({*watermarks, *(watermark + 1 for watermark in watermarks)})


def stream(pack: Pack) -> TestStream:
    """For each step, what it does and a heartbeat. An element is (step, rows); a heartbeat has no rows."""
    events = TestStream(coder=FastPrimitivesCoder())
    events.add_elements([_carrier(START, marks(pack), 0)])
    watermark = 0
    for step in around.driven(pack):
        if isinstance(step, Advance):
            watermark = step.watermark
            events.advance_watermark_to(Timestamp(micros=watermark * 1000))
        else:
            rows = [shared.element(case, event, step.id) for case, event in pack.bundle(step.id)]
            events.add_elements([_carrier(step.id, [(row.value, row.timestamp.micros) for row in rows], watermark)])
        events.add_elements([_carrier(step.id, None, watermark)])
    return events


def _carrier(step: int, rows: Any, watermark: int) -> TimestampedValue:
    return TimestampedValue(("", (step, rows)), Timestamp(micros=watermark * 1000))


def build(
    pipeline: beam.Pipeline,
    pack: Pack,
    programs: Mapping[str, Program],
    apply: Callable[[shared.Branch], Any] = shared.Branch.run_programs,
    plan: around.BeamPlan = around.PLAIN,
    apart: bool = False,
) -> None:
    """``apply`` is given a branch, and returns what comes out of it. ``plan`` stands around the transform. ``apart`` is
    as ``branches`` has it."""
    idle = pipeline | beam.Impulse() | "idle" >> beam.Map(_nothing_to_come)
    idle | "checkpoints itself" >> beam.ParDo(SelfCheckpointing())
    steps = pipeline | "schedule" >> stream(pack)
    keyed = steps | "keyed" >> beam.Map(_same).with_output_types(tuple[str, Any])
    keyed | "show the watermark" >> beam.ParDo(ShowWatermark())
    elements = steps | "take apart" >> beam.ParDo(TakeApart()).with_output_types(shared.ELEMENT)
    elements | "see inputs" >> beam.ParDo(sink.Inputs())
    for branch in shared.branches(plan.before(elements), programs, types_in_use(pack, programs), apart):
        plan.behind(apply(branch)) | f"see {branch.name}" >> beam.ParDo(sink.Outputs())


def _nothing_to_come(_: bytes) -> list[tuple[int, list[Any]]]:
    """Two bundles without elements, as ``SelfCheckpointing`` takes them."""
    return [(0, []), (0, [])]


def _same(element: Any) -> Any:
    return element


class TakeApart(beam.DoFn):
    """The elements of a bundle, in order."""

    def process(self, element: Any) -> Iterator[TimestampedValue]:
        _, (step, rows) = element
        if step == START:
            return
        if rows is None:
            sink.note(Kind.HEARTBEAT, step)
            return
        for value, micros in rows:
            yield TimestampedValue(value, Timestamp(micros=micros))


class ShowWatermark(beam.DoFn):
    """Says which of the times that it was given the watermark has reached."""

    TIMER = userstate.TimerSpec("timer", TimeDomain.WATERMARK)

    def process(self, element: Any, timer: Any = beam.DoFn.TimerParam(TIMER)) -> None:  # noqa: B008
        _, (step, times) = element
        if step == START:
            for time in times:
                timer.set(Timestamp(micros=time * 1000), dynamic_timer_tag=str(time))

    @userstate.on_timer(TIMER)  # type: ignore[untyped-decorator]
    def reached(self, tag: Any = beam.DoFn.DynamicTimerTagParam) -> Iterable[Any]:
        sink.note(Kind.WATERMARK, int(tag))
        return ()
