"""Beam 2.77.0, PrismRunner: timers of a key that are due at one instant fire in another order in each run.

--prism_location=PATH names Prism's binary; otherwise Beam downloads it.
"""

import sys

import apache_beam as beam
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.runners.portability.prism_runner import PrismRunner
from apache_beam.transforms import userstate
from apache_beam.transforms.timeutil import TimeDomain


class SetTimers(beam.DoFn):
    TIMER = userstate.TimerSpec("timer", TimeDomain.WATERMARK)

    def process(self, element, timer=beam.DoFn.TimerParam(TIMER)):
        for tag in "abcdef":
            timer.set(10, dynamic_timer_tag=tag)

    @userstate.on_timer(TIMER)
    def fired(self, tag=beam.DoFn.DynamicTimerTagParam):
        print(tag, end=" ")
        return []


for _ in range(5):
    pipeline = beam.Pipeline(runner=PrismRunner(), options=PipelineOptions(sys.argv[1:]))
    pipeline | beam.Create([("key", 1)]) | beam.ParDo(SetTimers())
    pipeline.run().wait_until_finish()
    print()
