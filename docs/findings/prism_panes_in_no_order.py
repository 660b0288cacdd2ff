"""Beam 2.77.0, PrismRunner: the panes that one bundle brings come out in no order, and one more comes at the end of the
stream.

Each of 20 keys gets three elements in one bundle. The trigger fires for every element, and panes accumulate, so the
counts of a key are 1, 2 and 3. The bundle-based DirectRunner (first argument: direct) puts out one pane of a key, with
the count 3. --prism_location=PATH names Prism's binary; otherwise Beam downloads it.
"""

import sys
import tempfile
from pathlib import Path

import apache_beam as beam
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.runners.direct.direct_runner import BundleBasedDirectRunner
from apache_beam.runners.portability.prism_runner import PrismRunner
from apache_beam.testing.test_stream import TestStream
from apache_beam.transforms import trigger
from apache_beam.transforms.window import GlobalWindows, TimestampedValue

KEYS = [f"key {number}" for number in range(20)]


class Note(beam.DoFn):
    """Writes what comes out to a file, a line each."""

    def __init__(self, file):
        self._file = file

    def process(self, element):
        with self._file.open("a") as out:
            out.write(f"{element[0]}:{element[1]}\n")
        return []


file = Path(tempfile.mkdtemp()) / "counts"
stream = TestStream().advance_watermark_to(1)
stream.add_elements([TimestampedValue((key, number), 2) for key in KEYS for number in range(3)])
stream.advance_watermark_to(10).advance_watermark_to_infinity()
on_prism = sys.argv[1:2] != ["direct"]
options = PipelineOptions(["--streaming", *(sys.argv[1:] if on_prism else [])])
pipeline = beam.Pipeline(runner=PrismRunner() if on_prism else BundleBasedDirectRunner(), options=options)
every_element = beam.WindowInto(
    GlobalWindows(),
    trigger=trigger.Repeatedly(trigger.AfterCount(1)),
    accumulation_mode=trigger.AccumulationMode.ACCUMULATING,
)
pairs = pipeline | stream | beam.Map(lambda pair: pair).with_output_types(tuple[str, int])
pairs | every_element | beam.combiners.Count.PerKey() | beam.ParDo(Note(file))
pipeline.run().wait_until_finish()
counts = {key: [] for key in KEYS}
for line in file.read_text().splitlines():
    key, _, count = line.partition(":")
    counts[key].append(int(count))
print("the counts of a key, sorted:", *sorted({str(sorted(found)) for found in counts.values()}))
print(
    "the counts of", "some keys fall" if any(found != sorted(found) for found in counts.values()) else "all keys rise"
)
