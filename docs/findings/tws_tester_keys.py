"""PySpark 4.3.0: what TwsTester hands a processor as its key and its rows, where transformWithState does otherwise.

The processor of the `spark-tws` column (engines/spark/row_processor.py) takes four grouping columns as `program, case, key, window = key`
on the real operator.
"""

from pyspark.sql import Row
from pyspark.sql.streaming import StatefulProcessor
from pyspark.sql.streaming.tws_tester import TwsTester


class Tells(StatefulProcessor):
    def init(self, handle):
        pass

    def handleInputRows(self, key, rows, timerValues):
        yield Row(key=key, rows=len(list(rows)))


tester = TwsTester(Tells(), timeMode="EventTime", eventTimeExtractor=lambda row: row.time)
tester.setWatermark(100)
print("one grouping column: ", tester.test("a", [Row(time=101)]))
print("two grouping columns:", tester.test(("a", 1), [Row(time=101)]))
print("late rows alone:     ", tester.test("b", [Row(time=99)]))
