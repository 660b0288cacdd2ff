"""Beam 2.77.0, bundle-based DirectRunner: an element that lies in no window ends the pipeline.

Windows of 5 s begin every 10 s, so an element at 7 s belongs to none, and a grouping has nothing of it. FnApiRunner
does so.
"""

import apache_beam as beam
from apache_beam.runners.direct.direct_runner import BundleBasedDirectRunner
from apache_beam.runners.portability.fn_api_runner import FnApiRunner
from apache_beam.transforms.window import SlidingWindows, TimestampedValue

for runner in (FnApiRunner(), BundleBasedDirectRunner()):
    pipeline = beam.Pipeline(runner=runner)
    times = pipeline | beam.Create([1, 7, 12]) | beam.Map(lambda time: TimestampedValue(("a", time), time))
    groups = times | beam.WindowInto(SlidingWindows(5, 10)) | beam.GroupByKey()
    groups | beam.Map(lambda group: print(f"the window has {list(group[1])}"))
    try:
        pipeline.run().wait_until_finish()
    except IndexError as error:
        print(f"{type(runner).__name__}: IndexError: {str(error).splitlines()[0]}")
