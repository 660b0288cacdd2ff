"""Spark's own operators as queries: each with what its engine needs to know of it.

In complete mode a query puts out its whole table in each micro-batch. A step may take several of them: what tells
nothing new in a step is left out (``traces.told``), so a row that comes out twice in a step came out twice in a
micro-batch, or changed.
"""

from functools import partial

from conformance.engines.native import FORGETS_SILENTLY, NO_TIMERS
from conformance.engines.spark.jobs.batch_plan import end_of_session, end_of_window
from conformance.engines.spark.native.operators import (
    count,
    count_and_latest,
    count_by_value,
    drop_duplicates,
    drop_duplicates_for_good,
    drop_duplicates_then_window,
    drop_duplicates_within_watermark,
    join,
    joined_then_window,
    session_window,
    sliding_window,
    times_compared,
    window,
    windows_joined,
)
from conformance.engines.spark.native.plans import BATCH, BATCH_ENDED, BATCH_ON_TIME, BY_TAG, WITHOUT_TIME
from conformance.engines.spark.native.query import NativeQuery, Next
from conformance.engines.spark.plans.settings import OF_JOINS, OF_SESSIONS
from conformance.engines.spark.refused.refusals import COMPARED
from conformance.model.engine import NativeOperator
from conformance.model.feature import NATIVE, Feature
from conformance.model.lateness import Lateness

WHOLE_TABLE = "each micro-batch puts out the whole table"

COUNTED_WHOLE, WINDOWS_WHOLE = (
    dict.fromkeys(silent, WHOLE_TABLE)
    for silent in (
        (
            "running-counts-rise-by-one-per-element",
            "one-emission-per-element",
            "a-count-comes-out-in-a-step-with-an-element-of-its-key",
            "counts-are-the-same-after-a-restart",
            "the-output-is-stable-under-perturbations-identical",
        ),
        (
            "a-window-comes-out-once",
            "a-window-does-not-come-out-before-its-end",
            "the-last-count-of-a-window-comes-out-in-the-first-advance-that-reaches-its-end",
            "an-element-past-the-end-of-its-window-does-not-bring-it-out-again",
            "windows-of-a-key-that-end-at-once-come-out-in-order",
            "window-counts-ignore-order",
            "window-counts-ignore-bundling",
            "window-counts-are-the-same-after-a-restart",
            "the-output-is-stable-under-perturbations-same-multiset-windows",
        ),
    )
)
"""A guarantee (id) -> why the output of a query in complete mode says nothing of it."""


DEDUP, WINDOWS, SESSIONS, JOIN = (
    (f"bounded-state/{read}", f"bounded-state/counted-{counted}")
    for read, counted in (("dedup", "ids"), ("windows", "windows"), ("sessions", "sessions"), ("join", "join"))
)
"""Programs whose state is read in the end."""

COUNTED_ON, DEDUPLICATED_ON, WINDOWED_ON, JOINED_ON = (
    f"damaged-checkpoints/{done}-on" for done in ("counted", "deduplicated", "windowed", "joined")
)
"""Programs whose checkpoint is damaged."""

BY_TURNS = {"tagged-by-turns": BY_TAG["tagged-by-turns"]}
"""Of queries whose output a restart changes."""


def _joined(how: str, *asks: str) -> NativeQuery:
    """A join that also puts out rows that match nothing, or one of its sides alone."""
    words, whole = f"a stream-stream {how} join with a time range condition", (f"stream-join/{how}",)
    return NativeQuery(
        NativeOperator(*whole, words, also=JOIN, whole=whole),
        partial(join, how=how.replace(" ", "_")),
        Lateness.AT_OR_BEHIND,
        plans=OF_JOINS,
        asks=asks,
        sides=2,
    )


QUERIES = {
    "count": NativeQuery(
        NativeOperator(
            "per-key-counting/count",
            "groupBy().count(), update mode",
            also=(COUNTED_ON, "next-versions/count", "next-versions/count again"),
        ),
        count,
        Lateness.NEVER,
        mode="update",
        plans=BY_TAG | BATCH,
        asks=(
            "count-append",
            "sink-unread",
            "watermark-nested",
            "distinct-count",
            "limit-update",
            "count-changed",
            "key-changed",
        ),
        compares=tuple(COMPARED),
        next={
            "count made a deduplication": Next(drop_duplicates_for_good),
            "maximum added": Next(count_and_latest),
            "count by value": Next(count_by_value),
        },
    ),
    "drop-duplicates": NativeQuery(
        NativeOperator(
            "dedup-within-watermark/dedup",
            "dropDuplicates() with the event time",
            FORGETS_SILENTLY,
            also=(*DEDUP, DEDUPLICATED_ON, "next-versions/deduplication of times"),
        ),
        drop_duplicates,
        Lateness.AT_OR_BEHIND,
        plans={"project-time-away": WITHOUT_TIME} | BATCH_ON_TIME,
        asks=("duplicates-complete", "rate-available-now", "duplicates-changed"),
        next={"time not compared": Next(drop_duplicates_for_good)},
    ),
    "drop-duplicates-for-good": NativeQuery(
        NativeOperator(
            "dedup-within-watermark/dedup",
            "dropDuplicates() without the event time",
            FORGETS_SILENTLY | {"after-the-horizon-an-on-time-id-is-accepted-again": "it never forgets an id"},
            also=(*DEDUP, "next-versions/deduplication", "next-versions/deduplication again"),
        ),
        drop_duplicates_for_good,
        Lateness.AT_OR_BEHIND,
        plans={"project-time-away": WITHOUT_TIME} | BATCH_ON_TIME,
        next={
            "deduplication made a count": Next(count, "update"),
            "time compared": Next(drop_duplicates),
        },
    ),
    "drop-duplicates-within-watermark": NativeQuery(
        NativeOperator(
            "dedup-within-watermark/dedup",
            "dropDuplicatesWithinWatermark()",
            FORGETS_SILENTLY,
            also=(*DEDUP, DEDUPLICATED_ON),
        ),
        drop_duplicates_within_watermark,
        Lateness.AT_OR_BEHIND,
        delay="horizon",
        plans={"project-time-away": WITHOUT_TIME},
        asks=("duplicates-no-watermark",),
        api="dropDuplicatesWithinWatermark",
    ),
    "session-window": NativeQuery(
        NativeOperator("session-timeout/sessions", "session_window(), append mode", NO_TIMERS, also=SESSIONS),
        session_window,
        Lateness.WINDOW_EXPIRED,
        plans={**OF_SESSIONS, **BY_TURNS, **BATCH_ENDED},
        ordered=False,
        ends=end_of_session,
        asks=("session-window-update",),
    ),
    "window": NativeQuery(
        NativeOperator(
            "windowed-counting/windows",
            "groupBy(window()).count(), append mode",
            also=(*WINDOWS, WINDOWED_ON, "next-versions/windows"),
            whole=("windowed-counting/windows", *WINDOWS),
        ),
        window,
        Lateness.WINDOW_EXPIRED,
        plans=BY_TURNS | BATCH_ENDED,
        asks=("windows-of-windows-append", "windows-joined"),
        next={
            "windows doubled": Next(window),
            "deduplication in front": Next(drop_duplicates_then_window),
        },
        ordered=False,
        ends=end_of_window,
    ),
    "window-update": NativeQuery(
        NativeOperator("windowed-counting/windows", "groupBy(window()).count(), update mode", also=WINDOWS),
        window,
        Lateness.WINDOW_EXPIRED,
        mode="update",
        plans=BATCH_ON_TIME,
        asks=("windows-of-windows-update",),
        ordered=False,
    ),
    "count-complete": NativeQuery(
        NativeOperator("per-key-counting/count", "groupBy().count(), complete mode", COUNTED_WHOLE),
        count,
        Lateness.NEVER,
        mode="complete",
        plans=BY_TURNS | BATCH,
        asks=("sorted-append", "complete-without-count"),
        ordered=False,
    ),
    "window-complete": NativeQuery(
        NativeOperator(
            "windowed-counting/windows", "groupBy(window()).count(), complete mode", WINDOWS_WHOLE, also=WINDOWS
        ),
        window,
        Lateness.NEVER,
        mode="complete",
        plans=BATCH,
        ordered=False,
    ),
    "sliding-window": NativeQuery(
        NativeOperator(
            "sliding-windows/windows",
            "groupBy(window() with a slide).count(), append mode",
            whole=("sliding-windows/windows",),
        ),
        sliding_window,
        Lateness.WINDOW_EXPIRED,
        plans=BATCH_ENDED,
        ordered=False,
        ends=end_of_window,
    ),
    "drop-duplicates-then-window": NativeQuery(
        NativeOperator(
            "dedup-then-count/counts",
            "dropDuplicates() and groupBy(window()).count(), append mode",
            also=("next-versions/windows of firsts",),
            whole=("dedup-then-count/counts",),
        ),
        drop_duplicates_then_window,
        Lateness.AT_OR_BEHIND,
        plans=BATCH_ENDED,
        next={"no deduplication in front": Next(window)},
        ordered=False,
        ends=end_of_window,
    ),
    "inner-join": NativeQuery(
        NativeOperator(
            "stream-join/inner",
            "a stream-stream inner join with a time range condition",
            also=(*JOIN, JOINED_ON, "next-versions/join", "next-versions/join made outer"),
            whole=("stream-join/inner", *JOIN),
        ),
        partial(join, how="inner"),
        Lateness.AT_OR_BEHIND,
        plans={**OF_JOINS, **BATCH_ON_TIME},
        asks=("inner-join-update", "inner-join-complete", "join-then-count"),
        next={
            "bound doubled": Next(partial(join, how="inner")),
            "outer": Next(partial(join, how="left_outer")),
        },
        sides=2,
    ),
    "left-outer-join": _joined("left outer", "outer-join-no-watermark"),
    **{f"{how.replace(' ', '-')}-join": _joined(how) for how in ("right outer", "full outer", "left semi")},
    "windows-joined": NativeQuery(
        NativeOperator(
            "operators-in-a-row/joined windows",
            "a stream-stream join of groupBy(window()).count() on both sides",
            whole=("operators-in-a-row/joined windows",),
        ),
        windows_joined,
        Lateness.WINDOW_EXPIRED,
        plans=BATCH_ENDED,
        ordered=False,
        sides=2,
        ends=end_of_window,
    ),
    "join-then-window": NativeQuery(
        NativeOperator(
            "operators-in-a-row/counted pairs",
            "a stream-stream join with a time range condition and groupBy(window()).count() behind it",
            whole=("operators-in-a-row/counted pairs",),
        ),
        joined_then_window,
        Lateness.AT_OR_BEHIND,
        ordered=False,
        sides=2,
        since=(3, 5),  # 3.4.1 refuses it: the join "can emit rows older than the current watermark"
    ),
    "current-time": NativeQuery(
        NativeOperator(
            "current-time/one time",
            "current_timestamp(), now() and localtimestamp() around dropDuplicates()",
        ),
        times_compared,
        Lateness.AT_OR_BEHIND,
        features={Feature.CURRENT_TIME: NATIVE},
    ),
    "count-typed-keys": NativeQuery(
        NativeOperator("typed-keys-of-operators/count", "groupBy(typed columns).count(), update mode"),
        count,
        Lateness.NEVER,
        mode="update",
    ),
    "drop-duplicates-typed-keys": NativeQuery(
        NativeOperator("typed-keys-of-operators/dedup", "dropDuplicates() of typed columns"),
        drop_duplicates_for_good,
        Lateness.AT_OR_BEHIND,
    ),
    "drop-duplicates-within-watermark-typed-keys": NativeQuery(
        NativeOperator("typed-keys-of-operators/dedup", "dropDuplicatesWithinWatermark() of typed columns"),
        drop_duplicates_within_watermark,
        Lateness.AT_OR_BEHIND,
        delay="horizon",
        api="dropDuplicatesWithinWatermark",
    ),
    "inner-join-typed-keys": NativeQuery(
        NativeOperator("typed-keys-of-operators/join", "a stream-stream inner join on typed columns"),
        partial(join, how="inner"),
        Lateness.AT_OR_BEHIND,
        plans=OF_JOINS,
        sides=2,
    ),
}
"""By variant."""
