"""What PySpark has of the older stateful API, and how a timeout's call looks in applyInPandasWithState."""

import itertools

import pandas as pd
from pyspark.sql.streaming.state import GroupStateTimeout
from saying import collected, micro_batches, outcome, says, spark_session


def told(seen):
    return iter([pd.DataFrame({"seen": [seen]})])


def sets_text(key, frames, state):
    return told(outcome(lambda: state.setTimeoutDuration("5 minutes")))


def sets_the_past(key, frames, state):
    """The watermark is at 100 s."""
    what = [what for frame in frames for what in frame["what"]]
    return told(outcome(lambda: state.setTimeoutTimestamp(50_000)) if what == ["sets"] else "")


def waits(key, frames, state):
    """Wait until 150 s, and tell what comes then."""
    given = [len(frame) for frame in frames]
    if not state.hasTimedOut and not state.exists:
        state.update((1,))
        state.setTimeoutTimestamp(150_000)
    return told(f"{key[0]} {'timed out' if state.hasTimedOut else 'input'}, frames of {given} rows")


spark = spark_session()


def run(function, batches, timeout):
    groups = micro_batches(spark, batches).groupBy("key")
    frame = groups.applyInPandasWithState(function, "seen string", "value long", "append", timeout)
    return [[seen for (seen,) in rows] for rows in collected(frame).values()]


def called():
    frame = micro_batches(spark, [[("a", "x", 200)]])
    return frame.groupByKey("key").mapGroupsWithState(lambda *_: None)


answer = outcome(called)
says("spark-map-groups-from-python", "Error" not in answer, answer)

# In processing time, a query that takes what there is ends only where it makes no batches without data.
spark.conf.set("spark.sql.streaming.noDataMicroBatches.enabled", False)
answer = run(sets_text, [[("a", "x", 200)]], GroupStateTimeout.ProcessingTimeTimeout)[0][0]
says("spark-timeout-as-text", "Error" not in answer, answer)
spark.conf.set("spark.sql.streaming.noDataMicroBatches.enabled", True)

batches = [[("a", "x", 200)], [("a", "x", 200)], [("a", "sets", 200)]]
answer = next(filter(None, itertools.chain(*run(sets_the_past, batches, GroupStateTimeout.EventTimeTimeout))))
says("pyspark-timeout-in-the-past", "Error" in answer, answer)

# Key a waits; the watermark moves from 100 s to 200 s while only b has rows.
batches = [[("b", "x", 200)], [("a", "x", 200)], [("b", "x", 300)], [("b", "x", 300)]]
calls = run(waits, batches, GroupStateTimeout.EventTimeTimeout)
timed_out = next((seen for seen in itertools.chain(*calls) if seen.startswith("a timed out")), "nothing came")
batch = next((seen for seen in calls if timed_out in seen), [timed_out])
after = batch.index(timed_out) == len(batch) - 1 and len(batch) > 1
empty = sum(map(int, filter(str.isdigit, timed_out.partition("[")[2]))) == 0
says("spark-timeout-empty-iterator", empty, f"no rows, but PySpark's iterator is not empty: {timed_out}")
says("pyspark-timeout-empty-input", after and empty, f"the calls of the micro-batch with the timeout: {batch}")

says(
    "spark-timeout-of-inactive-keys",
    timed_out.startswith("a timed out"),
    f"key a had no more rows; when the watermark had passed its timeout: {timed_out}",
)

# The watermark stands at exactly 150 s, then at 200 s.
batches = [
    [("b", "x", 200)],
    [("a", "x", 200)],
    [("b", "x", 250)],
    [("b", "x", 250)],
    [("b", "x", 300)],
    [("b", "x", 300)],
]
calls = run(waits, batches, GroupStateTimeout.EventTimeTimeout)
when = [number for number, batch in enumerate(calls) if any(seen.startswith("a timed out") for seen in batch)]
says(
    "spark-timeout-passes",
    when == [5],
    f"at a watermark of 150 s in micro-batch 3, of 200 s in 5, the timeout for 150 s occurs in {when}",
)
