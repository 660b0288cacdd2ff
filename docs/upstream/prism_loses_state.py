import sys
import time

import apache_beam as beam
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.runners.portability.prism_runner import PrismRunner
from apache_beam.transforms import userstate


class Slow(beam.DoFn):
    SEEN = userstate.BagStateSpec("seen", beam.coders.VarIntCoder())

    def process(self, element, seen=beam.DoFn.StateParam(SEEN)):
        before = len(list(seen.read()))
        seen.add(element[1])
        time.sleep(0.5)
        yield before


# --prism_location=PATH names Prism's binary; otherwise Beam downloads it.
pipeline = beam.Pipeline(runner=PrismRunner(), options=PipelineOptions(sys.argv[1:]))
found = pipeline | beam.Create([("key", number) for number in range(8)], reshuffle=False) | beam.ParDo(Slow())
most = found | beam.CombineGlobally(lambda counts: max(counts, default=0))
most | beam.Map(lambda count: print("the last element found the other seven:", count == 7))
pipeline.run().wait_until_finish()
