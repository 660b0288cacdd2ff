"""PySpark 4.3.0: TwsTester refuses a timer that ``handleInputRows`` sets for exactly the watermark, and the call's
output is lost.

TwsTester takes a timer for the next millisecond. transformWithState takes both: `conformance run --engine spark-tws
--scenario timer-firing`, guarantee "a timer set for exactly the watermark fires once".
"""

from pyspark.errors import IllegalArgumentException
from pyspark.sql import Row
from pyspark.sql.streaming import StatefulProcessor
from pyspark.sql.streaming.tws_tester import TwsTester


class SetsATimer(StatefulProcessor):
    def init(self, handle):
        self.handle = handle

    def handleInputRows(self, key, rows, timerValues):
        for row in rows:
            self.handle.registerTimer(row.timer)
            yield Row(took=row.timer)

    def handleExpiredTimer(self, key, timerValues, expiredTimerInfo):
        yield Row(fired=expiredTimerInfo.getExpiryTimeInMs())


for time in (100, 101):
    tester = TwsTester(SetsATimer(), timeMode="EventTime", eventTimeExtractor=lambda row: row.time)
    tester.setWatermark(100)
    try:
        print(f"at the watermark 100, a timer for {time}: returned", tester.test("a", [Row(time=101, timer=time)]))
    except IllegalArgumentException as error:
        print(f"at the watermark 100, a timer for {time}: raised", error)
    print("the next advance returned", tester.setWatermark(200))
