"""What Beam's runners answer when they are asked for what they lack: the evidence behind "unsupported"."""

from __future__ import annotations

import argparse
from typing import Any

import apache_beam as beam
from apache_beam.options.pipeline_options import DirectOptions, PipelineOptions
from apache_beam.runners.direct.direct_runner import BundleBasedDirectRunner
from apache_beam.runners.portability.fn_api_runner.fn_runner import FnApiRunner
from apache_beam.testing.test_stream import TestStream
from apache_beam.transforms import userstate
from apache_beam.transforms.timeutil import TimeDomain
from apache_beam.transforms.window import FixedWindows, TimestampedValue


def counters_on_bundle_based_runner() -> str:
    """The names of all counters after a late element reached an expired window and a GroupByKey."""
    pipeline = beam.Pipeline(runner=BundleBasedDirectRunner(), options=PipelineOptions(["--streaming"]))
    stream = TestStream().advance_watermark_to(100).add_elements([TimestampedValue(("k", 1), 5)])
    return "after a late element, " + _counters(pipeline, stream)


def counters_on_fn_api_runner() -> str:
    """The names of all counters after a GroupByKey; no element can be late on this runner's bounded input."""
    pipeline = beam.Pipeline(runner=FnApiRunner())
    return "after bounded input, " + _counters(pipeline, beam.Create([("k", 1)]))


def _counters(pipeline: beam.Pipeline, source: beam.PTransform) -> str:
    pipeline | source | beam.WindowInto(FixedWindows(10)) | beam.GroupByKey()
    result = pipeline.run()
    result.wait_until_finish()
    names = sorted({counter.key.metric.name for counter in result.metrics().query()["counters"]})
    return f"its counters are: {', '.join(names) or 'none'}"


class _TimerAndElement(beam.DoFn):
    """Sets a timer for 10 s at its first element, and says in which order things come."""

    TIMER = userstate.TimerSpec("timer", TimeDomain.WATERMARK)

    def process(self, element: Any, timer: Any = beam.DoFn.TimerParam(TIMER)) -> None:  # noqa: B008
        if element[1] == "first":
            timer.set(10)
        seen.append(f"{element[1]} element")

    @userstate.on_timer(TIMER)  # type: ignore[untyped-decorator]
    def fired(self) -> None:
        seen.append("timer")


seen: list[str] = []
"""What the probes' DoFns saw, in order."""


def an_advance_before_a_bundle() -> str:
    """The order of a timer that an advance makes due, and of the element right after that advance."""
    seen.clear()
    pipeline = beam.Pipeline(runner=BundleBasedDirectRunner(), options=PipelineOptions(["--streaming"]))
    stream = TestStream().add_elements([TimestampedValue(("k", "first"), 1)])
    stream.advance_watermark_to(20).add_elements([TimestampedValue(("k", "second"), 30)]).advance_watermark_to(40)
    typed = beam.Map(lambda pair: pair).with_output_types(tuple[str, str])
    pipeline | stream | typed | beam.ParDo(_TimerAndElement())
    pipeline.run(test_runner_api=False).wait_until_finish()
    return f"the order was: {', '.join(seen)}"


class _FailsOnce(beam.DoFn):
    def process(self, element: object) -> None:
        seen.append("attempt")
        if len(seen) == 1:
            raise RuntimeError("the first attempt fails")


def a_failing_bundle_on_fn_api_runner() -> str:
    """What FnApiRunner does with a bundle whose first attempt fails."""
    seen.clear()
    pipeline = beam.Pipeline(runner=FnApiRunner())
    pipeline | beam.Create([1]) | beam.ParDo(_FailsOnce())
    try:
        pipeline.run().wait_until_finish()
    except Exception as error:
        return f"after {len(seen)} attempt: {str(error).strip().splitlines()[-1][:200]}"
    return f"no error after {len(seen)} attempts"


def test_stream_on_fn_api_runner() -> str:
    """The error of FnApiRunner when it is given a TestStream."""
    pipeline = beam.Pipeline(runner=FnApiRunner(), options=PipelineOptions(["--streaming"]))
    pipeline | TestStream().add_elements([1]).advance_watermark_to_infinity()
    try:
        pipeline.run().wait_until_finish()
    except Exception as error:
        return f"{type(error).__name__}: {error}".splitlines()[0][:200]
    return "no error"


def options_of_direct_runners() -> str:
    """The options of Beam's local runners: none of them names a checkpoint to write or to resume from."""
    parser = argparse.ArgumentParser(add_help=False)
    DirectOptions._add_argparse_args(parser)
    names = sorted(name for action in parser._actions for name in action.option_strings)
    return f"the options of its local runners are: {', '.join(names)}"
