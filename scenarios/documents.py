"""The documents that several scenarios quote, and the sentences that several scenarios test."""

from __future__ import annotations

from dataclasses import dataclass

from conformance.model.scenario import Source

JAVADOC = "https://beam.apache.org/releases/javadoc"


@dataclass(frozen=True)
class Document:
    """A page, by title and address."""

    title: str
    url: str = ""

    def says(self, quote: str, section: str = "", anchor: str = "") -> Source:
        """The source for a sentence of the document, or of one of its sections."""
        title = f"{self.title}, {section}" if section else self.title
        return Source(title, quote, f"{self.url}#{anchor}" if anchor else self.url)


BEAM_GUIDE = Document("Beam programming guide", "https://beam.apache.org/documentation/programming-guide/")
BEAM_BLOG = Document(
    "Beam blog, Stateful processing with Apache Beam (2017)", "https://beam.apache.org/blog/stateful-processing/"
)
BEAM_TUTORIAL = Document("Beam tutorial, Stateful Processing")
BEAM_MAP = f"{JAVADOC}/2.33.0/org/apache/beam/sdk/state/MapState.html"
BEAM_TIMER = f"{JAVADOC}/2.66.0/org/apache/beam/sdk/state/Timer.html"
DATABRICKS = Document(
    "Databricks, Build a custom stateful application", "https://docs.databricks.com/aws/en/stateful-applications/"
)
SPARK_GUIDE = Document(
    "Spark Structured Streaming guide",
    "https://spark.apache.org/docs/4.0.0/streaming/apis-on-dataframes-and-datasets.html",
)
SPARK_TWS = Document(
    "Spark transformWithState guide",
    "https://spark.apache.org/docs/4.0.0/streaming/structured-streaming-transform-with-state.html",
)
SPARK_NOTES = Document(
    "Spark Structured Streaming notes", "https://spark.apache.org/docs/4.0.0/streaming/additional-information.html"
)

EXPIRED = "Handling expired timers"
"""A section of Spark's guide to transformWithState."""

SCOPED = BEAM_TUTORIAL.says("State is scoped per key and per window")
ARBITRARY_ORDER = BEAM_BLOG.says("are still received in an arbitrary order")
REMOVE = Source(
    "Beam Java API, MapState.remove", "Remove the mapping for a key from this map if it is present", BEAM_MAP
)
IN_TIMESTAMP_ORDER = Source(
    "Beam Java API, Timer", "will be called at some time after the requested time, in timestamp order", BEAM_TIMER
)
DROPPED_AS_LATE = Source(
    "Beam Java API, Window.withAllowedLateness",
    "Any elements that are later than this as decided by the system-maintained watermark will be dropped",
    f"{JAVADOC}/current/org/apache/beam/sdk/transforms/windowing/Window.html",
)
WITHOUT_RECORDS = DATABRICKS.says("Expired timers fire even if no records for their associated key are processed")
ONCE_PER_TIMER = SPARK_TWS.says("This method is invoked once for each expired timer", EXPIRED)
REGISTER_IN_CALLBACKS = SPARK_TWS.says(
    "Within the handleInputRows or handleExpiredTimer methods, the stateful processor can register timers", EXPIRED
)
