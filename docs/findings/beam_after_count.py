"""Beam 2.77.0, bundle-based DirectRunner: a trigger that fires at every element fires once for all elements of a
bundle."""

import apache_beam as beam
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.runners.direct.direct_runner import BundleBasedDirectRunner
from apache_beam.testing.test_stream import TestStream
from apache_beam.transforms.trigger import AccumulationMode, AfterCount, Repeatedly
from apache_beam.transforms.window import GlobalWindows, TimestampedValue

stream = (
    TestStream()
    .advance_watermark_to(1)
    .add_elements([TimestampedValue(("key", n), 5) for n in range(3)])
    .add_elements([TimestampedValue(("key", 3), 5)])
)
pipeline = beam.Pipeline(runner=BundleBasedDirectRunner(), options=PipelineOptions(["--streaming"]))
every_element = beam.WindowInto(
    GlobalWindows(), trigger=Repeatedly(AfterCount(1)), accumulation_mode=AccumulationMode.ACCUMULATING
)
pipeline | stream | every_element | beam.combiners.Count.PerKey() | beam.Map(print)
pipeline.run().wait_until_finish()
