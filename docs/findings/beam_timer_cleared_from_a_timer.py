"""Beam 2.77.0, all local runners: a timer that another timer's callback clears fires all the same.

One advance of the watermark makes both timers due. With arguments (--prism_location=PATH) the script runs on
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


class OneClearsTheOther(beam.DoFn):
    TIMER = userstate.TimerSpec("timer", TimeDomain.WATERMARK)

    def process(self, element, timer=beam.DoFn.TimerParam(TIMER)):
        timer.set(10, dynamic_timer_tag="first")
        timer.set(20, dynamic_timer_tag="second")

    @userstate.on_timer(TIMER)
    def fired(self, timer=beam.DoFn.TimerParam(TIMER), tag=beam.DoFn.DynamicTimerTagParam):
        if tag == "first":
            timer.clear(dynamic_timer_tag="second")
        yield f"the {tag} timer fired"


def stream():
    return TestStream().add_elements([TimestampedValue(("key", 1), 1)]).advance_watermark_to(100)


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
        | beam.ParDo(OneClearsTheOther())
        | beam.Map(print)
    )
    pipeline.run().wait_until_finish()
