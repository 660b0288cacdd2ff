"""Beam 2.77.0, FnApiRunner and PrismRunner: within a bundle, a value cell keeps and gives out the very object that was
written.

The first element writes a list and changes the list afterwards. The second element reads the list and changes it,
without a write. The third element reads both changes. On the bundle-based DirectRunner (argument: direct) it reads the
list as it was written. The argument prism, with --prism_location=PATH or a download by Beam, runs the script on Prism.
"""

import sys

import apache_beam as beam
from apache_beam.coders import FastPrimitivesCoder
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.runners.direct.direct_runner import BundleBasedDirectRunner
from apache_beam.runners.portability.fn_api_runner.fn_runner import FnApiRunner
from apache_beam.runners.portability.prism_runner import PrismRunner
from apache_beam.transforms import userstate


class ChangeList(beam.DoFn):
    ITEMS = userstate.ReadModifyWriteStateSpec("items", FastPrimitivesCoder())

    def process(self, element, items=beam.DoFn.StateParam(ITEMS)):
        found = items.read()
        print(element[1], "element finds", found)
        if found is None:
            written = ["written"]
            items.write(written)
            written.append("changed after the write")
        else:
            found.append("changed after the read")


runners = {"fnapi": FnApiRunner, "direct": BundleBasedDirectRunner, "prism": PrismRunner}
name, *options = sys.argv[1:] or ["fnapi"]
pipeline = beam.Pipeline(runner=runners[name](), options=PipelineOptions(options))
elements = pipeline | beam.Create([("key", "first"), ("key", "second"), ("key", "third")], reshuffle=False)
elements | beam.ParDo(ChangeList())
pipeline.run().wait_until_finish()
