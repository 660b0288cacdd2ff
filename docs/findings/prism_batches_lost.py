"""Beam 2.77.0, PrismRunner: GroupIntoBatches loses a batch that is not full when its window ends.

Batches have three elements, and windows 10 s. The key "a" gets three elements, the key "b" two. Those of "b" never come
out. The bundle-based DirectRunner (first argument: direct) puts them out at the end of the window.
--prism_location=PATH names Prism's binary; otherwise Beam downloads it.
"""

import sys

import apache_beam as beam
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.runners.direct.direct_runner import BundleBasedDirectRunner
from apache_beam.runners.portability.prism_runner import PrismRunner
from apache_beam.testing.test_stream import TestStream
from apache_beam.transforms.window import FixedWindows, TimestampedValue

stream = TestStream().advance_watermark_to(0)
stream.add_elements([TimestampedValue(pair, pair[1]) for pair in [("a", 1), ("a", 2), ("a", 3), ("b", 1), ("b", 2)]])
stream.advance_watermark_to(5).advance_watermark_to(12).advance_watermark_to(20)
on_prism = sys.argv[1:2] != ["direct"]
options = PipelineOptions(["--streaming", *(sys.argv[1:] if on_prism else [])])
pipeline = beam.Pipeline(runner=PrismRunner() if on_prism else BundleBasedDirectRunner(), options=options)
pairs = pipeline | stream | beam.Map(lambda pair: pair).with_output_types(tuple[str, int])
pairs | beam.WindowInto(FixedWindows(10)) | beam.GroupIntoBatches(3) | beam.Map(print)
pipeline.run().wait_until_finish()
