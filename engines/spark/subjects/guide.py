"""Six queries of the kinds that Spark's guide to Structured Streaming shows, as subjects."""

from pyspark.sql import DataFrame
from pyspark.sql.functions import avg, col, count, explode, expr, session_window, split, sum, window

from conformance import subject

LINES = "author string, line string, at timestamp"
READINGS = "device string, reading string, celsius double, at timestamp"


@subject(
    schema=LINES,
    key="author",
    time="at",
    delay="10 minutes",
    output_mode="update",
    values={"line": ["cat dog", "dog dog", "owl", ""]},
)
def words_in_windows(lines: DataFrame) -> DataFrame:
    """How often an author wrote a word in ten minutes, every five minutes."""
    words = lines.select("author", "at", explode(split("line", " ")).alias("word"))
    return (
        words.withWatermark("at", "10 minutes")
        .groupBy(window("at", "10 minutes", "5 minutes"), "author", "word")
        .count()
    )


FAR_APART = "copies more than ten seconds apart are dropped or not, by the micro-batch that they come in"
"""Of them the operator promises nothing."""


@subject(
    schema=READINGS,
    key="device",
    time="at",
    delay="10 seconds",
    leave_out=dict.fromkeys(("order", "batches", "empty", "others", "restart", "scheduled"), FAR_APART),
)
def readings_once(readings: DataFrame) -> DataFrame:
    """Each reading once, whichever copy of it came first: its device and its number."""
    return (
        readings.withWatermark("at", "10 seconds")
        .dropDuplicatesWithinWatermark(["device", "reading"])
        .select("device", "reading")
    )


@subject(
    schema={
        "shown": "ad int NOT NULL, shown_at timestamp NOT NULL",
        "clicked": "ad int NOT NULL, user string, clicked_at timestamp NOT NULL",
    },
    key="ad",
    time={"shown": "shown_at", "clicked": "clicked_at"},
    delay="1 minute",
)
def clicks_on_ads(shown: DataFrame, clicked: DataFrame) -> DataFrame:
    """Which clicks came within five minutes of the ad that they are on; an ad without a click comes out alone."""
    ads = shown.withWatermark("shown_at", "1 minute").alias("shown")
    clicks = clicked.withWatermark("clicked_at", "1 minute").alias("clicked")
    within = expr("shown.ad = clicked.ad AND clicked_at BETWEEN shown_at AND shown_at + INTERVAL 5 MINUTES")
    return ads.join(clicks, within, "leftOuter").select("shown.ad", "shown_at", "user", "clicked_at")


@subject(schema="user string, page string, at timestamp", key="user", time="at", delay="10 seconds")
def sessions(clicks: DataFrame) -> DataFrame:
    """The sessions of each user: clicks less than five minutes apart."""
    return clicks.withWatermark("at", "10 seconds").groupBy(session_window("at", "5 minutes"), "user").count()


@subject(schema=READINGS, key="device", time="at", delay="30 seconds")
def hot_minutes(readings: DataFrame) -> DataFrame:
    """The minutes of each device with a mean of more than five degrees, counted by the quarter of an hour: two
    aggregations."""
    minutes = (
        readings.withWatermark("at", "30 seconds")
        .groupBy(window("at", "1 minute"), "device")
        .agg(avg("celsius").alias("mean"))
    )
    hot = minutes.where(col("mean") > 5)
    return hot.groupBy(window("window", "15 minutes"), "device").agg(count("*").alias("minutes"))


@subject(schema="shop string, cents long", key="shop", output_mode="complete")
def takings(sales: DataFrame) -> DataFrame:
    """What each shop has taken so far: state without a bound, which the complete mode is for."""
    return sales.groupBy("shop").agg(sum("cents").alias("cents"))
