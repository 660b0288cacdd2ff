"""Beam 2.77.0, Python: what it does not have that Spark has, and what the bundle-based DirectRunner does with a bundle
that fails.

The script ends with an AssertionError if one of these is not so. There is no map state, no TTL, no callback at the end
of a window, and no input in order of time. The bundle-based DirectRunner refuses an ordered list, which FnApiRunner
takes. It tries a failing bundle four times, with all its keys. It drops a late element without a metric that counts it.
"""

import inspect
import tempfile
from pathlib import Path

import apache_beam as beam
from apache_beam.coders import VarIntCoder
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.runners.direct.direct_runner import BundleBasedDirectRunner
from apache_beam.runners.portability.fn_api_runner.fn_runner import FnApiRunner
from apache_beam.testing.test_stream import TestStream
from apache_beam.transforms import userstate
from apache_beam.transforms.window import FixedWindows, TimestampedValue

SPECS = {name: spec for name, spec in vars(userstate).items() if name.endswith("StateSpec") and name != "StateSpec"}
assert not [name for name in SPECS if "Map" in name], SPECS
for spec in SPECS.values():
    assert not [name for name in inspect.signature(spec).parameters if "ttl" in name.lower() or "initial" in name], spec
names = [name.lower() for name in (*dir(userstate), *dir(beam.DoFn))]
assert not [name for name in names if "expir" in name or "sorted" in name], names
print("state cells:", ", ".join(sorted(SPECS)))


class Ordered(beam.DoFn):
    LIST = userstate.OrderedListStateSpec("list", VarIntCoder())

    def process(self, element, found=beam.DoFn.StateParam(LIST)):
        yield element


SEEN = Path(tempfile.mkdtemp()) / "seen"
"""A file, because Beam gives functions of this script copies of what they refer to."""


def see(what, path=str(SEEN)):
    with open(path, "a") as file:
        file.write(f"{what}\n")


class Fails(beam.DoFn):
    def process(self, element):
        see(element[0])
        if element[0] == "b":
            raise ValueError("on purpose")


def tried(runner, dofn):
    """How a pipeline of one bundle ends."""
    try:
        with beam.Pipeline(runner=runner) as pipeline:
            pipeline | beam.Create([("a", 1), ("b", 1)], reshuffle=False) | beam.ParDo(dofn)
    except Exception as error:
        return f"{type(error).__name__}: {error}"[:60]
    return "ran"


ordered = {runner.__name__: tried(runner(), Ordered()) for runner in (BundleBasedDirectRunner, FnApiRunner)}
print("an ordered list:", ordered)
assert ordered["BundleBasedDirectRunner"].startswith("ValueError: Invalid state spec"), ordered
assert ordered["FnApiRunner"] == "ran", ordered

tried(BundleBasedDirectRunner(), Fails())
attempts = SEEN.read_text().split()
print("attempts at a bundle of a and b that fails on b:", attempts)
assert attempts == ["a", "b"] * 4

stream = TestStream().advance_watermark_to(100).add_elements([TimestampedValue(("key", 1), 5)])
pipeline = beam.Pipeline(runner=BundleBasedDirectRunner(), options=PipelineOptions(["--streaming"]))
counts = pipeline | stream | beam.WindowInto(FixedWindows(10)) | beam.combiners.Count.PerKey()
counts | beam.Map(see)
result = pipeline.run()
result.wait_until_finish()
counters = [str(found.key.metric.name) for found in result.metrics().query()["counters"]]
print("a late element was dropped, the counters are", counters)
assert SEEN.read_text().split() == attempts
assert counters == []
