"""Beam 2.77.0, bundle-based DirectRunner: a stateful DoFn gets elements whose window expired, with the state that the
window had.

The first pipeline counts in windows with 5 s of allowed lateness and clears the count when its timer fires. The late
element finds an empty count, sets the timer again, and the window closes a second time. The second pipeline allows no
lateness and clears nothing. Each element finds all that came before it, 90 s and 990 s after the end of the window.
"""

import apache_beam as beam
from apache_beam.coders import VarIntCoder
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.runners.direct.direct_runner import BundleBasedDirectRunner
from apache_beam.testing.test_stream import TestStream
from apache_beam.transforms import trigger, userstate
from apache_beam.transforms.timeutil import TimeDomain
from apache_beam.transforms.window import FixedWindows, TimestampedValue


class Count(beam.DoFn):
    COUNT = userstate.CombiningValueStateSpec("count", sum)
    END = userstate.TimerSpec("end", TimeDomain.WATERMARK)

    def process(self, element, count=beam.DoFn.StateParam(COUNT), end=beam.DoFn.TimerParam(END)):
        count.add(1)
        end.set(15)
        yield f"processed {element[1]}"

    @userstate.on_timer(END)
    def expire(self, count=beam.DoFn.StateParam(COUNT)):
        yield f"window closed with {count.read()}"
        count.clear()


class Remember(beam.DoFn):
    SEEN = userstate.BagStateSpec("seen", VarIntCoder())

    def process(self, element, seen=beam.DoFn.StateParam(SEEN), window=beam.DoFn.WindowParam):
        yield f"the window to {window.end} has {sorted(seen.read())} when {element[1]} comes"
        seen.add(element[1])


def run(stream, dofn, allowed_lateness):
    pipeline = beam.Pipeline(runner=BundleBasedDirectRunner(), options=PipelineOptions(["--streaming"]))
    windows = beam.WindowInto(
        FixedWindows(10),
        trigger=trigger.AfterWatermark(),
        accumulation_mode=trigger.AccumulationMode.DISCARDING,
        allowed_lateness=allowed_lateness,
    )
    pipeline | stream | windows | beam.ParDo(dofn) | beam.Map(print)
    pipeline.run().wait_until_finish()


counted = (
    TestStream()
    .advance_watermark_to(1)
    .add_elements([TimestampedValue(("key", "on time"), 5)])
    .advance_watermark_to(100)  # the window [0, 10) and its 5 s of allowed lateness are over
    .add_elements([TimestampedValue(("key", "85 s too late"), 5)])
)
run(counted, Count(), allowed_lateness=5)

remembered = (
    TestStream()
    .advance_watermark_to(0)
    .add_elements([TimestampedValue(("key", 1), 5)])
    .advance_watermark_to(100)
    .add_elements([TimestampedValue(("key", 2), 5)])
    .advance_watermark_to(1_000)
    .add_elements([TimestampedValue(("key", 3), 5)])
)
run(remembered, Remember(), allowed_lateness=0)
