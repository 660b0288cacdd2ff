"""Beam 2.77.0, FnApiRunner: the timers of a key fire in the order in which they were set, not in order of time."""

import apache_beam as beam
from apache_beam.runners.portability.fn_api_runner.fn_runner import FnApiRunner
from apache_beam.transforms import userstate
from apache_beam.transforms.timeutil import TimeDomain


class SetTimers(beam.DoFn):
    TIMER = userstate.TimerSpec("timer", TimeDomain.WATERMARK)

    def process(self, element, timer=beam.DoFn.TimerParam(TIMER)):
        for time in (30, 10, 20):
            timer.set(time, dynamic_timer_tag=str(time))

    @userstate.on_timer(TIMER)
    def fired(self, tag=beam.DoFn.DynamicTimerTagParam):
        yield tag


pipeline = beam.Pipeline(runner=FnApiRunner())
pipeline | beam.Create([("key", 1)]) | beam.ParDo(SetTimers()) | beam.Map(print)
pipeline.run().wait_until_finish()
