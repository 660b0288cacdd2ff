"""When a window of Spark's aggregation comes out and takes no more, and whether session windows run in update mode."""

from pyspark.sql import functions as sf
from saying import collected, micro_batches, outcome, says, spark_session

spark = spark_session()


def counted(batches):
    windows = micro_batches(spark, batches).groupBy(sf.window("time", "10 seconds"), "key").count()
    return collected(windows.select("key", "count"))


# The watermark is 100 s behind. It stands at exactly 110 s, the end of the window from 100 s, when the late row comes.
on_time, move, late = ("a", "on time", 205 - 100), ("b", "moves", 210), ("a", "late", 104)
out = counted([[("b", "moves", 200)], [("b", "moves", 200)], [on_time], [move], [move], [late], [("b", "moves", 400)]])
counts = [count for rows in out.values() for key, count in rows if key == "a"]
says(
    "spark-window-state-until",
    counts == [2],
    "while the watermark is exactly the window's end, a row of that window is delivered; the window came out as "
    f"{counts}, "
    "and the row was dropped" * (counts == [1]),
)


def in_update_mode():
    sessions = micro_batches(spark, [[on_time]]).groupBy(sf.session_window("time", "10 seconds"), "key").count()
    return collected(sessions.select("key", "count"), "update")


answer = outcome(in_update_mode)
says("spark-session-not-in-update-mode", "Exception" in answer, answer)
