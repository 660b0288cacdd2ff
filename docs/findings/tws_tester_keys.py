"""PySpark 4.3.0: TwsTester hands a processor another key and other rows than transformWithState does.

On the real operator, the processor of the engine `spark-tws` (engines/spark/operators/row_processor.py) takes its four
grouping columns as `program, case, key, window = key`.
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
