"""Beam Python 2.77.0: a None that was written to a value cell cannot be told from nothing written.

``read()`` gives None for an empty cell, so that of two keys, one with a None in its state and one without any state, both look
the same.
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
