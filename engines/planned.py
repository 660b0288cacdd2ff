"""The plans that a schedule names, as its engine knows them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import reduce
from itertools import combinations
from typing import Any, Protocol, TypeVar

from conformance.model.engine import NotDriven
from conformance.model.plan import PlanTwin
from conformance.model.schedule import Schedule


class Twinned(Protocol):
    """What an engine builds a query of a plan from."""

    def twin(self, name: str) -> PlanTwin:
        """The plan as the capabilities list it, under this name."""


P = TypeVar("P", bound=Twinned)


def twins(plans: Mapping[str, Twinned]) -> tuple[PlanTwin, ...]:
    """The plans as the capabilities list them."""
    return tuple(plan.twin(name) for name, plan in plans.items())


def named(schedule: Schedule, known: Mapping[str, P]) -> list[P]:
    """The plans of a schedule, in the order in which the engine lists them.

    Raises:
        NotDriven: the engine does not know one of them.
    """
    if unknown := [name for name in schedule.plans if name not in known]:
        raise NotDriven(f"there is no plan {unknown[0]!r}")
    return [plan for name, plan in known.items() if name in schedule.plans]


Change = Callable[[Any], Any]
"""What a plan does to a collection or a frame."""


def same(collection: Any) -> Any:
    """Changes nothing."""
    return collection


def chained(changes: Iterable[Change]) -> Change:
    """These changes, one after the other."""
    mine = [change for change in changes if change is not same]
    return (lambda collection: reduce(_changed, mine, collection)) if mine else same


def _changed(collection: Any, change: Change) -> Any:
    return change(collection)


def prove_meeting(plans: Sequence[Twinned]) -> None:
    """Raises NotDriven if two of the plans do not stand in one query."""
    for one, other in combinations((plan.twin("") for plan in plans), 2):
        if not one.meets(other):
            raise NotDriven(f"no query has two of its plans at once: {one.title}, and {other.title}")
