"""Whether the state of a window is gone once the window has expired.

FixedWindows(10), no lateness allowed, and a DoFn that clears nothing. Three elements of the window [0, 10) come while
the watermark is at 0, 100 and 1,000. Each says what it read from the window's bag before it put itself there.
"""

import apache_beam as beam
import saying
from apache_beam.coders import VarIntCoder
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.runners.direct.direct_runner import BundleBasedDirectRunner
from apache_beam.testing.test_stream import TestStream
from apache_beam.transforms import userstate
from apache_beam.transforms.window import FixedWindows, TimestampedValue

WATERMARKS = (0, 100, 1_000)


class Remember(beam.DoFn):
    BAG = userstate.BagStateSpec("bag", VarIntCoder())

    def process(self, element, bag=beam.DoFn.StateParam(BAG)):
        saying.SEEN.append(sorted(bag.read()))
        bag.add(element[1])


stream = TestStream()
for number, watermark in enumerate(WATERMARKS, 1):
    stream = stream.advance_watermark_to(watermark).add_elements([TimestampedValue(("key", number), 5)])
with beam.Pipeline(runner=BundleBasedDirectRunner(), options=PipelineOptions(["--streaming"])) as pipeline:
    keyed = pipeline | stream | beam.Map(lambda pair: pair).with_output_types(tuple[str, int])
    keyed | beam.WindowInto(FixedWindows(10)) | beam.ParDo(Remember())

found = "; ".join(f"watermark {at}: {read}" for at, read in zip(WATERMARKS, saying.SEEN, strict=False))
saying.says(
    "beam-reclaims-resources",
    saying.SEEN == [[]] or saying.SEEN == [[], [], []],
    f"BundleBasedDirectRunner: elements of the window that ended at 10 read of its state, {found}",
)
