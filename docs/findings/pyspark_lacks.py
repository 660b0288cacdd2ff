"""PySpark 4.3.0: what its stateful APIs take, by their signatures.

The script ends with an AssertionError if one of these is not so. transformWithState has values, lists and maps, and
neither sets nor combining state; a timer of it is its time alone. It takes initial state. applyInPandasWithState has
one state with one schema for each key, takes no initial state, and has no TTL. No API takes windows.
"""

import inspect

from pyspark.sql.pandas.group_ops import PandasGroupedOpsMixin
from pyspark.sql.streaming import tws_tester
from pyspark.sql.streaming.stateful_processor import StatefulProcessorHandle

handle = {name for name in dir(StatefulProcessorHandle) if not name.startswith("_")}
print("StatefulProcessorHandle:", ", ".join(sorted(handle)))
assert {name for name in handle if name.endswith("State")} == {"getValueState", "getListState", "getMapState"}
assert list(inspect.signature(StatefulProcessorHandle.registerTimer).parameters) == ["self", "expiryTimestampMs"]

groups = set(inspect.signature(PandasGroupedOpsMixin.applyInPandasWithState).parameters)
processors = set(inspect.signature(PandasGroupedOpsMixin.transformWithState).parameters)
print("applyInPandasWithState:", ", ".join(sorted(groups)))
print("transformWithState:", ", ".join(sorted(processors)))
assert "stateStructType" in groups
assert "initialState" in processors - groups
assert not [name for name in groups if "ttl" in name.lower()]
assert not [name for name in groups | processors if "window" in name.lower()]

persist = "States persist indefinitely, even if TTLConfig is set"
print("TwsTester:", persist)
assert persist in inspect.getdoc(tws_tester.TwsTester)
