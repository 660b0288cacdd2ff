"""Beam 2.77.0, PrismRunner: a stateful DoFn gets no element before the watermark moves on, so two bundles become one.

Prism hands the elements out at once where any DoFn of the pipeline has checkpointed itself (``defer_remainder``).
--prism_location=PATH names Prism's binary; otherwise Beam downloads it.
"""

import sys

import apache_beam as beam
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.runners.portability.prism_runner import PrismRunner
from apache_beam.testing.test_stream import TestStream
from apache_beam.transforms import userstate


class BeforeState(beam.DoFn):
    def process(self, element):
        print("before the stateful DoFn:", element)
        yield element


class Stateful(beam.DoFn):
    SEEN = userstate.BagStateSpec("seen", beam.coders.StrUtf8Coder())

    def start_bundle(self):
        print("the stateful DoFn starts a bundle")

    def process(self, element, seen=beam.DoFn.StateParam(SEEN)):
        print("the stateful DoFn:", element)


stream = TestStream().advance_watermark_to(1).add_elements([("key", "first")]).add_elements([("key", "second")])
pipeline = beam.Pipeline(runner=PrismRunner(), options=PipelineOptions([*sys.argv[1:], "--streaming"]))
elements = pipeline | stream | beam.ParDo(BeforeState()).with_output_types(tuple[str, str])
elements | beam.ParDo(Stateful())
pipeline.run().wait_until_finish()
