"""What is read of the plan of a user's query on Spark, and how its rows are collected."""

from types import SimpleNamespace

import pytest

pa = pytest.importorskip("pyarrow")

from conformance.engines.spark.runtime.running import collected  # noqa: E402
from conformance.engines.spark.subjects.facts import durations, zones  # noqa: E402

PLAN = """Aggregate [week#1, user#2], [week#1, user#2, sum(n#3) AS n#4L]
+- Project [date_trunc(week, at#5, Some(America/New_York)) AS week#1, user#2, concat(No/Zone) AS n#3]
   +- EventTimeWatermark at#5: timestamp, 90 seconds
"""


def test_times_and_zones_are_read_of_a_plan():
    assert durations(PLAN) == [90_000]
    assert zones(PLAN) == ("America/New_York",)


def test_a_map_is_a_dict_however_its_rows_are_collected():
    table = pa.table({"m": pa.array([[("a", 1)], [], None], pa.map_(pa.string(), pa.int64()))})
    by_arrow = collected(SimpleNamespace(toArrow=lambda: table))
    rows = [SimpleNamespace(asDict=lambda value=value: {"m": value}) for value in ({"a": 1}, {}, None)]
    assert by_arrow == collected(SimpleNamespace(collect=lambda: rows))
