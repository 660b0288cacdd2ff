"""Beam 2.77.0, bundle-based DirectRunner: a Reshuffle drops an element whose window has ended, which a stateful DoFn
before it processed. The Reshuffle is a GroupByKey in the element's own window, with no allowed lateness.
"""

import apache_beam as beam
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.testing.test_stream import TestStream
from apache_beam.transforms.userstate import CombiningValueStateSpec
from apache_beam.transforms.window import FixedWindows, TimestampedValue


class Counts(beam.DoFn):
    COUNT = CombiningValueStateSpec("count", sum)

    def process(self, element, count=beam.DoFn.StateParam(COUNT)):
        count.add(1)
        yield element[1]


stream = (
    TestStream()
    .advance_watermark_to(0)
    .add_elements([TimestampedValue(("a", "on time"), 1)])
    .advance_watermark_to(100)
    .add_elements([TimestampedValue(("a", "late"), 2)])
    .advance_watermark_to_infinity()
)
with beam.Pipeline(options=PipelineOptions(["--streaming"])) as pipeline:
    processed = pipeline | stream | beam.WindowInto(FixedWindows(10)) | beam.ParDo(Counts())
    processed | "show" >> beam.Map(lambda said: print(f"processed: {said}"))
    processed | beam.Reshuffle() | "show behind" >> beam.Map(lambda said: print(f"behind the Reshuffle: {said}"))
