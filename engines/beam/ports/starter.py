"""starter: a DoFn in the place of the program of per-key counting. Put your own there, and the scenario that asks for
its job.

    conformance run --load FILE --quick

``conformance list scenarios`` has the scenarios; a scenario of your own (``conformance new scenario``) may stand here,
too.
"""

from collections.abc import Iterator
from typing import Any

import apache_beam as beam
from apache_beam.transforms.userstate import CombiningValueStateSpec

from conformance.plugins.port import BeamPort, Port


class CountFn(beam.DoFn):
    COUNT = CombiningValueStateSpec("count", sum)

    def process(self, element: Any, count: Any = beam.DoFn.StateParam(COUNT)) -> Iterator[Any]:
        key, _ = element
        count.add(1)
        yield key, count.read()


PORT = Port(
    name="starter",
    scenario="per-key-counting",
    beam=BeamPort(
        dofn=CountFn,
        element=lambda event: event.id,  # an event of the scenario -> the value of an element (key, value)
        emission=lambda output: {"count": output[1]},  # what the DoFn yields -> what the scenario's predicates look at
    ),
)
