"""What transformWithState gives for a value that was never set, does with two timers for one time, with an empty frame
in update mode, and with timers where there is no time."""

import pandas as pd
from pyspark.sql import Row
from pyspark.sql.streaming import StatefulProcessor
from saying import ROCKSDB, collected, micro_batches, outcome, says, spark_session


class ReadFirst(StatefulProcessor):
    def init(self, handle):
        self.value = handle.getValueState("value", "value long")

    def handleInputRows(self, key, rows, timerValues):
        yield Row(seen=f"get: {self.value.get()}, exists: {self.value.exists()}")


class TwoTimers(StatefulProcessor):
    def init(self, handle):
        self.handle = handle

    def handleInputRows(self, key, rows, timerValues):
        for row in rows:
            if row.what == "sets":
                self.handle.registerTimer(150_000)
                self.handle.registerTimer(150_000)
                self.handle.registerTimer(160_000)
                yield Row(seen=f"listed {sorted(self.handle.listTimers())}")

    def handleExpiredTimer(self, key, timerValues, expiredTimerInfo):
        yield Row(seen=f"fired {expiredTimerInfo.getExpiryTimeInMs()}")


class NoOutput(StatefulProcessor):
    def __init__(self, empty):
        self.empty = empty

    def init(self, handle):
        pass

    def handleInputRows(self, key, rows, timerValues):
        found = [what for frame in rows for what in frame["what"]]
        yield self.empty if found == ["empty"] else pd.DataFrame({"key": [key[0]], "what": found[:1]})


class SetsTimer(ReadFirst):
    def init(self, handle):
        self.handle = handle

    def handleInputRows(self, key, rows, timerValues):
        self.handle.registerTimer(1)
        yield Row(seen="it was registered")


spark = spark_session(**{"spark.sql.streaming.stateStore.providerClass": ROCKSDB})


def run(processor, batches, time_mode):
    frame = (
        micro_batches(spark, batches).groupBy("key").transformWithState(processor, "seen string", "Append", time_mode)
    )
    return [seen for rows in collected(frame).values() for (seen,) in rows]


one = [[("a", "x", 200)]]
(read,) = run(ReadFirst(), one, "None")
says("spark-no-defaults", read == "get: None, exists: False", read)
says("pyspark-value-none", read.startswith("get: None"), read)

# The watermark is 100 s behind: at 100 s when the timers are set, then at 200 s.
moves = [[("a", "x", 200)], [("a", "sets", 200)], [("b", "x", 300)], [("b", "x", 300)]]
timers = run(TwoTimers(), moves, "EventTime")
once = timers == ["listed [150000, 160000]", "fired 150000", "fired 160000"]
says("spark-timer-identity", once, f"150 s registered twice, 160 s once: {', '.join(timers)}")


def updates(empty):
    groups = micro_batches(spark, [[("a", "first", 200)], [("a", "empty", 200)]]).groupBy("key")
    frame = groups.transformWithStateInPandas(NoOutput(empty), "key string, what string", "Update", "None")
    return list(collected(frame, "update").values())[:2]


# What each of two micro-batches put out; the second call gave an empty frame.
empties = {
    "pd.DataFrame()": pd.DataFrame(),
    "columns without rows": pd.DataFrame({"key": [], "what": []}),
    "columns of text without rows": pd.DataFrame({"key": [], "what": []}, dtype=str),
}
put_out = {name: outcome(lambda empty=empty: updates(empty)) for name, empty in empties.items()}
says("spark-empty-output-in-update-mode", any("None" in rows for rows in put_out.values()), put_out)

answer = outcome(lambda: run(SetsTimer(), one, "None"))
says("spark-no-time", "registered" not in answer, f"registerTimer in time mode None: {answer}")
