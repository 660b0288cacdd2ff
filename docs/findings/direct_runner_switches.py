"""Beam 2.77.0, DirectRunner: a state cell that nothing reads changes the order in which a key's elements come.

With a combining state the pipeline runs on FnApiRunner. Without one it runs on Prism, which hands out a key's elements
in order of event time. --prism_location=PATH names Prism's binary; otherwise Beam downloads it.
"""

import sys

import apache_beam as beam
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.runners.direct.direct_runner import DirectRunner
from apache_beam.transforms import userstate
from apache_beam.transforms.window import TimestampedValue


class Last(beam.DoFn):
    LAST = userstate.ReadModifyWriteStateSpec("last", beam.coders.VarIntCoder())

    def process(self, element, last=beam.DoFn.StateParam(LAST)):
        print(f"  element at {element[1]} s, after that at {last.read()} s")
        last.write(element[1])


class LastAndCombining(Last):
    COUNT = userstate.CombiningValueStateSpec("count", sum)

    def process(self, element, last=beam.DoFn.StateParam(Last.LAST), count=beam.DoFn.StateParam(COUNT)):
        return super().process(element, last)


for dofn in (Last, LastAndCombining):
    pipeline = beam.Pipeline(runner=DirectRunner(), options=PipelineOptions(sys.argv[1:]))
    stamped = pipeline | beam.Create([3, 1, 2], reshuffle=False) | beam.Map(lambda s: TimestampedValue(("key", s), s))
    typed = stamped | beam.Map(lambda pair: pair).with_output_types(tuple[str, int])
    typed | beam.ParDo(dofn())
    result = pipeline.run()
    print(f"{dofn.__name__} on {type(result).__module__}")
    result.wait_until_finish()
