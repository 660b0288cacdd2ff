import apache_beam as beam
from apache_beam import coders
from apache_beam.runners.portability.fn_api_runner.fn_runner import FnApiRunner


class Key:
    """The declared type of keys that are numbers."""


coders.registry.register_coder(Key, coders.PickleCoder)
try:
    with beam.Pipeline(runner=FnApiRunner()) as pipeline:
        pairs = pipeline | beam.Create([1, 1]) | beam.Map(lambda n: (n, n)).with_output_types(tuple[Key, int])
        pairs | beam.GroupByKey() | beam.Map(print)
except Exception as error:
    print(f"{type(error).__name__}: {error}")
