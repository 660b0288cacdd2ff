"""Index assignment per key: the DoFn of a Beam pipeline, and its port to Spark. The port has a bug."""

import apache_beam as beam
from apache_beam.transforms.userstate import CombiningValueStateSpec
from pyspark.sql import Row
from pyspark.sql.streaming import StatefulProcessor

from conformance.plugins.port import BeamPort, Port, SparkPort


class AssignIndexFn(beam.DoFn):
    """The DoFn as it runs in production, from the Beam blog's post on stateful processing."""

    INDEX = CombiningValueStateSpec("index", sum)

    def process(self, element, index=beam.DoFn.StateParam(INDEX)):
        key, value = element
        current = index.read()
        yield key, value, current
        index.add(1)


class AssignIndexProcessor(StatefulProcessor):
    """The port of the DoFn, line by line."""

    def init(self, handle):
        self.index = handle.getValueState("index", "n long")

    def handleInputRows(self, key, rows, timerValues):
        current = self.index.get()[0] if self.index.exists() else 0
        for row in rows:
            yield Row(user=key[0], value=row.value, index=current)
            self.index.update((current + 1,))

    def close(self):
        pass


PORT = Port(
    name="index",
    scenario="index-assignment",
    program="global",
    beam=BeamPort(
        dofn=AssignIndexFn,
        element=lambda event: event.id,
        emission=lambda output: {"id": output[1], "index": output[2]},
    ),
    spark=SparkPort(
        processor=AssignIndexProcessor,
        input="user string, value string",
        row=lambda event: {"user": event.key, "value": event.id},
        output="user string, value string, index long",
        emission=lambda row: {"id": row["value"], "index": row["index"]},
    ),
)
