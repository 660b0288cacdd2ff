import apache_beam as beam
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.runners.direct.direct_runner import BundleBasedDirectRunner
from apache_beam.testing.test_stream import TestStream
from apache_beam.transforms.timeutil import TimeDomain
from apache_beam.transforms.userstate import TimerSpec, on_timer
from apache_beam.transforms.window import FixedWindows, TimestampedValue


class AtTheEnd(beam.DoFn):
    END = TimerSpec("end", TimeDomain.WATERMARK)

    def process(self, element, window=beam.DoFn.WindowParam, end=beam.DoFn.TimerParam(END)):
        end.set(window.max_timestamp())

    @on_timer(END)
    def tell(self):
        yield "the window is over"


on_time = TimestampedValue(("key", 1), 1)
steps = TestStream().advance_watermark_to(0).add_elements([on_time]).advance_watermark_to(100)
with beam.Pipeline(runner=BundleBasedDirectRunner(), options=PipelineOptions(["--streaming"])) as pipeline:
    elements = pipeline | steps.advance_watermark_to_infinity() | beam.WindowInto(FixedWindows(10))
    told = elements | beam.ParDo(AtTheEnd())
    told | "before" >> beam.Map(lambda said: print("put out:", said))
    told | beam.Reshuffle() | "behind" >> beam.Map(lambda said: print("behind the Reshuffle:", said))
