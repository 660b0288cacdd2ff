"""Beam 2.77.0, PrismRunner: an element meets a side input that is not there yet, and gets its default.

Windows have 10 s. The side input is the number of elements in a window, 0 where there is none. The window [0 s, 10 s)
gets two elements, and the watermark moves behind each of them. The bundle-based DirectRunner (first argument: direct)
lets both wait for the end of their window, and gives them 2. --prism_location=PATH names Prism's binary; otherwise
Beam downloads it.
"""

import sys

import apache_beam as beam
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.pvalue import AsSingleton
from apache_beam.runners.direct.direct_runner import BundleBasedDirectRunner
from apache_beam.runners.portability.prism_runner import PrismRunner
from apache_beam.testing.test_stream import TestStream
from apache_beam.transforms.window import FixedWindows, TimestampedValue

stream = TestStream().advance_watermark_to(0)
for time in (1, 2, 12):
    stream.add_elements([TimestampedValue(f"element at {time} s", time)]).advance_watermark_to(time)
on_prism = sys.argv[1:2] != ["direct"]
options = PipelineOptions(["--streaming", *(sys.argv[1:] if on_prism else [])])
pipeline = beam.Pipeline(runner=PrismRunner() if on_prism else BundleBasedDirectRunner(), options=options)
elements = pipeline | stream.advance_watermark_to_infinity() | beam.WindowInto(FixedWindows(10))
number = elements | beam.CombineGlobally(beam.combiners.CountCombineFn()).without_defaults()
_ = (
    elements
    | "beside" >> beam.Map(lambda element, number: f"{element}: its window has {number}", AsSingleton(number, 0))
    | "show" >> beam.Map(print)
)
pipeline.run().wait_until_finish()
