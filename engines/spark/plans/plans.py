"""Plans: what can stand around the operator of a query without changing what the query says.

Each plan differs from the plain query, ``read.withWatermark(…)`` and the operator, in the part that its text shows.
Nothing here drops, adds or reorders the rows of a key.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from conformance.engines.spark.driving.layouts import Layout
from conformance.engines.spark.plans import plan_changes as changes
from conformance.engines.spark.plans.around import PLAIN_TEXT, Change, Changes, Runs, SparkPlan, Twins
from conformance.engines.spark.runtime.running import MEMORY, PARQUET

RESTARTED = " # restarted"

WATERMARKED = "rows.withWatermark('event_time', delay)"


AS_BATCH = SparkPlan(
    "a batch query on all rows so far, for each micro-batch",
    "operator(spark.read.parquet(files so far)) # what is new in it",
    runs=Runs.BATCH,
    twins=Twins(on_time=True),
)
"""Nothing is late in a batch query."""

BATCH = {"batch": AS_BATCH}
"""Of operators that are there in batch queries, too."""


def _before(title: str, code: str, change: Change, *, evaluations: int = 1) -> SparkPlan:
    return SparkPlan(title, f"operator({WATERMARKED}{code})", changes=Changes(before=change), evaluations=evaluations)


def _early(title: str, rows: str, change: Change, *, evaluations: int = 1) -> SparkPlan:
    return SparkPlan(
        title,
        f"operator({rows}.withWatermark('event_time', delay))",
        changes=Changes(early=change),
        evaluations=evaluations,
    )


def _behind(title: str, code: str, change: Change) -> SparkPlan:
    return SparkPlan(title, f"{PLAIN_TEXT}{code}", changes=Changes(behind=change))


def with_settings(title: str, settings: Mapping[str, str], *, restarts: bool = False, off: bool = False) -> SparkPlan:
    """The plain query in a session with these settings. ``off``: they turn a part of the engine off."""
    told = "; ".join(f"SET {name.removeprefix('spark.sql.')}={value}" for name, value in settings.items())
    return SparkPlan(
        title,
        f"{told}; {PLAIN_TEXT}{RESTARTED * restarts}",
        settings=settings,
        twins=Twins(restarts=restarts, off=off),
    )


def not_restarted(plan: SparkPlan) -> SparkPlan:
    """The plan without its restart."""
    return replace(plan, twins=replace(plan.twins, restarts=False), text=plan.text.removesuffix(RESTARTED))


def _without_rule(rule: str) -> SparkPlan:
    name = "spark.sql.optimizer.excludedRules"
    return with_settings(
        f"without the optimizer's rule {rule}", {name: f"org.apache.spark.sql.catalyst.optimizer.{rule}"}, off=True
    )


NULLABILITY = frozenset({"nullability"})
"""A key can be null, or it cannot: of two plans that say so the last one would count."""

DUPLICATES_BEHIND, WINDOWS_BEHIND = "duplicates behind", "windows behind"
"""Places of a query for other operators with state."""

TWO = "operator(one.union(two).withWatermark('event_time', delay))"

PLANS: Mapping[str, SparkPlan] = {
    "union-empty": SparkPlan(
        "a union with a stream that never has rows", TWO, layout=Layout(sources=2, idle=True), twins=Twins(always=True)
    ),
    "union-by-turns": SparkPlan(
        "a union of two streams that are empty by turns", TWO, layout=Layout(sources=2, fed=True)
    ),
    "union-later": SparkPlan(
        "a union with a stream that has no rows before a restart",
        TWO + RESTARTED,
        layout=Layout(sources=2, later=True),
        twins=Twins(restarts=True),
    ),
    "union-of-halves": _before(
        "a union of two halves of the stream", ".where(half).union(….where(other half))", changes.halves, evaluations=2
    ),
    "union-false": _before(
        "a union with a branch that a filter empties",
        ".union(….where('length(key) < 0'))",
        changes.with_false_branch,
        evaluations=2,
    ),
    "columns-unused": _before(
        "columns that nothing uses", ".withColumn('unused', …).withColumn('more', …)", changes.unused
    ),
    "columns-reversed": _before(
        "the columns in another order", ".select(*reversed(columns))", changes.columns_reversed
    ),
    "columns-behind-reversed": _behind(
        "the output's columns in another order", ".select(*reversed(columns))", changes.columns_reversed
    ),
    "time-renamed": _before(
        "the event time renamed and back",
        ".withColumnRenamed('event_time', 'time').withColumnRenamed('time', 'event_time')",
        changes.renamed,
    ),
    "time-derived": _early(
        "the event time computed",
        "rows.selectExpr(…, 'timestamp_micros(unix_micros(event_time)) AS event_time')",
        changes.derived,
    ),
    "time-nested": _before(
        "the event time in a struct and out of it",
        ".select(struct(*columns).alias('row')).select('row.*')",
        changes.nested,
    ),
    "cast": _before(
        "casts that change nothing",
        ".withColumn('key', key.cast('string')).withColumn('step', step.cast('long'))",
        changes.cast,
    ),
    "not-null": replace(
        _before("keys that cannot be null", ".withColumn('key', coalesce('key', lit('')))", changes.not_null),
        places=NULLABILITY,
    ),
    "nullable": replace(
        _before("keys that could be null", ".withColumn('key', when(length('key') >= 0, key))", changes.nullable),
        places=NULLABILITY,
    ),
    "filter-true": _before(
        "a filter that is always true", ".where('length(key) >= 0 AND step + 1 > step')", changes.always_true
    ),
    "filter-behind": _behind(
        "a filter behind that is always true", ".where('length(case) >= 0')", lambda f: f.where("length(`case`) >= 0")
    ),
    "explode": _before(
        "an explode of one element", ".withColumn('one', explode(array(lit(1)))).drop('one')", changes.exploded
    ),
    "explode-behind": _behind(
        "an explode behind of one element", ".withColumn('one', explode(array(lit(1)))).drop('one')", changes.exploded
    ),
    "repartition": _before("repartitioned by key before", ".repartition(3, 'program', 'case', 'key')", changes.by_key),
    "coalesce": _before("coalesced before", ".coalesce(1)", changes.one_partition),
    "coalesce-behind": _behind("coalesced behind", ".coalesce(1)", changes.one_partition),
    "static-join": _before("a join with a static table of one row", ".join(broadcast(one row), 'one')", changes.joined),
    "static-join-empty": _before(
        "an outer join with a static table that a filter empties",
        ".join(one row.where('false'), 'one', 'left_outer')",
        changes.joined_with_none,
    ),
    "static-semi-join": _before(
        "a semi join with a static table of one row",
        ".join(broadcast(one row), 'one', 'left_semi')",
        partial(changes.joined, how="left_semi"),
    ),
    "static-anti-join-empty": _before(
        "an anti join with a static table that a filter empties",
        ".join(one row.where('false'), 'one', 'left_anti')",
        partial(changes.joined_with_none, how="left_anti"),
    ),
    "sql-cte": SparkPlan(
        "a common table expression in SQL text",
        "operator(spark.sql('WITH mine AS (SELECT * FROM rows_with_watermark) SELECT * FROM mine'))",
        changes=Changes(before=changes.in_sql),
    ),
    "sql-cte-early": _early(
        "a common table expression in SQL text before the watermark",
        "spark.sql('WITH mine AS (SELECT * FROM rows) SELECT * FROM mine')",
        changes.in_sql,
    ),
    "sql-cte-twice": _early(
        "a union of two halves of a common table expression in SQL text",
        "spark.sql('WITH mine AS (SELECT * FROM rows) SELECT * FROM mine WHERE half UNION ALL SELECT * FROM mine "
        "WHERE other half')",
        changes.halves_in_sql,
        evaluations=2,
    ),
    "aliased": _before("all columns of an alias", ".alias('mine').select('mine.*')", changes.aliased),
    "observed": _before("rows counted on their way", ".observe('rows', count(lit(1)))", changes.observed),
    "observed-behind": _behind("output counted on its way", ".observe('rows', count(lit(1)))", changes.observed),
    "sink-checkpointed": SparkPlan(
        "foreachBatch checkpoints its rows",
        f"{PLAIN_TEXT}.writeStream.foreachBatch(lambda rows, n: rows.localCheckpoint() …)",
        changes=Changes(sink=changes.checkpointed),
    ),
    "sink-cached": SparkPlan(
        "foreachBatch caches its rows",
        f"{PLAIN_TEXT}.writeStream.foreachBatch(lambda rows, n: rows.persist() …)",
        changes=Changes(sink=changes.cached),
    ),
    "sink-twice": SparkPlan(
        "foreachBatch evaluates its rows twice",
        f"{PLAIN_TEXT}.writeStream.foreachBatch(lambda rows, n: rows.select('case').collect(); rows.collect())",
        changes=Changes(sink=changes.counted),
        evaluations=2,
    ),
    "several-files": SparkPlan(
        "several files a micro-batch",
        "rows = readStream.option('maxFilesPerTrigger', 3)…; " + PLAIN_TEXT,
        layout=Layout(files=3),
    ),
    "row-groups": SparkPlan(
        "several row groups in a file",
        "rows = readStream of files with 3 rows in a row group; " + PLAIN_TEXT,
        layout=Layout(group=3),
    ),
    "python-udf": _before(
        "a key through a function in Python", ".withColumn('key', udf(same)(key))", changes.in_python
    ),
    "map-in-arrow-behind": _behind(
        "the output through a function in Python", ".mapInArrow(same, schema)", changes.in_arrow
    ),
    "no-data-batch": SparkPlan(
        "an advance acts in a micro-batch without rows",
        f"{PLAIN_TEXT} # trigger(processingTime='0 seconds')",
        layout=Layout(fed=True, settles_without_data=True),
    ),
    "no-codegen": with_settings("whole-stage code generation off", {"spark.sql.codegen.wholeStage": "false"}, off=True),
    "no-adaptive": with_settings("adaptive execution off", {"spark.sql.adaptive.enabled": "false"}, off=True),
    "rule-column-pruning": _without_rule("ColumnPruning"),
    "rule-foldable": _without_rule("FoldablePropagation"),
    "rule-empty-relation": _without_rule("PropagateEmptyRelation"),
    "rule-collapse-project": _without_rule("CollapseProject"),
    "rule-push-down": _without_rule("PushDownPredicates"),
    "rule-prune-filters": _without_rule("PruneFilters"),
    "rule-constant-folding": _without_rule("ConstantFolding"),
}
"""The plans of every Spark engine; ``setting_plans`` has more for some."""

TWICE: Mapping[str, SparkPlan] = {
    "side-by-side": SparkPlan(
        "the operator twice, each time for half of the keys",
        f"operator({WATERMARKED}.where(half)).union(operator({WATERMARKED}.where(other half)))",
        side_by_side=True,
        evaluations=2,
        several_operators=True,
    ),
}
"""Of operators that run programs, in append mode. Update mode refuses several ("Multiple mapGroupsWithStates are not
supported", 4.3.0), and no mode takes several applyInPandasWithState ("Multiple applyInPandasWithStates are not
supported", 4.0.5, 4.1.4 and 4.3.0)."""

APPENDED: Mapping[str, SparkPlan] = {
    "sink-files": SparkPlan(
        "the output goes to Parquet files", f"{PLAIN_TEXT}.writeStream.format('parquet')", to=PARQUET
    ),
    "sink-memory": SparkPlan(
        "the output goes to a table in memory",
        f"{PLAIN_TEXT}.writeStream.format('memory')",
        to=MEMORY,
        twins=Twins(one_query=True),
    ),
}
"""Of queries in append mode. The file sink takes no other mode, and the memory sink goes on from a checkpoint in
complete mode alone (Structured Streaming guide, Output sinks)."""

IN_A_ROW: Mapping[str, SparkPlan] = {
    "duplicates-behind": replace(
        _behind("duplicates of output rows dropped behind", ".dropDuplicates(['nonce'])", changes.no_duplicates),
        several_operators=True,
        exchanged=True,
        places=frozenset({DUPLICATES_BEHIND}),
    ),
}
"""Another stateful operator behind. A row of the output has a nonce that no other row has."""

AGGREGATED: Mapping[str, SparkPlan] = {
    "windows-behind": SparkPlan(
        "output rows aggregated in windows behind, in the event time that the operator declares",
        f"{PLAIN_TEXT[:-1]}, eventTimeColumnName='time').groupBy('nonce', window('time', '1 "
        "millisecond')).agg(first(…), …)",
        changes=Changes(behind=changes.aggregated),
        timed=True,
        several_operators=True,
        exchanged=True,
        places=frozenset({WINDOWS_BEHIND}),
    ),
}
"""Of operators that can say which column of their output is its event time."""
