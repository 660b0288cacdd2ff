"""Whether Prism hands out elements of one key and window while others of that key are in hand.

Each takes half a second. Give the binary by --prism_location=PATH, or let Beam download it.
"""

import sys
import time

import apache_beam as beam
import saying
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.runners.portability.prism_runner import PrismRunner
from apache_beam.transforms import userstate


class Slow(beam.DoFn):
    SEEN = userstate.BagStateSpec("seen", beam.coders.VarIntCoder())

    def process(self, element, seen=beam.DoFn.StateParam(SEEN)):
        begun = time.monotonic()
        before = len(list(seen.read()))
        seen.add(element[1])
        time.sleep(0.5)
        saying.SEEN.append((begun, time.monotonic(), before))


with beam.Pipeline(runner=PrismRunner(), options=PipelineOptions(sys.argv[1:])) as pipeline:
    pipeline | beam.Create([("key", number) for number in range(8)], reshuffle=False) | beam.ParDo(Slow())
saying.SEEN.sort()
overlapping = sum(later[0] < earlier[1] for earlier, later in zip(saying.SEEN, saying.SEEN[1:], strict=False))
found = [before for _, _, before in saying.SEEN]
saying.says(
    "beam-not-parallel-in-a-key",
    not overlapping,
    f"PrismRunner: {overlapping} of {len(saying.SEEN)} elements of one key began while another was in hand; they "
    f"found {found} "
    "elements in the key's bag",
)
