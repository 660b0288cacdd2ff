"""The export "spark" for Spark's own operators: the query as a user writes it. An export holds the source of what it
needs from here."""

from collections.abc import Mapping
from typing import NamedTuple

from conformance.engines import exporting
from conformance.engines.spark.export import query as export_query
from conformance.model.export import CannotExport, Difference, Exportable
from conformance.model.schedule import Restart

NATIVE = "spark-native:"


class Query(NamedTuple):
    """Source of an expression that gives the operator's output from ``rows``, with names of the program's parameters,
    or the ``size`` of its windows, in braces; and of the expression that gives a row's value. ``delay`` is the
    watermark's (ms)."""

    out: str
    value: str
    mode: str = "append"
    delay: str = export_query.DELAY


ACCEPTED = 'dict(accepted=row["id"])'
WINDOWS = """(
            rows.groupBy("key", F.window("event_time", "{size} milliseconds"))
            .count()
            .select("key", "count", F.expr("unix_millis(window.start)").alias("start"))
        )"""
COUNTS = 'dict(window=row["start"], count=row["count"])'
SESSIONS = """(
            rows.groupBy("key", F.session_window("event_time", "{gap} milliseconds").alias("of"))
            .agg(F.sort_array(F.collect_list("id")).alias("ids"))
            .selectExpr("key", "ids", "unix_millis(of.start) AS start", "unix_millis(of.end) AS end")
        )"""
JOINED = """(
            side(rows, "left")
            .join(
                side(rows, "right"),
                F.expr(
                    "lefts.key = rights.key AND rights.event_time >= lefts.event_time"
                    " AND rights.event_time <= lefts.event_time + INTERVAL {bound} MILLISECONDS"
                ),
                "%s",
            )
            .select(F.coalesce("lefts.key", "rights.key").alias("key"), "left", "right", "lefts.event_time")
        )"""
WINDOWS_JOINED = """(
            counted(rows, "left", "{size} milliseconds")
            .join(counted(rows, "right", "{size} milliseconds"), ["key", "window"])
            .select("key", "lefts", "rights", F.expr("unix_millis(window.start)").alias("start"))
        )"""
PAIR = 'dict(left=row["left"], right=row["right"])'

SIDE = """
def side(rows, name):  # the rows of one side; those that move the watermark are on both
    mine = rows.where((F.col("key") == "") | (F.col("value") == f'"{name}"'))
    return mine.select("key", "event_time", F.col("id").alias(name)).alias(f"{name}s")

"""
COUNTED = """
def counted(rows, name, size):
    return side(rows, name).groupBy("key", F.window("event_time", size)).count().withColumnRenamed("count", f"{name}s")

"""

QUERIES: Mapping[str, Query] = {
    "count": Query('rows.groupBy("key").count()', 'dict(count=row["count"])', "update"),
    "drop-duplicates": Query('rows.dropDuplicates(["key", "event_time"])', ACCEPTED),
    "drop-duplicates-for-good": Query('rows.dropDuplicates(["key"])', ACCEPTED),
    "drop-duplicates-within-watermark": Query(
        'rows.dropDuplicatesWithinWatermark(["key"])', ACCEPTED, delay="{horizon}"
    ),
    "window": Query(WINDOWS, COUNTS),
    "window-update": Query(WINDOWS, COUNTS, "update"),
    "session-window": Query(SESSIONS, 'dict(start=row["start"], end=row["end"], ids=list(row["ids"]))'),
    **{
        f"{how.replace('_', '-')}-join": Query(JOINED % how, PAIR)
        for how in ("inner", "left_outer", "right_outer", "full_outer")
    },
    "windows-joined": Query(WINDOWS_JOINED, 'dict(window=row["start"], lefts=row["lefts"], rights=row["rights"])'),
    "join-then-window": Query(WINDOWS.replace("rows", JOINED % "inner", 1), COUNTS),
}
"""By the part of the engine's id behind NATIVE."""


def spark(asked: Exportable) -> str:
    """The file. Raises CannotExport where the witness does not fit."""
    exporting.plans_of(asked, ())
    query = QUERIES.get(asked.engine.removeprefix(NATIVE))
    if query is None:
        raise CannotExport(f"witness {asked.witness}: exports do not have the operator of {asked.engine}")
    if asked.difference is Difference.ORDER:
        raise CannotExport(
            f"witness {asked.witness}: its output is wrong by its order alone, which Spark does not promise"
        )
    run = export_query.stream(
        asked,
        exporting.filled(query.out, asked),
        f'row["key"], {query.value}',
        export_query.HDFS,
        mode=query.mode,
        delay=exporting.filled(query.delay, asked),
        native=True,
    )
    source = SIDE * ("left" in query.out) + COUNTED * ("counted(" in query.out) + run
    return exporting.file_of(
        asked,
        exporting.Source(export_query.needs(asked), export_query.IMPORTS, (), source),
        (Restart,),
        by_step=True,
        program=False,
    )
