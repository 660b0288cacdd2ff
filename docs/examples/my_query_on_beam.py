"""Ports to Beam of the query `visits` of my_query.py, and of `sessions` of subjects_spark.py."""

import apache_beam as beam
from apache_beam.transforms.window import FixedWindows, Sessions

from conformance import subject

CLICKS = "user string, page string, at timestamp"


@subject(schema=CLICKS, key="user", time="at", delay="10 seconds", windowing=FixedWindows(300))
def visits(clicks: beam.PCollection) -> beam.PCollection:
    """How many pages each user saw in five minutes."""
    return _counted(clicks)


@subject(schema=CLICKS, key="user", time="at", delay="10 seconds", windowing=Sessions(300))
def sessions(clicks: beam.PCollection) -> beam.PCollection:
    """How many clicks each session of a user has. Clicks that are exactly five minutes apart are two sessions here, and
    one on Spark."""
    return _counted(clicks)


def _counted(clicks: beam.PCollection) -> beam.PCollection:
    pairs = clicks | "by user" >> beam.Map(lambda click: (click["user"], 1)).with_output_types(tuple[str, int])
    counts = pairs | "count" >> beam.CombinePerKey(sum)
    return counts | "name" >> beam.MapTuple(lambda user, count: {"user": user, "count": count})
