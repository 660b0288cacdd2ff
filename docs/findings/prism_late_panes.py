"""Beam 2.77.0, PrismRunner: once a window has come out on time, the trigger AfterWatermark(late=AfterCount(1)) fires
for no late element until the allowed lateness is over; then it fires once, also where nothing is new.

The window [0 s, 10 s) allows 20 s of lateness, and its panes accumulate. The key "late" gets one element on time and
three late ones, and the watermark moves after each of them. The key "on time" gets one element and no late one. The
bundle-based DirectRunner (first argument: direct) counts 1, 2, 3 and 4, and 1. --prism_location=PATH names Prism's
binary; otherwise Beam downloads it.
"""

import sys

import apache_beam as beam
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.runners.direct.direct_runner import BundleBasedDirectRunner
from apache_beam.runners.portability.prism_runner import PrismRunner
from apache_beam.testing.test_stream import TestStream
from apache_beam.transforms import trigger
from apache_beam.transforms.window import FixedWindows, TimestampedValue


class Show(beam.DoFn):
    def process(self, element, pane=beam.DoFn.PaneInfoParam):
        key, count = element
        print(f"{key}: pane {pane.index} has the count {count}")
        return []


stream = TestStream().advance_watermark_to(0)
stream.add_elements([TimestampedValue(("late", 1), 1), TimestampedValue(("on time", 1), 1)]).advance_watermark_to(12)
for time in (2, 3, 4):
    stream.add_elements([TimestampedValue(("late", time), time)]).advance_watermark_to(time + 11)
stream.advance_watermark_to(40)
on_prism = sys.argv[1:2] != ["direct"]
options = PipelineOptions(["--streaming", *(sys.argv[1:] if on_prism else [])])
pipeline = beam.Pipeline(runner=PrismRunner() if on_prism else BundleBasedDirectRunner(), options=options)
windows = beam.WindowInto(
    FixedWindows(10),
    trigger=trigger.AfterWatermark(late=trigger.AfterCount(1)),
    accumulation_mode=trigger.AccumulationMode.ACCUMULATING,
    allowed_lateness=20,
)
pairs = pipeline | stream | beam.Map(lambda pair: pair).with_output_types(tuple[str, int])
pairs | windows | beam.combiners.Count.PerKey() | beam.ParDo(Show())
pipeline.run().wait_until_finish()
