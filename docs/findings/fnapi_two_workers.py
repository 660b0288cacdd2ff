"""Beam 2.77.0, FnApiRunner with two workers: a timer's callback reads state without what the callback before it wrote.

Each callback counts, and sets the next timer. With --direct_num_workers=2 and threads, a count comes twice.
"""

import apache_beam as beam
from apache_beam.coders import VarIntCoder
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.runners.portability.fn_api_runner.fn_runner import FnApiRunner
from apache_beam.transforms import userstate
from apache_beam.transforms.timeutil import TimeDomain
from apache_beam.transforms.window import TimestampedValue


class Ticks(beam.DoFn):
    COUNT = userstate.ReadModifyWriteStateSpec("count", VarIntCoder())
    NEXT = userstate.TimerSpec("next", TimeDomain.WATERMARK)

    def process(self, element, next_one=beam.DoFn.TimerParam(NEXT)):
        next_one.set(10)

    @userstate.on_timer(NEXT)
    def tick(
        self,
        time=beam.DoFn.TimestampParam,
        count=beam.DoFn.StateParam(COUNT),
        next_one=beam.DoFn.TimerParam(NEXT),
    ):
        number = (count.read() or 0) + 1
        count.write(number)
        print(f"  timer {int(time)}: count {number}")
        if time < 50:
            next_one.set(time + 10)


def run(title, *options):
    print(f"{title}:")
    with beam.Pipeline(runner=FnApiRunner(), options=PipelineOptions(list(options))) as pipeline:
        (
            pipeline
            | beam.Create([TimestampedValue(("key", 1), 1)])
            | beam.Map(lambda pair: pair).with_output_types(tuple[str, int])
            | beam.ParDo(Ticks())
        )


run("one worker")
run("two workers", "--direct_running_mode=multi_threading", "--direct_num_workers=2")
