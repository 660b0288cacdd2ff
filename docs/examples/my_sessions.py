"""A query with sessions, and its port to Beam. Clicks that are exactly five minutes apart are one session on Spark, and
two on Beam."""

import apache_beam as beam
from apache_beam.transforms.window import Sessions
from pyspark.sql import DataFrame
from pyspark.sql.functions import session_window

from conformance import subject

CLICKS = {"schema": "user string, page string, at timestamp", "key": "user", "time": "at", "delay": "10 seconds"}


@subject(**CLICKS)
def sessions(clicks: DataFrame) -> DataFrame:
    """How many clicks each session of a user has."""
    found = clicks.withWatermark("at", "10 seconds").groupBy(session_window("at", "5 minutes"), "user").count()
    return found.withColumnRenamed("session_window", "window")


@subject(**CLICKS, windowing=Sessions(300))
def sessions_on_beam(clicks: beam.PCollection) -> beam.PCollection:
    """The port."""
    pairs = clicks | "by user" >> beam.Map(lambda click: (click["user"], 1)).with_output_types(tuple[str, int])
    counts = pairs | "count" >> beam.CombinePerKey(sum)
    return counts | "name" >> beam.MapTuple(lambda user, count: {"user": user, "count": count})
