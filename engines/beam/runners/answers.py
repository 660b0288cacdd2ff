"""What Beam's runners answer when they are asked for what they lack: the evidence behind "unsupported"."""

from __future__ import annotations

import argparse
import inspect
from typing import Any

import apache_beam as beam
from apache_beam.options.pipeline_options import DirectOptions, PipelineOptions, PrismRunnerOptions
from apache_beam.runners.direct.direct_runner import BundleBasedDirectRunner, DirectRunner
from apache_beam.runners.portability.fn_api_runner.fn_runner import FnApiRunner
from apache_beam.runners.portability.prism_runner import PrismRunner
from apache_beam.runners.runner import PipelineResult
from apache_beam.testing.test_stream import TestStream
from apache_beam.transforms import userstate
from apache_beam.transforms.timeutil import TimeDomain
from apache_beam.transforms.window import FixedWindows, TimestampedValue

from conformance.engines.beam.pipelines.checkpointing import SelfCheckpointing
from conformance.engines.beam.runners import environment
from conformance.model.feature import ON_A_CHECKPOINT, Feature

Runner = dict[str, Any]
"""Keyword arguments of a pipeline."""


def bundle_based() -> Runner:
    return {"runner": BundleBasedDirectRunner(), "options": PipelineOptions(["--streaming"])}


def of_prism(options: list[str]) -> dict[Feature, str]:
    """What Prism answers, given the options that lead to it."""

    def prism() -> Runner:
        return {"runner": PrismRunner(), "options": PipelineOptions(options)}

    return {
        Feature.RETRY: a_failing_bundle(prism()),
        Feature.MISFITS: a_text_in_a_number(prism()),
        Feature.COALESCED: an_advance_before_a_bundle(prism()),
        Feature.LATE_COUNTER: counters_after_a_late_element(prism()),
        Feature.PROCESSING_TIME: a_timer_in_processing_time(prism()),
        Feature.NO_DATA: an_event_without_elements(prism()),
        **of_local_runners(prism()),
    }


def of_local_runners(runner: Runner) -> dict[Feature, str]:
    """What all local runners answer alike, and what one of them counts. Their options name no checkpoint to write or to
    begin with; a state has no time to live."""
    parser = argparse.ArgumentParser(add_help=False)
    for options in (DirectOptions, PrismRunnerOptions):
        options._add_argparse_args(parser)
    names = sorted(name for action in parser._actions for name in action.option_strings)
    told = f"the options of its local runners are: {', '.join(names)}"
    asked = (
        Feature.PARTITIONS,
        Feature.RESTART,
        Feature.RESUME,
        Feature.SINK_FAILURE,
        Feature.CRASH,
        *ON_A_CHECKPOINT,
        Feature.INITIAL_STATE,
    )
    spec = userstate.ReadModifyWriteStateSpec
    result = ", ".join(name for name in dir(PipelineResult) if not name.startswith("_"))
    params = ", ".join(name for name in dir(beam.DoFn) if name.endswith("Param"))
    return dict.fromkeys(asked, told) | {
        Feature.CURRENT_TIME: f"a DoFn is given: {params}",
        Feature.TTL: f"a state is declared by {spec.__name__}{inspect.signature(spec)}",
        Feature.INSPECTION: f"the result of a pipeline has: {result}",
        Feature.ROW_COUNT: metrics_of_a_stateful_pipeline(runner),
    }


def of_direct_runner(options: list[str]) -> dict[Feature, str]:
    """What plain DirectRunner answers, given the options for bounded input."""

    def direct() -> Runner:
        return {"runner": DirectRunner(), "options": PipelineOptions(options)}

    seen.clear()
    pipeline = beam.Pipeline(**direct())
    pipeline | beam.Create([("k", "first"), ("k", "second"), ("k", "third")], reshuffle=False) | beam.ParDo(_Bundles())
    pipeline.run().wait_until_finish()
    streaming = beam.Pipeline(runner=DirectRunner(), options=PipelineOptions(["--streaming"]))
    streaming | TestStream().add_elements([1]).advance_watermark_to_infinity()
    result = streaming.run()
    result.wait_until_finish()
    stream = f"a TestStream ran on {environment.ran_on(result)}"
    return {
        Feature.SEVERAL_BUNDLES: f"3 elements came in {seen.count('bundle')} bundle",
        Feature.WATERMARK: stream,
        Feature.COALESCED: stream,
        Feature.RETRY: a_failing_bundle(direct()),
        Feature.MISFITS: a_text_in_a_number(direct()),
        Feature.LATE_COUNTER: counters_after_bounded_input(direct()),
        Feature.PROCESSING_TIME: stream,
        Feature.NO_DATA: stream,
        **of_local_runners(direct()),
    }


class _Bundles(beam.DoFn):
    """Stateful, and counts its bundles."""

    LAST = userstate.ReadModifyWriteStateSpec("last", beam.coders.StrUtf8Coder())

    def start_bundle(self) -> None:
        seen.append("bundle")

    def process(self, element: Any, last: Any = beam.DoFn.StateParam(LAST)) -> None:  # noqa: B008
        last.write(element[1])


def counters_after_a_late_element(runner: Runner) -> str:
    """The names of all counters after a late element reached an expired window and a GroupByKey."""
    stream = TestStream().advance_watermark_to(100).add_elements([TimestampedValue(("k", 1), 5)])
    typed = beam.Map(_same).with_output_types(tuple[str, int])
    return "after a late element, " + _counters(beam.Pipeline(**runner), stream, typed)


def counters_after_bounded_input(runner: Runner) -> str:
    """The names of all counters after a GroupByKey; no element can be late on bounded input."""
    return "after bounded input, " + _counters(beam.Pipeline(**runner), beam.Create([("k", 1)]))


def metrics_of_a_stateful_pipeline(runner: Runner) -> str:
    """The names of all metrics of a pipeline whose DoFn keeps a value."""
    pipeline = beam.Pipeline(**runner)
    pipeline | beam.Create([("k", "stored")], reshuffle=False) | beam.ParDo(_Bundles())
    result = pipeline.run()
    result.wait_until_finish()
    found = result.metrics().query()
    names = sorted({metric.key.metric.name for kind in found.values() for metric in kind})
    return f"the metrics of a pipeline with state are: {', '.join(names) or 'none'}"


def _same(element: Any) -> Any:
    return element


def _counters(pipeline: beam.Pipeline, *source: beam.PTransform) -> str:
    elements = pipeline
    for transform in source:
        elements = elements | transform
    elements | beam.WindowInto(FixedWindows(10)) | beam.GroupByKey()
    result = pipeline.run()
    result.wait_until_finish()
    names = sorted({counter.key.metric.name for counter in result.metrics().query()["counters"]})
    return f"its counters are: {', '.join(names) or 'none'}"


class _TimerAndElement(beam.DoFn):
    """Sets a timer for 10 s at its first element, and records the order of elements and timers."""

    TIMER = userstate.TimerSpec("timer", TimeDomain.WATERMARK)

    def process(self, element: Any, timer: Any = beam.DoFn.TimerParam(TIMER)) -> None:  # noqa: B008
        if element[1] == "first":
            timer.set(10)
        seen.append(f"{element[1]} element")

    @userstate.on_timer(TIMER)  # type: ignore[untyped-decorator]
    def fired(self) -> None:
        seen.append("timer")


class _ProcessingTimer(beam.DoFn):
    """The same in processing time. Beam finds a timer by the default of a method's parameter, which no base class can
    leave open."""

    TIMER = userstate.TimerSpec("timer", TimeDomain.REAL_TIME)

    def process(self, element: Any, timer: Any = beam.DoFn.TimerParam(TIMER)) -> None:  # noqa: B008
        if element[1] == "first":
            timer.set(10)
        seen.append(f"{element[1]} element")

    @userstate.on_timer(TIMER)  # type: ignore[untyped-decorator]
    def fired(self) -> None:
        seen.append("timer")


seen: list[str] = []
"""What the DoFns below saw, in order."""


def an_advance_before_a_bundle(runner: Runner) -> str:
    """The order of a timer that an advance makes due, and of the element right after that advance."""
    stream = TestStream().add_elements([TimestampedValue(("k", "first"), 1)])
    stream.advance_watermark_to(20).add_elements([TimestampedValue(("k", "second"), 30)]).advance_watermark_to(40)
    return _order(runner, stream, _TimerAndElement())


def a_timer_in_processing_time(runner: Runner) -> str:
    """The order of a timer that 20 s of TestStream's processing time make due, and of the element after them."""
    stream = TestStream().add_elements([TimestampedValue(("k", "first"), 1)]).advance_processing_time(20)
    stream.add_elements([TimestampedValue(("k", "second"), 2)]).advance_watermark_to_infinity()
    return _order(runner, stream, _ProcessingTimer())


def an_event_without_elements(runner: Runner) -> str:
    """The bundles of a stateful DoFn that a stream of an element and of an event without elements leads to."""
    stream = TestStream().add_elements([TimestampedValue(("k", "first"), 1)]).advance_watermark_to(20)
    stream.add_elements([]).advance_watermark_to_infinity()
    return f"of an element and an event without elements, {_order(runner, stream, _Bundles())}"


def _order(runner: Runner, stream: TestStream, dofn: beam.DoFn) -> str:
    """The order in which a DoFn saw the elements and timers of a stream, or the runner's error."""
    seen.clear()
    pipeline = beam.Pipeline(**runner)
    pipeline | stream | _typed() | beam.ParDo(dofn)
    try:
        pipeline.run().wait_until_finish()
    except Exception as error:
        return f"{type(error).__name__}: {error}".splitlines()[0][:200]
    return f"the order was: {', '.join(seen)}"


def _typed() -> beam.PTransform:
    return beam.Map(_same).with_output_types(tuple[str, str])


class _FailsOnce(beam.DoFn):
    def process(self, element: object) -> None:
        seen.append("attempt")
        if len(seen) == 1:
            raise RuntimeError("the first attempt fails")


def a_failing_bundle(runner: Runner) -> str:
    """What a runner does with a bundle whose first attempt fails."""
    seen.clear()
    pipeline = beam.Pipeline(**runner)
    pipeline | beam.Create([1]) | beam.ParDo(_FailsOnce())
    try:
        pipeline.run().wait_until_finish()
    except Exception as error:
        return f"after {len(seen)} attempt: {str(error).strip().splitlines()[-1][:200]}"
    return f"no error after {len(seen)} attempts"


class _WritesAText(beam.DoFn):
    """Writes a text into the state of a number."""

    NUMBER = userstate.ReadModifyWriteStateSpec("number", beam.coders.VarIntCoder())

    def process(self, element: Any, number: Any = beam.DoFn.StateParam(NUMBER)) -> None:  # noqa: B008
        number.write(element[1])
        seen.append("the write returned")


def a_text_in_a_number(runner: Runner) -> str:
    """What becomes of a text that is written into the state of a number."""
    seen.clear()
    pipeline = beam.Pipeline(**runner)
    pipeline | beam.Create([("k", "text")]) | _typed() | beam.ParDo(_WritesAText())
    try:
        pipeline.run().wait_until_finish()
    except Exception as error:
        return f"{', '.join(seen)}, then: {str(error).strip().splitlines()[-1][:200]}"
    return f"{', '.join(seen)}, no error"


def test_stream_on_fn_api_runner() -> str:
    """The error of FnApiRunner when it is given a TestStream."""
    pipeline = beam.Pipeline(runner=FnApiRunner(), options=PipelineOptions(["--streaming"]))
    pipeline | TestStream().add_elements([1]).advance_watermark_to_infinity()
    try:
        pipeline.run().wait_until_finish()
    except Exception as error:
        return f"{type(error).__name__}: {error}".splitlines()[0][:200]
    return "no error"


def a_source_of_two_bundles_on_fn_api_runner() -> str:
    """What becomes of two bundles of a source that reports the watermark 1 s, on the way to a stateful DoFn that sets a
    timer for 10 s: directly, and behind a side input that keeps it out of the source's stage."""
    bundles = [(1, [(("k", "first"), 1)]), (1, [(("k", "second"), 2)])]
    orders = []
    for apart in (False, True):
        seen.clear()
        pipeline = beam.Pipeline(runner=FnApiRunner())
        elements = pipeline | beam.Create([bundles], reshuffle=False) | beam.ParDo(SelfCheckpointing()) | _typed()
        if apart:
            nothing = beam.pvalue.AsIter(elements | beam.Filter(_never))
            elements = elements | "apart" >> beam.Map(_first, nothing).with_output_types(tuple[str, str])
        elements | beam.ParDo(_TimerAndElement())
        pipeline.run().wait_until_finish()
        orders.append(", ".join(seen))
    return f"the order was: {orders[0]}; in a stage of its own: {orders[1]}"


def _never(element: Any) -> bool:
    return False


def _first(element: Any, nothing: Any) -> Any:
    return element
