"""PySpark 4.3.0: TwsTester refuses a timer for a time that the watermark has passed; transformWithState takes it.

The real operator fires such a timer in the next micro-batch: `conformance run --engine spark-tws --scenario
event-time-timers`, guarantee "a timer set from a timer fires in the first advance that reaches it".
"""

from pyspark.errors import IllegalArgumentException
from pyspark.sql import Row
from pyspark.sql.streaming import StatefulProcessor
from pyspark.sql.streaming.tws_tester import TwsTester


class OneSetsAnother(StatefulProcessor):
    def init(self, handle):
        self.handle = handle

    def handleInputRows(self, key, rows, timerValues):
        for row in rows:
            self.handle.registerTimer(row.timer)
        yield from ()

    def handleExpiredTimer(self, key, timerValues, expiredTimerInfo):
        time = expiredTimerInfo.getExpiryTimeInMs()
        print(f"called for the timer {time} of {key}")
        if time == 120:
            self.handle.registerTimer(130)
        yield Row(fired=time)


def tester():
    made = TwsTester(OneSetsAnother(), timeMode="EventTime", eventTimeExtractor=lambda row: row.time)
    made.setWatermark(100)
    made.test("a", [Row(time=101, timer=110)])
    made.test("b", [Row(time=101, timer=120)])
    return made


print("one advance past all three timers")
in_one = tester()
try:
    print("returned", in_one.setWatermark(200))
except IllegalArgumentException as error:
    print("raised", error)
print("the next advance: the output of the timer at 110 is lost, the timer at 120 is called again")
try:
    print("returned", in_one.setWatermark(201))
except IllegalArgumentException as error:
    print("raised", error)
print("an advance that stops before the third timer")
in_two = tester()
print("returned", in_two.setWatermark(125), "and", in_two.setWatermark(200))
