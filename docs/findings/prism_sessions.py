"""Beam 2.77.0, PrismRunner: a session is cut where the watermark passes the end that one of its elements has by itself,
and sessions that only touch become one.

The gap is 10 s. Elements at 11 s and 20 s share a session from 11 s to 30 s. At watermark 25 s, Prism puts out the
element at 11 s as a session of its own. Elements at 40 s and 50 s are exactly the gap apart, and Prism puts out both as
one session. The bundle-based DirectRunner (first argument: direct) does neither. --prism_location=PATH names Prism's
binary; otherwise Beam downloads it.
"""

import sys

import apache_beam as beam
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.runners.direct.direct_runner import BundleBasedDirectRunner
from apache_beam.runners.portability.prism_runner import PrismRunner
from apache_beam.testing.test_stream import TestStream
from apache_beam.transforms.window import Sessions, TimestampedValue


class Show(beam.DoFn):
    def process(self, element, window=beam.DoFn.WindowParam):
        key, times = element
        print(f"{key}: {sorted(times)} share the session from {float(window.start):.0f} s to {float(window.end):.0f} s")
        return []


stream = TestStream().advance_watermark_to(1)
stream.add_elements([TimestampedValue(("cut", 11), 11), TimestampedValue(("cut", 20), 20)]).advance_watermark_to(25)
stream.advance_watermark_to(35).add_elements([TimestampedValue(("touching", time), time) for time in (40, 50)])
stream.advance_watermark_to_infinity()
on_prism = sys.argv[1:2] != ["direct"]
options = PipelineOptions(["--streaming", *(sys.argv[1:] if on_prism else [])])
pipeline = beam.Pipeline(runner=PrismRunner() if on_prism else BundleBasedDirectRunner(), options=options)
pairs = pipeline | stream | beam.Map(lambda pair: pair).with_output_types(tuple[str, int])
pairs | beam.WindowInto(Sessions(10)) | beam.GroupByKey() | beam.ParDo(Show())
pipeline.run().wait_until_finish()
