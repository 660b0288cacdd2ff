"""Beam 2.77.0: a timer that another timer's callback moves fires at its old time and at its new one.

One advance of the watermark makes both timers due. The callback of the timer at 10 s moves the other timer from 20 s to
200 s. The watermark moves to 100 s and then to 300 s. With arguments (--prism_location=PATH) the script runs on
PrismRunner as well.
"""

import sys

import apache_beam as beam
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.runners.direct.direct_runner import BundleBasedDirectRunner
from apache_beam.runners.portability.fn_api_runner.fn_runner import FnApiRunner
from apache_beam.runners.portability.prism_runner import PrismRunner
from apache_beam.testing.test_stream import TestStream
from apache_beam.transforms import userstate
from apache_beam.transforms.timeutil import TimeDomain
from apache_beam.transforms.window import TimestampedValue


class OneMovesTheOther(beam.DoFn):
    TIMER = userstate.TimerSpec("timer", TimeDomain.WATERMARK)

    def process(self, element, timer=beam.DoFn.TimerParam(TIMER)):
        timer.set(10, dynamic_timer_tag="first")
        timer.set(20, dynamic_timer_tag="second")

    @userstate.on_timer(TIMER)
    def fired(
        self,
        timer=beam.DoFn.TimerParam(TIMER),
        tag=beam.DoFn.DynamicTimerTagParam,
        time=beam.DoFn.TimestampParam,
    ):
        if tag == "first":
            timer.set(200, dynamic_timer_tag="second")
        yield f"the {tag} timer fired for {time}"


def stream():
    element = TimestampedValue(("key", 1), 1)
    return TestStream().add_elements([element]).advance_watermark_to(100).advance_watermark_to(300)


bounded = beam.Create([("key", 1)])
for runner, source, options in (
    (BundleBasedDirectRunner(), stream(), ["--streaming"]),
    (FnApiRunner(), bounded, []),
    *([(PrismRunner(), stream(), ["--streaming", *sys.argv[1:]])] if sys.argv[1:] else []),
):
    print(type(runner).__name__)
    pipeline = beam.Pipeline(runner=runner, options=PipelineOptions(options))
    (
        pipeline
        | source
        | beam.Map(lambda pair: pair).with_output_types(tuple[str, int])
        | beam.ParDo(OneMovesTheOther())
        | beam.Map(print)
    )
    pipeline.run().wait_until_finish()
