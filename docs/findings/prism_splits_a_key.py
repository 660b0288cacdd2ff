"""Beam 2.77.0, PrismRunner: a slow bundle of a stateful DoFn is split within a key, and state that was written is lost.

Every element takes half a second and adds itself to a bag of one key. Prism asks for a split when it sees no progress
for some 100 ms. It hands out the rest of the key's elements while the first part still runs. Both parts start from the
state before, and the part that ends last overwrites the other. --prism_location=PATH names Prism's binary; otherwise
Beam downloads it.
"""

import sys
import time

import apache_beam as beam
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.runners.portability.prism_runner import PrismRunner
from apache_beam.transforms import userstate


class Slow(beam.DoFn):
    SEEN = userstate.BagStateSpec("seen", beam.coders.VarIntCoder())

    def process(self, element, seen=beam.DoFn.StateParam(SEEN)):
        before = sorted(seen.read())
        seen.add(element[1])
        time.sleep(0.5)
        print("element", element[1], "finds", before)


pipeline = beam.Pipeline(runner=PrismRunner(), options=PipelineOptions(sys.argv[1:]))
pipeline | beam.Create([("key", number) for number in range(8)], reshuffle=False) | beam.ParDo(Slow())
pipeline.run().wait_until_finish()
