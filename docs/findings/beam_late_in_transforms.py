"""Beam 2.77.0, bundle-based DirectRunner: DeduplicatePerKey and GroupIntoBatches take elements far behind the
watermark."""

import apache_beam as beam
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.runners.direct.direct_runner import BundleBasedDirectRunner
from apache_beam.testing.test_stream import TestStream
from apache_beam.transforms.deduplicate import DeduplicatePerKey
from apache_beam.transforms.window import FixedWindows, TimestampedValue


def stream():
    return (
        TestStream()
        .advance_watermark_to(1)
        .add_elements([TimestampedValue(("key", "on time"), 5)])
        .advance_watermark_to(100)
        .add_elements([TimestampedValue(("key", "95 s late"), 5)])
    )


transforms = {
    "DeduplicatePerKey": DeduplicatePerKey(event_time_duration=10),
    "GroupIntoBatches in windows of 10 s": beam.GroupIntoBatches(3),
}
for name, transform in transforms.items():
    pipeline = beam.Pipeline(runner=BundleBasedDirectRunner(), options=PipelineOptions(["--streaming"]))
    elements = pipeline | stream()
    if name.startswith("GroupIntoBatches"):
        elements = elements | beam.WindowInto(FixedWindows(10))
    elements | transform | beam.Map(lambda element, name=name: print(name, element))
    pipeline.run().wait_until_finish()
