"""A user's own queries on Spark, as subjects: `conformance subject docs/examples/my_query.py`."""

from pyspark.sql import DataFrame
from pyspark.sql.functions import count, first, window

from conformance import subject

CLICKS = "user string, page string, at timestamp"


@subject(schema=CLICKS, key="user", time="at", delay="10 seconds")
def visits(rows: DataFrame) -> DataFrame:
    """How many pages each user saw in five minutes."""
    return rows.withWatermark("at", "10 seconds").groupBy(window("at", "5 minutes"), "user").count()


@subject(schema=CLICKS, key="user", time="at", delay="10 seconds")
def entry_pages(rows: DataFrame) -> DataFrame:
    """On which page each user came in. The bug: `first` is the first row that the engine sees, not the first one in
    time."""
    windows = rows.withWatermark("at", "10 seconds").groupBy(window("at", "5 minutes"), "user")
    return windows.agg(first("page").alias("entry"), count("*").alias("pages"))
