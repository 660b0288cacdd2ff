import sys

import apache_beam as beam
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.runners.portability.prism_runner import PrismRunner
from apache_beam.testing.test_stream import TestStream
from apache_beam.transforms.window import Sessions, TimestampedValue


class Show(beam.DoFn):
    def process(self, session, window=beam.DoFn.WindowParam):
        print(f"{session[0]}: {sorted(session[1])} in {window}")
        yield session


stream = TestStream().advance_watermark_to(1)
stream.add_elements([TimestampedValue(("near", 11), 11), TimestampedValue(("near", 20), 20)])
stream.advance_watermark_to(25).advance_watermark_to(35)
stream.add_elements([TimestampedValue(("apart", 40), 40), TimestampedValue(("apart", 50), 50)])
options = PipelineOptions(["--streaming", *sys.argv[1:]])
with beam.Pipeline(runner=PrismRunner(), options=options) as pipeline:
    same = beam.Map(lambda pair: pair).with_output_types(tuple[str, int])
    pairs = pipeline | stream.advance_watermark_to_infinity() | same
    pairs | beam.WindowInto(Sessions(10)) | beam.GroupByKey() | beam.ParDo(Show())
