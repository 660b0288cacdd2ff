"""Beam 2.77.0, PrismRunner: a window's state is gone at the window's end, whatever lateness is allowed.

The window [0 s, 10 s) allows 100 s of lateness. The timer at its end and the late element at watermark 12 s read no
state. The bundle-based DirectRunner (first argument: direct) still has the state. --prism_location=PATH names Prism's
binary; otherwise Beam downloads it.
"""

import sys

import apache_beam as beam
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.runners.direct.direct_runner import BundleBasedDirectRunner
from apache_beam.runners.portability.prism_runner import PrismRunner
from apache_beam.testing.test_stream import TestStream
from apache_beam.transforms import trigger, userstate
from apache_beam.transforms.timeutil import TimeDomain
from apache_beam.transforms.window import FixedWindows, TimestampedValue


class Count(beam.DoFn):
    COUNT = userstate.CombiningValueStateSpec("count", sum)
    END = userstate.TimerSpec("end", TimeDomain.WATERMARK)

    def process(self, element, count=beam.DoFn.StateParam(COUNT), end=beam.DoFn.TimerParam(END)):
        print(f"{element[1]} finds {count.read()} before it")
        count.add(1)
        if element[1] == "the first element":
            end.set(10)

    @userstate.on_timer(END)
    def fired(self, count=beam.DoFn.StateParam(COUNT)):
        print(f"the timer at the window's end finds {count.read()}")
        return []


stream = TestStream().advance_watermark_to(1).add_elements([TimestampedValue(("key", "the first element"), 5)])
stream.advance_watermark_to(6)
stream.add_elements([TimestampedValue(("key", "the second element"), 7)]).advance_watermark_to(12)
stream.add_elements([TimestampedValue(("key", "the late element"), 8)]).advance_watermark_to(20)
on_prism = sys.argv[1:2] != ["direct"]
options = PipelineOptions(["--streaming", *(sys.argv[1:] if on_prism else [])])
pipeline = beam.Pipeline(runner=PrismRunner() if on_prism else BundleBasedDirectRunner(), options=options)
windows = beam.WindowInto(
    FixedWindows(10),
    trigger=trigger.AfterWatermark(late=trigger.AfterCount(1)),
    accumulation_mode=trigger.AccumulationMode.DISCARDING,
    allowed_lateness=100,
)
pipeline | stream | beam.Map(lambda pair: pair).with_output_types(tuple[str, str]) | windows | beam.ParDo(Count())
pipeline.run().wait_until_finish()
