"""What Beam's value cells give."""

import apache_beam as beam
import saying
from apache_beam.runners.direct.direct_runner import BundleBasedDirectRunner
from apache_beam.runners.portability.fn_api_runner import FnApiRunner
from apache_beam.transforms import userstate


class Remember(beam.DoFn):
    VALUE = userstate.ReadModifyWriteStateSpec("value", beam.coders.FastPrimitivesCoder())

    def process(self, element, value=beam.DoFn.StateParam(VALUE)):
        found = value.read()
        saying.SEEN.append(None if found is None else list(found))
        found = found or []
        found.append(element[1])
        value.write(found)


values = {}
for runner in (BundleBasedDirectRunner, FnApiRunner):
    saying.SEEN.clear()
    with beam.Pipeline(runner=runner()) as pipeline:
        pipeline | beam.Create([("key", 1), ("key", 2), ("key", 3)], reshuffle=False) | beam.ParDo(Remember())
    values[runner.__name__] = list(saying.SEEN)

# What each element of a key read, before it appended to it and wrote it.
saying.says("beam-value-none", all(seen[0] is None for seen in values.values()), values)
