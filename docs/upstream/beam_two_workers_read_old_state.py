import apache_beam as beam
from apache_beam.coders import VarIntCoder
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.runners.portability.fn_api_runner.fn_runner import FnApiRunner
from apache_beam.transforms.timeutil import TimeDomain
from apache_beam.transforms.userstate import ReadModifyWriteStateSpec, TimerSpec, on_timer


class Ticks(beam.DoFn):
    COUNT = ReadModifyWriteStateSpec("count", VarIntCoder())
    NEXT = TimerSpec("next", TimeDomain.WATERMARK)

    def process(self, element, timer=beam.DoFn.TimerParam(NEXT)):
        timer.set(10)

    @on_timer(NEXT)
    def tick(self, time=beam.DoFn.TimestampParam, count=beam.DoFn.StateParam(COUNT), timer=beam.DoFn.TimerParam(NEXT)):
        count.write((count.read() or 0) + 1)
        print(f"at {int(time)}: {count.read()}")
        if time < 50:
            timer.set(time + 10)


options = PipelineOptions(["--direct_running_mode=multi_threading", "--direct_num_workers=2"])
with beam.Pipeline(runner=FnApiRunner(), options=options) as pipeline:
    keyed = pipeline | beam.Create([1]) | beam.Map(lambda n: ("key", n)).with_output_types(tuple[str, int])
    keyed | beam.ParDo(Ticks())
