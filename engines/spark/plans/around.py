"""What stands around the operator of a query: that of one plan, and that of several plans at once.

A plan says which places of a query it takes (``SparkPlan.slots``). Plans that share none stand in one query: their
changes are done one after the other, in the order in which the engine lists its plans.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from math import prod
from typing import TYPE_CHECKING, Any

from conformance.engines.planned import chained, prove_meeting, same
from conformance.engines.spark.driving.layouts import PLAIN as PLAIN_LAYOUT
from conformance.engines.spark.driving.layouts import Layout
from conformance.model.plan import QUERY, PlanTwin

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Change = Callable[["DataFrame"], "DataFrame"]


@dataclass(frozen=True)
class Changes:
    """What is done to the rows of a query, by the place.

    Attributes:
        early: before the watermark is declared.
        before: between the watermark and the operator.
        behind: behind the operator.
        sink: to a micro-batch in ``foreachBatch``, before its rows are taken.
    """

    early: Change = same
    before: Change = same
    behind: Change = same
    sink: Change = same


@dataclass(frozen=True)
class Twins:
    """Which cases have a twin under a plan, and when: as ``PlanTwin`` says."""

    restarts: bool = False
    one_query: bool = False
    on_time: bool = False
    always: bool = False
    off: bool = False


class Runs(Enum):
    """How a query runs.

    Members:
        BATCH: there is no stream: batch queries answer, see ``batch_plan``.
        CONNECT: it goes through Spark Connect, see ``connected``.
    """

    STREAM = "a stream"
    BATCH = "batch queries"
    CONNECT = "a stream through Spark Connect"


@dataclass(frozen=True)
class SparkPlan:
    """What stands around the operator.

    Attributes:
        title: what is different, in words.
        text: the query of this plan; ``rows`` is what is read, ``operator`` is the operator under test.
        layout: where the rows lie.
        evaluations: how often a row is read.
        tagged: the rows of each source have a literal of their own in the column ``tag``.
        side_by_side: the operator is there twice, each time for half of the keys.
        to: the sink of Spark's own that the output goes to, not to ``foreachBatch``: PARQUET or MEMORY of ``running``.
        timed: the operator declares the event time of its output, which an aggregation behind goes by. Its rows say the
            micro-batch that they left the operator in.
        exchanged: the output goes by other columns than the key behind the operator, and loses its order there. The
            rows of a micro-batch are read in the order in which the operator put them out, since no order is promised
            to them.
        several_operators: what the operator stored is not the only state of the query.
        settings: of the session.
        places: what the plan takes of a query beside what its other attributes say.
    """

    title: str = ""
    text: str = ""
    changes: Changes = Changes()
    layout: Layout = PLAIN_LAYOUT
    tagged: bool = False
    side_by_side: bool = False
    to: str = ""
    timed: bool = False
    exchanged: bool = False
    several_operators: bool = False
    evaluations: int = 1
    settings: Mapping[str, str] = field(default_factory=dict)
    runs: Runs = Runs.STREAM
    twins: Twins = Twins()
    places: frozenset[str] = frozenset()

    @property
    def slots(self) -> frozenset[str]:
        """The places of a query that the plan takes. A row is read once or twice, by one plan: progress says how often
        in all. Who feeds the query, or collects its output, is called by ``foreachBatch``, which a sink of Spark's own
        leaves no place for."""
        taken = {
            QUERY: self.runs is not Runs.STREAM,
            "layout": not self.layout.with_group(0).plain,
            "row groups": self.layout.group > 0,
            "foreachBatch": self.layout.fed or bool(self.to),
            "sink": self.changes.sink is not same or bool(self.to),
            "reads": self.evaluations > 1,
            "operator": self.side_by_side,
        }
        settings = {f"setting:{name}" for name in self.settings if name not in LISTS}
        return self.places | settings | {place for place, is_taken in taken.items() if is_taken}

    def twin(self, name: str) -> PlanTwin:
        """The plan as the capabilities list it, under this name."""
        return PlanTwin(
            name,
            self.title,
            self.text,
            PLAIN_TEXT,
            **vars(self.twins),
            own_sink=bool(self.to),
            leaves_state=self.runs is not Runs.BATCH and not self.several_operators,
            slots=self.slots,
        )


PLAIN = SparkPlan()

PLAIN_TEXT = "operator(rows.withWatermark('event_time', delay))"

LISTS = ("spark.sql.optimizer.excludedRules",)
"""Settings that are lists. What several plans put there stands there together."""


def composed(plans: Iterable[SparkPlan]) -> SparkPlan:
    """All of these plans in one query. Their changes are done in this order, each to what the one before it made.

    Raises:
        NotDriven: two of them do not meet.
    """
    parts = list(plans)
    if len(parts) < 2:
        return parts[0] if parts else PLAIN
    prove_meeting(parts)
    flags: dict[str, Any] = {name: any(getattr(part, name) for part in parts) for name in FLAGS}
    return SparkPlan(
        "; ".join(part.title for part in parts),
        "; ".join(part.text for part in parts),
        changes=Changes(*map(chained, _each(part.changes for part in parts))),
        layout=_laid_out([part.layout for part in parts]),
        to="".join(part.to for part in parts),
        evaluations=prod(part.evaluations for part in parts),
        settings=_merged(part.settings for part in parts),
        twins=Twins(*map(any, _each(part.twins for part in parts))),
        places=frozenset[str]().union(*(part.places for part in parts)),
        **flags,
    )


def _laid_out(layouts: list[Layout]) -> Layout:
    """The one layout that is not plain, with the row groups of any of them."""
    found = next((layout for layout in layouts if not layout.with_group(0).plain), PLAIN_LAYOUT)
    return found.with_group(max(layout.group for layout in layouts))


def _each(parts: Iterable[Changes | Twins]) -> Iterator[tuple[Any, ...]]:
    """What the parts say, field by field."""
    return zip(*(vars(part).values() for part in parts), strict=True)


FLAGS = ("tagged", "side_by_side", "timed", "exchanged", "several_operators")
"""What holds of several plans if it holds of any of them."""


def _merged(settings: Iterable[Mapping[str, str]]) -> Mapping[str, str]:
    """All of these settings. Plans that meet share a setting only if it is a list."""
    found: dict[str, str] = {}
    for mine in settings:
        for name, value in mine.items():
            found[name] = f"{found[name]},{value}" if name in found else value
    return found
