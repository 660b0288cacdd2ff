"""A port to Beam of the query `visits` of my_query.py."""

import apache_beam as beam
from apache_beam.transforms.window import FixedWindows

from conformance import subject


@subject(
    schema="user string, page string, at timestamp",
    key="user",
    time="at",
    delay="10 seconds",
    windowing=FixedWindows(300),
)
def visits(clicks: beam.PCollection) -> beam.PCollection:
    """How many pages each user saw in five minutes."""
    pairs = clicks | "by user" >> beam.Map(lambda click: (click["user"], 1)).with_output_types(tuple[str, int])
    counts = pairs | "count" >> beam.CombinePerKey(sum)
    return counts | "name" >> beam.MapTuple(lambda user, count: {"user": user, "count": count})
