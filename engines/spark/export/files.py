"""The exports "twstester" and "spark": a witness as a StatefulProcessor, on PySpark's TwsTester and on Spark itself,
there with rows or with pandas frames, or as a state function of applyInPandasWithState."""

from collections.abc import Iterable, Mapping
from typing import Any

from conformance.engines import exporting
from conformance.engines.spark.export import cells as export_cells
from conformance.engines.spark.export import groups as export_groups
from conformance.engines.spark.export import native as export_native
from conformance.engines.spark.export import query as export_query
from conformance.engines.spark.state import typed_cells
from conformance.engines.spelled_out import Calls, EngineCalls
from conformance.model.export import CannotExport, Difference, Exportable, OfSibling, literal
from conformance.model.program import Cell, FixedWindows, Program
from conformance.model.schedule import Plan, Restart, Step
from conformance.model.types import Struct, Type

TESTER, SPARK, PANDAS, GROUPS = "spark-tws-tester", "spark-tws", "spark-tws-pandas", export_groups.GROUPS
NATIVE = export_native.NATIVE

IN_PYSPARK = {
    SPARK: "transformWithState in PySpark (spark-tws)",
    PANDAS: "transformWithStateInPandas in PySpark (spark-tws-pandas)",
    GROUPS: "applyInPandasWithState in PySpark (spark-fmgws-pandas)",
}
SIBLINGS = {"spark-tws-jvm": (SPARK, PANDAS), "spark-fmgws-jvm": (GROUPS,), "spark-mgws-jvm": (GROUPS,)}
"""Engines of the JVM's API -> those of the same operator in PySpark, the nearest first."""

HANDLES = {
    Cell.VALUE: "handle.getValueState({!r}, 'v string')",
    Cell.BAG: "handle.getListState({!r}, 'v string')",
    Cell.MAP: "handle.getMapState({!r}, 'k string', 'v string')",
    Cell.SET: "handle.getMapState({!r}, 'k string', 'v string')",
    Cell.COMBINING: "handle.getValueState({!r}, 'v string')",
}
PLAIN: Calls = {
    (Cell.VALUE, "get"): "json.loads((here.get() or [json.dumps(a)])[0])",
    (Cell.VALUE, "set"): "here.update((json.dumps(a),))",
    (Cell.COMBINING, "get"): "json.loads((here.get() or ['0'])[0])",
    (Cell.COMBINING, "add"): "here.update((json.dumps(json.loads((here.get() or ['0'])[0]) + a),))",
    (Cell.BAG, "get"): "[json.loads(row[0]) for row in here.get()]",
    (Cell.BAG, "add"): "here.appendValue((json.dumps(a),))",
    (Cell.BAG, "set"): "here.put([(json.dumps(each),) for each in a]) if a else here.clear()",
    (Cell.MAP, "get"): "json.loads((here.getValue((a,)) or [json.dumps(b)])[0])",
    (Cell.MAP, "put"): "here.updateValue((a,), (json.dumps(b),))",
    (Cell.MAP, "remove"): "here.removeKey((a,))",
    (Cell.MAP, "items"): "[(row[0], json.loads(value[0])) for row, value in here.iterator()]",
    (Cell.SET, "get"): "[row[0] for row, _ in here.iterator()]",
    (Cell.SET, "add"): "here.updateValue((a,), ('null',))",
    **{(kind, "clear"): "here.clear()" for kind in Cell},
}
"""What a program's calls are on the state variables, which hold JSON texts. ListState refuses to be put nothing."""


def typed(kind: Cell, of: Type) -> Calls:
    """What a program's calls are on a state variable of a type. A struct is a row of several columns, another value is
    one column."""
    *_, value = structs = [isinstance(part, Struct) for part in typed_cells.parts(of, kind)]
    first, second, each = (
        name if struct else f"({name},)"
        for name, struct in zip(("a", "b", "each"), (structs[0], value, value), strict=True)
    )
    row = "row" if value else "row[0]"
    get, by_key = (
        f"({read} or {default})" if value else f"({read} or [{default}])[0]"
        for read, default in (("here.get()", "a"), (f"here.getValue({first})", "b"))
    )
    return {
        (Cell.VALUE, "get"): get,
        (Cell.VALUE, "set"): f"here.update({first})",
        (Cell.BAG, "get"): f"[{row} for row in here.get()]",
        (Cell.BAG, "add"): f"here.appendValue({first})",
        (Cell.BAG, "set"): f"here.put([{each} for each in a])",
        (Cell.MAP, "get"): by_key,
        (Cell.MAP, "put"): f"here.updateValue({first}, {second})",
        (Cell.MAP, "remove"): f"here.removeKey({first})",
        (Cell.MAP, "items"): f"[({'key' if structs[0] else 'key[0]'}, {row}) for key, row in here.iterator()]",
        **{(kind, "clear"): "here.clear()" for kind in Cell},
    }


CALLS = EngineCalls(PLAIN, typed)
WITH_ONE_TIMER = EngineCalls({**PLAIN, (None, "set"): "here.registerTimer(b)"}, typed, one_timer=True)

IMPORTS = ("from types import SimpleNamespace",)
PROCESSOR_IMPORTS = ("from pyspark.sql import Row", "from pyspark.sql.streaming import StatefulProcessor")
TESTER_IMPORTS = (
    *PROCESSOR_IMPORTS,
    "from pyspark.errors import IllegalArgumentException",
    "from pyspark.sql.streaming.tws_tester import TwsTester",
)
PROCESSOR = """
class Processor(StatefulProcessor):
    def init(self, handle):
        self.given = SimpleNamespace({state}), {timers}
    def handleInputRows(self, key, rows, timerValues):
        for row in ({given} if row.id):  # the others move the watermark
            event = SimpleNamespace(id=row.id, key={handed}, value=json.loads(row.value), event_time={ms})
            yield from {row}
"""

EXPIRED = """    def handleExpiredTimer(self, key, timerValues, expiredTimerInfo):
        time = expiredTimerInfo.getExpiryTimeInMs()
        for name, tag in self.given[1].due(time, {first!r}):
            timer = SimpleNamespace(name=name, tag=tag, key={key}, time=time)
            yield from {row}
"""

ONE_EXPIRED = """    def handleExpiredTimer(self, key, timerValues, expiredTimerInfo):
        timer = SimpleNamespace(key={key}, time=expiredTimerInfo.getExpiryTimeInMs())
        yield from {row}
"""

ROWS = {
    "given": "row for row in rows",
    "ms": "row.ms",
    "row": "(Row(row=json.dumps(row)) for row in outputs({}, *self.given))",
}
FRAMES = {
    "given": "row for frame in rows for row in frame.itertuples()",
    "ms": "int(row.ms)",
    "row": "(pd.DataFrame(dict(row=[json.dumps(row)])) for row in outputs({}, *self.given))",
}
"""What a processor has for rows, and for pandas frames."""

TESTER_RUN = """
def called(method, *given):
    try:
        return [json.loads(row.row) for row in method(*given)]
    except IllegalArgumentException as error:
        print(f"{method.__name__} raised {error}")
        return []

def run():
    tester = TwsTester(Processor(), timeMode="EventTime", eventTimeExtractor=lambda row: row.ms)
    found = []
    for kind, given in STEPS:
        if kind == "watermark":
            found += called(tester.setWatermark, given)
            continue
        calls = {}  # the rows of a key that arrive together are one call
        for id, key, value, time in given:
            row = Row(id=id, key=key, value=json.dumps(value), ms=time)
            calls.setdefault({grouped}, []).append(row)
        for key, rows in calls.items():
            found += called(tester.test, key, rows)
    return found
"""


PROCESSED = """(Processor(), "row string", "Append", "EventTime")"""

METHODS = {
    SPARK: f"transformWithState{PROCESSED}",
    PANDAS: f"transformWithStateInPandas{PROCESSED}",
    GROUPS: export_groups.CALL,
}
"""The call of each engine's operator."""

BATCH = "batch"
"""The plan in which the operator is in a batch query."""


def twstester(asked: Exportable) -> str:
    """The file. Raises CannotExport where the witness is of another engine, or does not fit."""
    if asked.engine != TESTER:
        raise CannotExport(f"twstester exports witnesses of {TESTER}; witness {asked.witness} is of {asked.engine}")
    size = _window(asked)
    run = TESTER_RUN.replace("{grouped}", f"(key, time - time % {size})" if size else "key")
    if asked.typed_keys:
        raise CannotExport(f"witness {asked.witness}: its program needs typed keys, which twstester does not have")
    operator = _processor(asked, "key[0][0]" if size else "key[0]")
    return _file(asked, TESTER_IMPORTS, operator + "\n" + run)


def spark(asked: Exportable) -> str:
    """The file. Raises CannotExport where the witness is of another engine, or does not fit."""
    if asked.engine.startswith(NATIVE):
        return export_native.spark(asked)
    if asked.engine in SIBLINGS:
        raise OfSibling(asked, {engine: IN_PYSPARK[engine] for engine in SIBLINGS[asked.engine]})
    if asked.engine not in METHODS:
        *others, last = *METHODS, "Spark's own operators"
        raise CannotExport(
            f"spark exports witnesses of {', '.join(others)} and {last}; witness {asked.witness} is of {asked.engine}"
        )
    difference = asked.difference
    if difference is Difference.ORDER:
        raise CannotExport(
            f"witness {asked.witness}: its output is wrong by its order alone, which depends on the partitions that "
            "keys fall into"
        )
    frames = asked.engine != SPARK
    size = _window(asked)
    changes = f'withColumn("window", F.expr("ms - ms % {size}")).' if size else ""
    columns, key, handed = '"key"', "key[0]", "row.key"
    keys = asked.typed_keys
    if keys:
        changes += f'withColumn("beat", F.col("id") == "").withColumn("typed", {_typed_key(*keys)}).'
        # A struct is a dictionary in pandas.
        columns, key = (
            '"beat", "typed"',
            "tuple(key[1].values()) if isinstance(key[1], dict) else key[1]" if frames else "key[1]",
        )
        handed = key
    batch = bool(exporting.plans_of(asked, (BATCH,)))
    if asked.engine == GROUPS:
        operator = export_groups.function(asked, key, handed)
    else:
        operator = _processor(asked, key, FRAMES if frames else ROWS, handed)
    store = export_query.HDFS if asked.engine == GROUPS else export_query.ROCKSDB
    grouped = f'{columns}, "window"' if size else columns
    out = f"rows.{changes}groupBy({grouped}).{METHODS[asked.engine]}"
    text = (
        export_query.batch(out, "json.loads(row.row)", store)
        if batch
        else export_query.stream(asked, out, "*json.loads(row.row)", store)
    )
    imports = (*PROCESSOR_IMPORTS, *export_query.IMPORTS, "import pandas as pd")
    return _file(asked, imports, operator + "\n" + text, (Restart, Plan), by_step=not batch)


def _window(asked: Exportable) -> int:
    """The size (ms) of the program's windows, which are part of the grouping key; 0 for the global window."""
    windowing = asked.program.windowing
    return windowing.size if isinstance(windowing, FixedWindows) else 0


def _processor(asked: Exportable, key: str, given: Mapping[str, str] = ROWS, handed: str = "row.key") -> str:
    program, alone = asked.program, exporting.sets_one_timer(asked)
    rows = given["row"].format
    text = PROCESSOR.format(
        state=", ".join(f"{name}={_handle(program, name)}" for name in program.cells),
        timers=("handle" if alone else "NamedTimers(handle)") if program.timers else "None",
        handed=handed,
        **{**given, "row": rows("PROGRAM.on_event, event")},
    )
    if program.timers:
        text += (ONE_EXPIRED if alone else EXPIRED).format(
            first=program.timers[0], key=key, row=rows("PROGRAM.on_timer, timer")
        )
    return text


def _typed_key(kind: Type, values: Mapping[str, Any]) -> str:
    """The source of the column of the key that a name stands for; a row without one has the first key, in its own
    group."""
    (_, found), *others = (
        (name, f"{_column(value)}.cast({typed_cells.ddl(kind)!r})") for name, value in values.items()
    )
    for name, column in others:
        found = f'F.when(F.col("key") == {name!r}, {column}).otherwise({found})'
    return found


def _column(value: Any) -> str:
    return f"F.struct({', '.join(map(_column, value))})" if isinstance(value, tuple) else f"F.lit({literal(value)})"


def _handle(program: Program, cell: str) -> str:
    """The source of a state variable."""
    kind = program.cells[cell]
    if cell not in program.types:
        return HANDLES[kind].format(cell)
    parts = zip(typed_cells.parts(program.types[cell], kind), "kv" if kind is Cell.MAP else "v", strict=True)
    schemas = ", ".join(repr(typed_cells.columns(part, name)) for part, name in parts)
    return f"{HANDLES[kind].partition('(')[0]}({cell!r}, {schemas})"


def _file(
    asked: Exportable,
    imports: Iterable[str],
    operator: str,
    others: tuple[type[Step], ...] = (),
    *,
    by_step: bool = False,
) -> str:
    needs = export_query.needs(asked) + " pandas pyarrow" * (asked.engine in (PANDAS, GROUPS))
    used = [export_cells.NamedTimers] if "NamedTimers(" in operator else []
    one_timer = asked.program.timers and not used
    calls = export_groups.CALLS if asked.engine == GROUPS else WITH_ONE_TIMER if one_timer else CALLS
    source = exporting.Source(needs, (*IMPORTS, *imports), used, operator, calls)
    return exporting.file_of(asked, source, others, by_step=by_step)
