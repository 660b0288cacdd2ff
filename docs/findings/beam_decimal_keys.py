"""Beam 2.77.0, FnApiRunner and the bundle-based DirectRunner: two keys that are decimals of 38 digits share one state,
because the coder of the key (that of a row with a decimal) keeps 28 digits. Count.PerKey counts the two as one and puts
out the key of 28 digits, and DeduplicatePerKey drops the second. FnApiRunner refuses a key with the plain hint of a
decimal.
"""

import decimal
import typing

import apache_beam as beam
from apache_beam import coders
from apache_beam.runners.direct.direct_runner import BundleBasedDirectRunner
from apache_beam.runners.portability.fn_api_runner.fn_runner import FnApiRunner
from apache_beam.transforms.deduplicate import DeduplicatePerKey
from apache_beam.transforms.userstate import BagStateSpec


class Amount(typing.NamedTuple):
    value: decimal.Decimal


coders.registry.register_coder(Amount, coders.RowCoder)
KEYS = [decimal.Decimal(f"12345678901234567890.12345678901234567{last}") for last in (7, 8)]


class Had(beam.DoFn):
    SEEN = BagStateSpec("seen", coders.StrUtf8Coder())

    def process(self, element, seen=beam.DoFn.StateParam(SEEN)):
        key, id = element
        seen.add(id)
        print(f"{id} of the key {key} finds {sorted(seen.read())}")


for runner in (FnApiRunner(), BundleBasedDirectRunner()):
    print(type(runner).__name__)
    with beam.Pipeline(runner=runner) as pipeline:
        rows = pipeline | beam.Create([(Amount(key), f"e{n}") for n, key in enumerate(KEYS, 1)])
        keyed = rows | beam.Map(lambda row: row).with_output_types(tuple[Amount, str])
        keyed | beam.ParDo(Had())
        keyed | beam.combiners.Count.PerKey() | "show counts" >> beam.Map(lambda counted: print("counted", counted))
        first = keyed | DeduplicatePerKey(event_time_duration=1)
        first | "show first" >> beam.Map(lambda element: print("not dropped", element))

try:
    with beam.Pipeline(runner=FnApiRunner()) as pipeline:
        rows = pipeline | beam.Create([(decimal.Decimal("1.5"), "e1")])
        rows | beam.Map(lambda row: row).with_output_types(tuple[decimal.Decimal, str]) | beam.ParDo(Had())
except TypeError as error:
    print(f"a plain decimal: TypeError: {error}")
