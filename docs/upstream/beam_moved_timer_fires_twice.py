import apache_beam as beam
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.runners.direct.direct_runner import BundleBasedDirectRunner
from apache_beam.testing.test_stream import TestStream
from apache_beam.transforms import userstate
from apache_beam.transforms.timeutil import TimeDomain


class OneMovesTheOther(beam.DoFn):
    TIMER = userstate.TimerSpec("timer", TimeDomain.WATERMARK)

    def process(self, element, timer=beam.DoFn.TimerParam(TIMER)):
        timer.set(10, dynamic_timer_tag="first")
        timer.set(20, dynamic_timer_tag="second")

    @userstate.on_timer(TIMER)
    def fired(self, timer=beam.DoFn.TimerParam(TIMER), tag=beam.DoFn.DynamicTimerTagParam, at=beam.DoFn.TimestampParam):
        if tag == "first":
            timer.set(200, dynamic_timer_tag="second")
        print(f"the {tag} timer fired for {at}")


steps = TestStream().add_elements([("key", 1)]).advance_watermark_to(100).advance_watermark_to(300)
with beam.Pipeline(runner=BundleBasedDirectRunner(), options=PipelineOptions(["--streaming"])) as pipeline:
    elements = pipeline | steps | beam.Map(lambda pair: pair).with_output_types(tuple[str, int])
    elements | beam.ParDo(OneMovesTheOther())
