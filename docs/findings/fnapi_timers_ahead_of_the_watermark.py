"""Beam 2.77.0, FnApiRunner: behind a source that checkpoints itself, timers fire ahead of its watermark.

The source always reports the watermark 1 s. Its first element sets a timer for 1,000 s, which fires before the second
element comes.
"""

import apache_beam as beam
from apache_beam.io.restriction_trackers import OffsetRange, OffsetRestrictionTracker
from apache_beam.io.watermark_estimators import ManualWatermarkEstimator
from apache_beam.runners.portability.fn_api_runner.fn_runner import FnApiRunner
from apache_beam.transforms import userstate
from apache_beam.transforms.core import RestrictionProvider
from apache_beam.transforms.timeutil import TimeDomain
from apache_beam.transforms.window import TimestampedValue
from apache_beam.utils.timestamp import Timestamp


class Offsets(RestrictionProvider):
    def initial_restriction(self, element):
        return OffsetRange(0, 2)

    def create_tracker(self, restriction):
        return OffsetRestrictionTracker(restriction)

    def restriction_size(self, element, restriction):
        return restriction.size()


class Source(beam.DoFn):
    @beam.DoFn.unbounded_per_element()
    def process(
        self,
        element,
        tracker=beam.DoFn.RestrictionParam(Offsets()),
        watermark=beam.DoFn.WatermarkEstimatorParam(ManualWatermarkEstimator.default_provider()),
    ):
        number = tracker.current_restriction().start
        if tracker.try_claim(number):
            watermark.set_watermark(Timestamp(1))
            yield TimestampedValue(("key", number), 2)
            tracker.defer_remainder()


class SetTimer(beam.DoFn):
    TIMER = userstate.TimerSpec("timer", TimeDomain.WATERMARK)

    def process(self, element, timer=beam.DoFn.TimerParam(TIMER)):
        print("element", element[1])
        if element[1] == 0:
            timer.set(1_000)

    @userstate.on_timer(TIMER)
    def fired(self):
        print("the timer for 1,000 s fires")
        return []


pipeline = beam.Pipeline(runner=FnApiRunner())
elements = pipeline | beam.Impulse() | beam.ParDo(Source()).with_output_types(tuple[str, int])
elements | beam.ParDo(SetTimer())
pipeline.run().wait_until_finish()
