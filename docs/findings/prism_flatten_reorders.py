"""Beam 2.77.0, PrismRunner: behind a Flatten with an empty collection, elements of a key with one event time come in
another order.

Prism hands out the elements of a key in order of event time. Without the Flatten, those of one event time keep their
order. --prism_location=PATH names Prism's binary; otherwise Beam downloads it.
"""

import sys

import apache_beam as beam
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.runners.portability.prism_runner import PrismRunner
from apache_beam.transforms import userstate
from apache_beam.transforms.window import TimestampedValue

ELEMENTS = [("key", (f"e{number}", second)) for number, second in enumerate((5, 6, 6, 6, 14, 24, 6, 5), 1)]


class Indexed(beam.DoFn):
    COUNT = userstate.CombiningValueStateSpec("count", sum)

    def process(self, element, count=beam.DoFn.StateParam(COUNT)):
        print(f"  index {count.read()}: {element[1][0]}")
        count.add(1)


def run(title, around):
    print(f"{title}:")
    pipeline = beam.Pipeline(runner=PrismRunner(), options=PipelineOptions(sys.argv[1:]))
    elements = pipeline | "elements" >> beam.Create(ELEMENTS, reshuffle=False)
    timed = elements | beam.Map(lambda pair: TimestampedValue(pair, pair[1][1])).with_output_types(
        tuple[str, tuple[str, int]]
    )
    around(timed) | beam.ParDo(Indexed())
    pipeline.run().wait_until_finish()


def with_nothing(timed):
    nothing = timed.pipeline | "nothing" >> beam.Create([]).with_output_types(tuple[str, tuple[str, int]])
    return (timed, nothing) | beam.Flatten()


run("plain", lambda timed: timed)
run("behind a Flatten with an empty collection", with_nothing)
