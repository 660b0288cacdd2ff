"""Beam 2.77.0, bundle-based DirectRunner: behind a Flatten, a timer that is set for a time behind the watermark fires
twice. A timer ahead of the watermark fires once. So does either of them without the Flatten.
"""

import apache_beam as beam
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.runners.direct.direct_runner import BundleBasedDirectRunner
from apache_beam.testing.test_stream import TestStream
from apache_beam.transforms.timeutil import TimeDomain
from apache_beam.transforms.userstate import TimerSpec, on_timer
from apache_beam.transforms.window import TimestampedValue


class Fires(beam.DoFn):
    TIMER = TimerSpec("timer", TimeDomain.WATERMARK)

    def process(self, element, time=beam.DoFn.TimestampParam, timer=beam.DoFn.TimerParam(TIMER)):
        timer.set(time)

    @on_timer(TIMER)
    def fire(self, time=beam.DoFn.TimestampParam):
        print("  the timer fires at", time)


def run(time: int, flatten: bool) -> None:
    print(
        f"watermark 100, a timer for {time}, "
        f"{'behind a Flatten with a branch without elements' if flatten else 'no Flatten'}:"
    )
    stream = TestStream().advance_watermark_to(100).add_elements([TimestampedValue(("a", 1), time)])
    stream = stream.advance_watermark_to(200).advance_watermark_to_infinity()
    with beam.Pipeline(BundleBasedDirectRunner(), PipelineOptions(streaming=True)) as pipeline:
        elements = pipeline | stream
        if flatten:
            elements = (elements, elements | beam.Filter(lambda _: False)) | beam.Flatten()
        elements | beam.ParDo(Fires())


for time in (50, 150):
    for flatten in (False, True):
        run(time, flatten)
