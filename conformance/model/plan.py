"""Plan twins: the same cases through another query around the operator, which must answer alike.

An engine lists the plans that it can build (``Capabilities.plans``). Each one is a perturbation of that engine alone:
it puts a step ``Plan`` before a schedule. The reference ignores the step, so a pair of twins is kept alike if the plan
changes nothing. Plans that meet stand in one query: the perturbations of several plans, one after the other, put the
ids of all of them in the one step.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from random import Random

from conformance.model.changes import timeline as timeline_changes
from conformance.model.feature import Feature
from conformance.model.perturbation import BY_ID, Perturbation, factors_of, parts_of
from conformance.model.schedule import Schedule, renumbered
from conformance.model.steps import PLUS, Crash, FailOnce, Plan, Restart, SinkFails, Step

QUERY = "query"
"""The place that a plan takes if it is the whole query."""

PREFIX = "plan:"
"""How the ids of these perturbations begin."""

ANY_PLAN = Perturbation("plan", "another query around the operator", lambda schedule, random: None)
"""Stands in a guarantee for every plan that an engine has. No twin is made with it."""


@dataclass(frozen=True)
class PlanTwin:
    """Another query around an operator.

    Attributes:
        id: the name that the step has in files.
        title: what is different, in words.
        text: the query, or the part of it that differs.
        plain: the same part of the engine's plain query.
        restarts: whether the job is restarted, too, after its first bundle.
        scrambles: whether it may hand out the elements of a bundle in another order. It then has twins only of cases
            with at most one element of a key in a bundle.
        in_parts: whether it hands out the elements of a bundle in parts. An attempt that fails behind the last element
            may then fail before others, so it meets no such failure.
        one_query: whether it has twins only of cases whose job is not restarted.
        on_time: whether it has twins only of cases whose elements are all on time.
        own_sink: whether the output goes to a sink of the engine's own, in which nothing can be made to fail. It has no
            twins of cases whose job is killed when the sink has the output.
        leaves_state: whether what it stored can be read in the end. It has no twins of programs whose state is read,
            otherwise.
        always: whether the kit that checks an adapter asks it in any case.
        off: whether it turns a part of the engine off, such as a rule of an optimizer. What that part does wrong to
            other plans cannot be seen beside it.
        slots: the places of a query that the plan takes, by names of the engine's own. QUERY is all of them; it has no
            twins of cases whose job is killed.
    """

    id: str
    title: str
    text: str = ""
    plain: str = ""
    restarts: bool = False
    always: bool = False
    off: bool = False
    scrambles: bool = False
    in_parts: bool = False
    one_query: bool = False
    on_time: bool = False
    own_sink: bool = False
    leaves_state: bool = True
    slots: frozenset[str] = frozenset()

    @cached_property
    def perturbation(self) -> Perturbation:
        needs = frozenset({Feature.RESTART} if self.restarts else ())
        apply = partial(_planned, self)
        return Perturbation(PREFIX + self.id, f"plan: {self.title}", apply, needs, keeps_timeline=False)

    def takes(self, schedule: Schedule) -> bool:
        """Whether the plan has a twin of a case with this schedule, which may have other plans."""
        late = self.on_time and not all(arrival.on_time for arrival in schedule.arrivals)
        again = self.one_query and any(map(begins_a_query, schedule.steps))
        failing = self.own_sink and any(
            isinstance(step, SinkFails) or (isinstance(step, Crash) and step.at == "sink") for step in schedule.steps
        )
        # What is written of a query that runs elsewhere as a whole is not known to be at hand.
        killed = QUERY in self.slots and any(isinstance(step, Crash) for step in schedule.steps)
        return not (late or again or failing or killed) and not (self.scrambles and crowded(schedule))

    def meets(self, other: PlanTwin) -> bool:
        """Whether the two plans can stand in one query."""
        whole = QUERY in self.slots or QUERY in other.slots
        again = (self.one_query and other.restarts) or (other.one_query and self.restarts)
        return not (whole or again or self.slots & other.slots)

    @property
    def notes(self) -> tuple[str, ...]:
        """The two queries as text, for the cells of this plan."""
        return (f"plain: {self.plain}", f"{self.id}: {self.text}") if self.text else ()


def _planned(plan: PlanTwin, schedule: Schedule, random: Random) -> Schedule | None:
    if not plan.takes(schedule):
        return None
    again = plan.restarts and not any(map(begins_a_query, schedule.steps))
    steps = (timeline_changes.restart(schedule, random) if again else schedule).steps[bool(schedule.plans) :]
    return renumbered([Plan(0, PLUS.join(sorted({*schedule.plans, plan.id}))), *steps])


def begins_a_query(step: Step) -> bool:
    """Whether another query goes on from the checkpoint."""
    return isinstance(step, Restart | SinkFails | Crash) or (isinstance(step, FailOnce) and step.resume)


def crowded(schedule: Schedule) -> bool:
    """Whether a bundle has several elements of a key."""
    return any(len({event.key for event in b.events}) < len(b.events) for b in schedule.bundles)


def is_plan(perturbation: str) -> bool:
    """Whether one of the perturbations in ``Case.perturbation`` is a plan."""
    return any(part.startswith(PREFIX) for part in parts_of(perturbation))


def is_sparse(perturbation: str) -> bool:
    """Whether neighbours would hide the effect of one of the perturbations in ``Case.perturbation``."""
    return any(name in BY_ID and BY_ID[name].sparse for name in factors_of(perturbation))


def titled(perturbation: str) -> str:
    """The titles of the perturbations in ``Case.perturbation``. A plan's own title is the engine's."""

    def title(name: str) -> str:
        if name in BY_ID:
            return BY_ID[name].title
        return f"plan {name.removeprefix(PREFIX)}" if is_plan(name) else name

    return " + ".join(map(title, factors_of(perturbation)))
