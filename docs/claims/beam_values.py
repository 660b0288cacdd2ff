"""What Beam's value cells give, and the timestamp of what a timer's callback puts out."""

import apache_beam as beam
import saying
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.runners.direct.direct_runner import BundleBasedDirectRunner
from apache_beam.runners.portability.fn_api_runner import FnApiRunner
from apache_beam.testing.test_stream import TestStream
from apache_beam.transforms import userstate
from apache_beam.transforms.timeutil import TimeDomain
from apache_beam.transforms.window import TimestampedValue


class Remember(beam.DoFn):
    VALUE = userstate.ReadModifyWriteStateSpec("value", beam.coders.FastPrimitivesCoder())

    def process(self, element, value=beam.DoFn.StateParam(VALUE)):
        found = value.read()
        saying.SEEN.append(None if found is None else list(found))
        found = found or []
        found.append(element[1])
        value.write(found)


class At50(beam.DoFn):
    TIMER = userstate.TimerSpec("timer", TimeDomain.WATERMARK)

    def process(self, element, timer=beam.DoFn.TimerParam(TIMER)):
        timer.set(50)
        return []

    @userstate.on_timer(TIMER)
    def fire(self):
        yield "fired"


class TellTime(beam.DoFn):
    def process(self, element, timestamp=beam.DoFn.TimestampParam):
        saying.SEEN.append(float(timestamp))


values, times = {}, {}
for runner in (BundleBasedDirectRunner, FnApiRunner):
    saying.SEEN.clear()
    with beam.Pipeline(runner=runner()) as pipeline:
        pipeline | beam.Create([("key", 1), ("key", 2), ("key", 3)], reshuffle=False) | beam.ParDo(Remember())
    values[runner.__name__] = list(saying.SEEN)

    saying.SEEN.clear()
    with beam.Pipeline(runner=runner()) as pipeline:
        timed = pipeline | beam.Create([("key", 1)]) | beam.Map(lambda element: TimestampedValue(element, 10))
        timed | beam.ParDo(At50()).with_output_types(str) | beam.ParDo(TellTime())
    times[f"{runner.__name__}, bounded"] = list(saying.SEEN)

saying.SEEN.clear()
stream = TestStream().advance_watermark_to(0).add_elements([TimestampedValue(("key", 1), 10)]).advance_watermark_to(100)
with beam.Pipeline(runner=BundleBasedDirectRunner(), options=PipelineOptions(["--streaming"])) as pipeline:
    pipeline | stream | beam.ParDo(At50()).with_output_types(str) | beam.ParDo(TellTime())
times["BundleBasedDirectRunner, TestStream"] = list(saying.SEEN)

# What each element of a key read, before it appended to it and wrote it.
saying.says("beam-value-none", all(seen[0] is None for seen in values.values()), values)
saying.says("beam-timer-output-timestamp", all(seen == [50.0] for seen in times.values()), times)
