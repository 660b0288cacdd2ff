"""Beam 2.77.0, bundle-based DirectRunner: a stateful DoFn gets elements whose window expired, and its timers fire again."""

import apache_beam as beam
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.runners.direct.direct_runner import BundleBasedDirectRunner
from apache_beam.testing.test_stream import TestStream
from apache_beam.transforms import trigger, userstate
from apache_beam.transforms.timeutil import TimeDomain
from apache_beam.transforms.window import FixedWindows, TimestampedValue


class Count(beam.DoFn):
    COUNT = userstate.CombiningValueStateSpec("count", sum)
    END = userstate.TimerSpec("end", TimeDomain.WATERMARK)

    def process(self, element, count=beam.DoFn.StateParam(COUNT), end=beam.DoFn.TimerParam(END)):
        count.add(1)
        end.set(15)
        yield f"processed {element[1]}"

    @userstate.on_timer(END)
    def expire(self, count=beam.DoFn.StateParam(COUNT)):
        yield f"window closed with {count.read()}"
        count.clear()


stream = (
    TestStream()
    .advance_watermark_to(1)
    .add_elements([TimestampedValue(("key", "on time"), 5)])
    .advance_watermark_to(100)  # the window [0, 10) and its 5 s of allowed lateness are over
    .add_elements([TimestampedValue(("key", "85 s too late"), 5)])
)
pipeline = beam.Pipeline(runner=BundleBasedDirectRunner(), options=PipelineOptions(["--streaming"]))
windows = beam.WindowInto(
    FixedWindows(10),
    trigger=trigger.AfterWatermark(),
    accumulation_mode=trigger.AccumulationMode.DISCARDING,
    allowed_lateness=5,
)
pipeline | stream | windows | beam.ParDo(Count()) | beam.Map(print)
pipeline.run().wait_until_finish()
