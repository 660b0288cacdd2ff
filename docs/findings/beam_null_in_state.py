"""Beam Python 2.77.0: a value cell that holds None looks like a value cell that is empty.

``read()`` gives None for both. So a key with a None in its state looks like a key without any state.
"""

import apache_beam as beam
from apache_beam.coders import FastPrimitivesCoder
from apache_beam.runners.portability.fn_api_runner.fn_runner import FnApiRunner
from apache_beam.transforms import userstate


class WriteNone(beam.DoFn):
    CELL = userstate.ReadModifyWriteStateSpec("cell", FastPrimitivesCoder())

    def process(self, element, cell=beam.DoFn.StateParam(CELL)):
        key, what = element
        if what == "write":
            cell.write(None)
        else:
            print(key, "reads", cell.read())


pipeline = beam.Pipeline(runner=FnApiRunner())
elements = [("with a None", "write"), ("with a None", "read"), ("without anything", "read")]
pipeline | beam.Create(elements, reshuffle=False) | beam.ParDo(WriteNone())
pipeline.run().wait_until_finish()
