"""Beam 2.77.0, FnApiRunner: two stateful DoFns with timers that read one collection in different windows fail."""

import apache_beam as beam
from apache_beam.runners.portability.fn_api_runner.fn_runner import FnApiRunner
from apache_beam.transforms import userstate
from apache_beam.transforms.timeutil import TimeDomain
from apache_beam.transforms.window import FixedWindows, TimestampedValue


class SetTimer(beam.DoFn):
    TIMER = userstate.TimerSpec("timer", TimeDomain.WATERMARK)

    def process(self, element, timer=beam.DoFn.TimerParam(TIMER)):
        timer.set(20)

    @userstate.on_timer(TIMER)
    def fired(self):
        yield "fired"


pipeline = beam.Pipeline(runner=FnApiRunner())
elements = pipeline | beam.Create([("key", 1)]) | beam.Map(lambda element: TimestampedValue(element, 1))
elements | "global" >> beam.ParDo(SetTimer())
elements | beam.WindowInto(FixedWindows(10)) | "windowed" >> beam.ParDo(SetTimer())
try:
    pipeline.run().wait_until_finish()
    print("both ran")
except ValueError as error:
    print(f"ValueError: {error}")
