"""The entry page of `my_query.py` by event time."""

from my_query import CLICKS
from pyspark.sql import DataFrame
from pyspark.sql.functions import count, min_by, struct, window

from conformance import subject


@subject(schema=CLICKS, key="user", time="at", delay="10 seconds")
def entry_pages(rows: DataFrame) -> DataFrame:
    """On which page each user came in: the one with the least time, and of several at that time the least one."""
    windows = rows.withWatermark("at", "10 seconds").groupBy(window("at", "5 minutes"), "user")
    return windows.agg(min_by("page", struct("at", "page")).alias("entry"), count("*").alias("pages"))
