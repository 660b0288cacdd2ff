"""What stands around the transform of a pipeline: that of one plan, and that of several plans at once. What plans are
to the runners.

Plans that meet stand in one pipeline: their changes are done one after the other, in the order in which the engine
lists its plans.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from conformance.engines.planned import Change, chained, named, prove_meeting, same
from conformance.model.case import Case
from conformance.model.plan import PlanTwin
from conformance.model.runs import Pack, PackRun
from conformance.model.schedule import Plan, Step
from conformance.model.trace import Emission, Trace


@dataclass(frozen=True)
class BeamPlan:
    """What stands around the transform: ``before`` and ``behind`` map a collection to another one; ``options`` are the
    pipeline's. ``beside`` says that another pipeline runs at the same time. ``title``, ``text``, ``scrambles``,
    ``in_parts`` and ``always`` are as ``PlanTwin`` says. ``places`` is what the plan takes of a pipeline beside its
    options."""

    title: str = ""
    text: str = ""
    before: Change = same
    behind: Change = same
    options: tuple[str, ...] = ()
    beside: bool = False
    scrambles: bool = False
    always: bool = False
    in_parts: bool = False
    places: frozenset[str] = frozenset()

    @property
    def slots(self) -> frozenset[str]:
        """The places of a pipeline that the plan takes. An option has one value."""
        return self.places | {f"option:{option.partition('=')[0]}" for option in self.options}

    def twin(self, name: str) -> PlanTwin:
        """The plan as the capabilities list it, under this name."""
        return PlanTwin(
            name,
            self.title,
            self.text,
            PLAIN_TEXT,
            always=self.always,
            scrambles=self.scrambles,
            in_parts=self.in_parts,
            slots=self.slots,
        )


PLAIN = BeamPlan()

PLAIN_TEXT = "elements | transform"


def driven(pack: Pack) -> list[Step]:
    """The steps that a runner makes: a plan is made before them."""
    return [step for step in pack.timeline if not isinstance(step, Plan)]


def of(pack: Pack, plans: Mapping[str, BeamPlan]) -> BeamPlan:
    """What the plans of a pack, which are among those of its engine, make of a pipeline. Raises NotDriven where they
    make none."""
    return composed(named(pack.cases[0].schedule, plans))


def composed(plans: Iterable[BeamPlan]) -> BeamPlan:
    """All of these plans in one pipeline. Their changes are done in this order, each to what the one before it made.

    Raises:
        NotDriven: two of them do not meet.
    """
    parts = list(plans)
    if len(parts) < 2:
        return parts[0] if parts else PLAIN
    prove_meeting(parts)
    return BeamPlan(
        "; ".join(part.title for part in parts),
        "; ".join(part.text for part in parts),
        chained(part.before for part in parts),
        chained(part.behind for part in parts),
        tuple(option for part in parts for option in part.options),
        any(part.beside for part in parts),
        any(part.scrambles for part in parts),
        any(part.always for part in parts),
        any(part.in_parts for part in parts),
        frozenset[str]().union(*(part.places for part in parts)),
    )


def failed(pack: Pack, plan: BeamPlan, error: Exception, native: bool = False) -> PackRun:
    """The run of a pack whose pipeline the runner refused, or could not finish: each case ends with that. The error of
    the plain pipeline, which must not fail, is raised, unless all in it is Beam's own (``native``)."""
    if plan is PLAIN and not native:
        raise error
    return PackRun({case.id: Trace.collect([ended(case, error)]) for case in pack.cases})


def ended(case: Case, error: Exception) -> Emission:
    """How a case ends whose pipeline failed."""
    lines = str(error).strip().splitlines() or [""]
    said = f"the pipeline failed: {type(error).__name__}: {lines[0][:300]}".removesuffix(": ")
    return Emission("", None, case.schedule.steps[-1].id, error=said)
