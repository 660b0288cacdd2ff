"""Beam 2.77.0, PrismRunner: a key's elements come in order of event time, and wait for the key's timers before them.

The first element sets a timer for 10 s. The second element, at 12 s, is delivered at watermark 5 s and would move the
timer to 22 s. Prism holds it until the watermark has reached 10 s, and by then the timer has fired. The bundle-based
DirectRunner (first argument: direct) hands the element out at once. --prism_location=PATH names Prism's binary;
otherwise Beam downloads it.
"""

import sys

import apache_beam as beam
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.runners.direct.direct_runner import BundleBasedDirectRunner
from apache_beam.runners.portability.prism_runner import PrismRunner
from apache_beam.testing.test_stream import TestStream
from apache_beam.transforms import userstate
from apache_beam.transforms.timeutil import TimeDomain
from apache_beam.transforms.window import TimestampedValue


class MoveTimer(beam.DoFn):
    TIMER = userstate.TimerSpec("timer", TimeDomain.WATERMARK)

    def process(self, element, time=beam.DoFn.TimestampParam, timer=beam.DoFn.TimerParam(TIMER)):
        timer.set(time + 10)
        print(element[1], "moves the timer to", time + 10)

    @userstate.on_timer(TIMER)
    def fired(self, time=beam.DoFn.TimestampParam):
        print("the timer fires for", time)
        return []


def checkpoint_once(pipeline):
    """Let Prism hand out elements before the watermark moves on (prism_waits_for_the_watermark.py)."""
    from apache_beam.io.restriction_trackers import OffsetRange, OffsetRestrictionTracker
    from apache_beam.transforms.core import RestrictionProvider

    class Twice(RestrictionProvider):
        def initial_restriction(self, element):
            return OffsetRange(0, 2)

        def create_tracker(self, restriction):
            return OffsetRestrictionTracker(restriction)

        def restriction_size(self, element, restriction):
            return restriction.size()

    class Checkpoints(beam.DoFn):
        def process(self, element, tracker=beam.DoFn.RestrictionParam(Twice())):
            if tracker.try_claim(tracker.current_restriction().start):
                tracker.defer_remainder()
            return []

    pipeline | beam.Impulse() | beam.ParDo(Checkpoints())


on_prism = sys.argv[1:2] != ["direct"]
options = PipelineOptions(["--streaming", *(sys.argv[1:] if on_prism else [])])
pipeline = beam.Pipeline(runner=PrismRunner() if on_prism else BundleBasedDirectRunner(), options=options)
stream = TestStream().add_elements([TimestampedValue(("key", "the first element"), 0)]).advance_watermark_to(5)
stream.add_elements([TimestampedValue(("key", "the second element"), 12)]).advance_watermark_to(11)
if on_prism:
    checkpoint_once(pipeline)
elements = pipeline | stream | beam.Map(lambda pair: pair).with_output_types(tuple[str, str])
elements | beam.ParDo(MoveTimer())
pipeline.run().wait_until_finish()
