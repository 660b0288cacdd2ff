"""Beam 2.77.0, bundle-based DirectRunner: a Reshuffle drops what a timer for the last millisecond of a window puts out,
though all input was on time, and so does a GroupByKey. The output has the timer's time, which lies in the window; the
watermark has passed the window's end by then. On Prism the output comes out: python beam_reshuffle_drops_window_end.py
--prism_location=BINARY
"""

import sys

import apache_beam as beam
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.runners.direct.direct_runner import BundleBasedDirectRunner
from apache_beam.runners.portability.prism_runner import PrismRunner
from apache_beam.testing.test_stream import TestStream
from apache_beam.transforms.timeutil import TimeDomain
from apache_beam.transforms.userstate import CombiningValueStateSpec, TimerSpec, on_timer
from apache_beam.transforms.window import FixedWindows, TimestampedValue


class CountsAtTheEnd(beam.DoFn):
    COUNT = CombiningValueStateSpec("count", sum)
    END = TimerSpec("end", TimeDomain.WATERMARK)

    def process(
        self,
        element,
        window=beam.DoFn.WindowParam,
        count=beam.DoFn.StateParam(COUNT),
        end=beam.DoFn.TimerParam(END),
    ):
        count.add(1)
        end.set(window.max_timestamp())
        yield "an element"

    @on_timer(END)
    def tell(self, count=beam.DoFn.StateParam(COUNT)):
        yield f"a window with {count.read()}"


class Show(beam.DoFn):
    def __init__(self, where):
        self._where = where

    def process(self, said, time=beam.DoFn.TimestampParam):
        print(f"{self._where}: {said}, at {time.micros // 1000} ms")


stream = (
    TestStream()
    .advance_watermark_to(0)
    .add_elements([TimestampedValue(("a", 1), 1), TimestampedValue(("a", 2), 2)])
    .advance_watermark_to(100)
    .advance_watermark_to_infinity()
)
runner = PrismRunner() if sys.argv[1:] else BundleBasedDirectRunner()
options = ["--streaming", "--environment_type=LOOPBACK", *sys.argv[1:]]
with beam.Pipeline(runner=runner, options=PipelineOptions(options)) as pipeline:
    processed = pipeline | stream | beam.WindowInto(FixedWindows(10)) | beam.ParDo(CountsAtTheEnd())
    processed | "show" >> beam.ParDo(Show("put out"))
    processed | beam.Reshuffle() | "show behind" >> beam.ParDo(Show("behind the Reshuffle"))
    grouped = processed | beam.Map(lambda said: ("all", said)) | beam.GroupByKey()
    grouped | beam.MapTuple(lambda key, said: sorted(said)) | "show grouped" >> beam.ParDo(Show("grouped"))
