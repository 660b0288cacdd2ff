"""What PySpark's TwsTester answers when it is asked for what it lacks: the evidence behind "unsupported"."""

import inspect
from typing import Any

from pyspark.sql import Row
from pyspark.sql.streaming import StatefulProcessor
from pyspark.sql.streaming.tws_tester import TwsTester

from conformance.engines.failing import INJECTED
from conformance.model.feature import ON_A_CHECKPOINT, Feature


class _Counting(StatefulProcessor):
    """Counts its rows, and fails at the value "fails" after it has counted it. Every row sets a timer for 150 ms."""

    def init(self, handle: Any) -> None:
        self._handle, self._count = handle, handle.getValueState("count", "n long")

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Any:
        for row in rows:
            self._count.update(((self._count.get() or (0,))[0] + 1,))
            self._handle.registerTimer(150)
            if row.value == "fails":
                raise RuntimeError(INJECTED)
            yield Row(value=row.value)

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Any:
        yield Row(fired=expiredTimerInfo.getExpiryTimeInMs())


LACKS = (
    *(Feature.RESTART, Feature.RESUME, Feature.SINK_FAILURE, Feature.CRASH, Feature.CURRENT_TIME, Feature.ROW_COUNT),
    *ON_A_CHECKPOINT,
)
"""What none of the tester's methods does."""


def evidence() -> dict[Feature, str]:
    """What the tester answers when it is asked for what it lacks."""
    made = f"TwsTester{inspect.signature(TwsTester)}".replace("'", "")
    methods = f"its methods: {', '.join(name for name in dir(TwsTester) if not name.startswith('_'))}"
    return {
        Feature.TTL: _a_ttl(),
        Feature.COALESCED: _an_advance(),
        Feature.NO_DATA: _no_rows(),
        Feature.PARTITIONS: made,
        Feature.RETRY: _a_failure(),
        **dict.fromkeys(LACKS, methods),
        Feature.LATE_COUNTER: f"{_a_late_row()}; {methods}",
        Feature.OUTPUT_TIME: _a_late_row(),
    }


class _Expiring(StatefulProcessor):
    """Keeps each row's value for 10 ms of processing time."""

    def init(self, handle: Any) -> None:
        self._value = handle.getValueState("value", "v string", 10)

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Any:
        for row in rows:
            self._value.update((row.value,))
        yield Row(done=True)


def _a_ttl() -> str:
    tester = TwsTester(_Expiring(), timeMode="ProcessingTime")
    tester.setProcessingTime(100)
    tester.test("k", [Row(value="a")])
    tester.setProcessingTime(200)
    return f"100 ms after a value with a TTL of 10 ms was written, it was {tester.peekValueState('value', 'k')}"


def _counting() -> TwsTester:
    return TwsTester(_Counting(), timeMode="EventTime", eventTimeExtractor=lambda row: row.time)


def _an_advance() -> str:
    tester = _counting()
    tester.test("k", [Row(value="a", time=120)])
    return f"with a timer for 150 ms, setWatermark(200) itself returned {tester.setWatermark(200)}"


def _no_rows() -> str:
    tester = _counting()
    tester.test("k", [Row(value="a", time=120)])
    return f"test() takes a key with its rows; without rows it returned {tester.test('k', [])}"


def _a_failure() -> str:
    tester = _counting()
    try:
        tester.test("k", [Row(value="fails", time=120)])
    except RuntimeError as error:
        return (
            f"test() raised {error!r}, and the state that was written before it stayed: "
            f"{tester.peekValueState('count', 'k')}"
        )
    return "test() did not raise"


def _a_late_row() -> str:
    tester = _counting()
    tester.setWatermark(100)
    given = [Row(value="late", time=90), Row(value="on time", time=120)]
    return f"of {len(given)} rows, one of them late, test() returned {tester.test('k', given)}"
