"""Beam 2.77.0, bundle-based DirectRunner: a stateful DoFn gets the elements of a bundle in their order, in every
run."""

import apache_beam as beam
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.runners.direct.direct_runner import BundleBasedDirectRunner
from apache_beam.testing.test_stream import TestStream
from apache_beam.transforms import userstate


class Number(beam.DoFn):
    INDEX = userstate.CombiningValueStateSpec("index", sum)

    def process(self, element, index=beam.DoFn.StateParam(INDEX)):
        print(f"{index.read()}:{element[1]}", end=" ")
        index.add(1)


for _ in range(5):
    stream = TestStream().add_elements([("key", number) for number in range(20)]).advance_watermark_to_infinity()
    pipeline = beam.Pipeline(runner=BundleBasedDirectRunner(), options=PipelineOptions(["--streaming"]))
    pipeline | stream | beam.ParDo(Number())
    pipeline.run().wait_until_finish()
    print()
