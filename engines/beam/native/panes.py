"""Beam's own transforms in the place of the programs of ``panes``: triggers, a side input, two outputs, and a grouping
behind batches.

One pipeline has a branch for each program. A pipeline that its runner cannot finish is the runner's answer: nothing in
it is ours.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import apache_beam as beam
from apache_beam.transforms import trigger, userstate, window
from apache_beam.transforms.timeutil import TimeDomain
from apache_beam.transforms.trigger import AccumulationMode

from conformance.engines.beam.native.outputs import Beside, Panes, Unbatched, event_of, now, pane
from conformance.engines.native import windows_of
from conformance.model.program import Program


def _windows(program: Program) -> Any:
    return window.FixedWindows(windows_of(program).size / 1000)


def _into(program: Program, fires: Any, mode: int = AccumulationMode.DISCARDING, lateness: float = 0) -> Any:
    return beam.WindowInto(_windows(program), trigger=fires, accumulation_mode=mode, allowed_lateness=lateness)


def _grouped(elements: Any, into: Any) -> Any:
    return elements | into | beam.GroupByKey() | beam.ParDo(Panes())


def early(elements: Any, program: Program) -> Any:
    enough = trigger.AfterCount(program.parameters["count"])
    return _grouped(elements, _into(program, trigger.AfterWatermark(early=enough)))


def either(elements: Any, program: Program) -> Any:
    enough = trigger.AfterCount(program.parameters["count"])
    return _grouped(elements, _into(program, trigger.Repeatedly(trigger.AfterAny(enough, trigger.AfterWatermark()))))


def accumulated(elements: Any, program: Program) -> Any:
    fires = trigger.AfterWatermark(early=trigger.AfterCount(program.parameters["count"]), late=trigger.AfterCount(1))
    lateness = windows_of(program).allowed_lateness / 1000
    return _grouped(elements, _into(program, fires, AccumulationMode.ACCUMULATING, lateness))


def never(elements: Any, program: Program) -> Any:
    more_than_come = trigger.Repeatedly(trigger.AfterCount(program.parameters["count"]))
    return _grouped(elements, _into(program, more_than_come))


def paused(elements: Any, program: Program) -> Any:
    fires = trigger.AfterWatermark(early=trigger.AfterProcessingTime(program.parameters["pause"] / 1000))
    windows = window.GlobalWindows()
    return _grouped(elements, beam.WindowInto(windows, trigger=fires, accumulation_mode=AccumulationMode.DISCARDING))


def beside_counts(elements: Any, program: Program) -> Any:
    windowed = elements | beam.WindowInto(_windows(program))
    counts = windowed | beam.combiners.Count.PerKey()
    return windowed | beam.ParDo(Beside(), beam.pvalue.AsDict(counts))


def two_outputs(elements: Any, program: Program) -> Any:
    windowed = elements | beam.WindowInto(_windows(program))
    both = windowed | beam.ParDo(Twofold()).with_outputs("end", main="now")
    return (both.now, both.end) | beam.Flatten()


def grouped_batches(elements: Any, program: Program) -> Any:
    windowed = elements | beam.WindowInto(_windows(program))
    batches = windowed | beam.GroupIntoBatches(program.parameters["batch"])
    return batches | "again" >> beam.GroupByKey() | beam.ParDo(Unbatched())


class Twofold(beam.DoFn):
    """Each element at once, and all of them by a timer at the end of the window."""

    ALL = userstate.BagStateSpec("all", beam.coders.FastPrimitivesCoder())
    END = userstate.TimerSpec("end", TimeDomain.WATERMARK)

    def process(
        self,
        element: Any,
        window: Any = beam.DoFn.WindowParam,
        kept: Any = beam.DoFn.StateParam(ALL),  # noqa: B008
        end: Any = beam.DoFn.TimerParam(END),  # noqa: B008
    ) -> Any:
        kept.add(event_of(element))
        end.set(window.end)
        yield now(element)

    @userstate.on_timer(END)  # type: ignore[untyped-decorator]
    def at_the_end(
        self,
        key: Any = beam.DoFn.KeyParam,
        window: Any = beam.DoFn.WindowParam,
        kept: Any = beam.DoFn.StateParam(ALL),  # noqa: B008
    ) -> Any:
        yield beam.pvalue.TaggedOutput("end", pane(key, kept.read(), window))


APPLIED = {
    "early": early,
    "either": either,
    "accumulated": accumulated,
    "never": never,
    "paused": paused,
    "beside counts": beside_counts,
    "two outputs": two_outputs,
    "grouped batches": grouped_batches,
}
"""By the name of the program."""


class Applied(beam.PTransform):
    """The transform of one of these programs."""

    def __init__(self, programs: Mapping[str, Program]) -> None:
        super().__init__()
        ((name, self._program),) = programs.items()
        self._apply = APPLIED[name.partition("/")[2]]

    def expand(self, elements: Any) -> Any:
        return self._apply(elements, self._program)
