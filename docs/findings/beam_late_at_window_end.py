"""Beam 2.77.0, bundle-based DirectRunner: a window that has come out takes a late element while the watermark stands at
its end."""

import apache_beam as beam
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.runners.direct.direct_runner import BundleBasedDirectRunner
from apache_beam.testing.test_stream import TestStream
from apache_beam.transforms.window import FixedWindows, TimestampedValue


def show(element, window=beam.DoFn.WindowParam):
    print(f"{element[0]}: the window from {window.start} to {window.end} has {element[1]}")


for watermark in (10, 10.001):
    stream = (
        TestStream()
        .advance_watermark_to(1)
        .add_elements([TimestampedValue((f"watermark {watermark}", "on time"), 5)] * 2)
        .advance_watermark_to(watermark)
        .add_elements([TimestampedValue((f"watermark {watermark}", "late"), 5)])
    )
    pipeline = beam.Pipeline(runner=BundleBasedDirectRunner(), options=PipelineOptions(["--streaming"]))
    windows = beam.WindowInto(FixedWindows(10))  # by default no lateness is allowed
    pipeline | stream | windows | beam.combiners.Count.PerKey() | beam.Map(show)
    pipeline.run().wait_until_finish()
