"""Beam 2.77.0, bundle-based DirectRunner: over bounded input a timer in processing time never fires.

The timer is for a second from now. FnApiRunner fires it before the pipeline ends.
"""

import apache_beam as beam
from apache_beam.runners.direct.direct_runner import BundleBasedDirectRunner
from apache_beam.runners.portability.fn_api_runner import FnApiRunner
from apache_beam.transforms.timeutil import TimeDomain
from apache_beam.transforms.userstate import TimerSpec, on_timer
from apache_beam.utils.timestamp import Timestamp


class Later(beam.DoFn):
    TIMER = TimerSpec("timer", TimeDomain.REAL_TIME)

    def process(self, element, timer=beam.DoFn.TimerParam(TIMER)):
        timer.set(Timestamp.now() + 1)
        yield f"{element[1]} came"

    @on_timer(TIMER)
    def fire(self):
        yield "the timer fired"


for runner in (FnApiRunner(), BundleBasedDirectRunner()):
    print(type(runner).__name__)
    pipeline = beam.Pipeline(runner=runner)
    pipeline | beam.Create([("key", "an element")]) | beam.ParDo(Later()) | beam.Map(print)
    pipeline.run().wait_until_finish()
