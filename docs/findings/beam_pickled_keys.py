"""Beam 2.77.0: GroupByKey on keys whose coder is a PickleCoder fails with a TypeError of Beam's own constructor, on
each local runner. A stateful DoFn on such keys runs on the bundle-based DirectRunner, which keeps the keys themselves,
and fails on FnApiRunner.
"""

import apache_beam as beam
from apache_beam import coders
from apache_beam.runners.direct.direct_runner import BundleBasedDirectRunner
from apache_beam.runners.portability.fn_api_runner.fn_runner import FnApiRunner
from apache_beam.transforms.userstate import CombiningValueStateSpec


class Key:
    """The declared type of keys that are numbers."""


coders.registry.register_coder(Key, coders.PickleCoder)


class Counts(beam.DoFn):
    COUNT = CombiningValueStateSpec("count", sum)

    def process(self, element, count=beam.DoFn.StateParam(COUNT)):
        count.add(1)
        yield count.read()


for runner in (BundleBasedDirectRunner, FnApiRunner):
    for transform in (beam.GroupByKey(), beam.ParDo(Counts())):
        try:
            with beam.Pipeline(runner=runner()) as pipeline:
                numbers = pipeline | beam.Create([1, 1])
                numbers | beam.Map(lambda n: (n, n)).with_output_types(tuple[Key, int]) | transform
            print(f"{runner.__name__}, {transform.label}: runs")
        except TypeError as error:
            print(f"{runner.__name__}, {transform.label}: TypeError: {error}")
