import apache_beam as beam
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.runners.direct.direct_runner import BundleBasedDirectRunner
from apache_beam.testing.test_stream import TestStream
from apache_beam.transforms.timeutil import TimeDomain
from apache_beam.transforms.userstate import TimerSpec, on_timer
from apache_beam.transforms.window import TimestampedValue


class Fires(beam.DoFn):
    TIMER = TimerSpec("timer", TimeDomain.WATERMARK)

    def process(self, element, timer=beam.DoFn.TimerParam(TIMER)):
        timer.set(50)

    @on_timer(TIMER)
    def fire(self, time=beam.DoFn.TimestampParam):
        print("the timer fires at", time)


late = TimestampedValue(("key", 1), 50)
steps = TestStream().advance_watermark_to(100).add_elements([late]).advance_watermark_to(200)
with beam.Pipeline(runner=BundleBasedDirectRunner(), options=PipelineOptions(["--streaming"])) as pipeline:
    elements = pipeline | steps.advance_watermark_to_infinity()
    none = elements | beam.Filter(lambda element: False)
    (elements, none) | beam.Flatten() | beam.ParDo(Fires())
