"""Panels: the runs of a witness to draw beside each other, and their first difference."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from conformance.model.equivalence import Equivalence, differing
from conformance.model.schedule import Schedule
from conformance.model.trace import Emission, Trace
from conformance.results.witness import Witness


@dataclass(frozen=True)
class Panel:
    """One run of one schedule. ``differs`` is the first emission that the other run lacks. ``lacks`` is the place of
    the first emission that only the other run has: a step (of this schedule) and a key."""

    title: str
    schedule: Schedule
    trace: Trace
    differs: Emission | None = None
    lacks: tuple[int, str] | None = None


def panels(witness: Witness, promised: Equivalence | None = None) -> list[Panel]:
    """The panels of a witness: base and twin on its engine, compared up to the promised equivalence; or the engine and
    the reference."""
    engine = witness.engine
    if witness.base and witness.base_seen is not None:
        pair = beside(
            Panel(f"the base, on {engine}", witness.base.schedule, witness.base_seen),
            Panel(f"its twin ({witness.case.perturbation}), on {engine}", witness.case.schedule, witness.seen),
            promised or Equivalence.IDENTICAL,
        )
        reference = Panel("its twin, on the reference", witness.case.schedule, witness.specified)
        return pair if witness.specified == witness.seen else [*pair, reference]
    seen = witness.packed_seen or witness.seen
    return beside(
        Panel(f"on {engine}" + " in a pack" * bool(witness.packed_seen), witness.case.schedule, seen),
        Panel("on the reference", witness.case.schedule, witness.specified),
    )


def replayed(witness: Witness, seen: Mapping[str, Mapping[str, Trace]]) -> list[Panel]:
    """The panels of a replay (engine -> case id -> trace). A pair gives base and twin beside each other for each
    engine. One case gives the engines beside the reference."""
    case, base, found = witness.case, witness.base, list[Panel]()
    reference = Panel("on the reference", case.schedule, witness.specified)
    for engine, traces in seen.items():
        if case.id not in traces:
            continue
        own = Panel(f"on {engine}", case.schedule, traces[case.id])
        if base and base.id in traces:
            twin = replace(own, title=f"its twin ({case.perturbation}), on {engine}")
            found += beside(Panel(f"the base, on {engine}", base.schedule, traces[base.id]), twin)
        else:
            own, marked = beside(own, reference)
            reference = reference if reference.differs or reference.lacks else marked
            found.append(own)
    return found if base and found else [*found, reference]


def beside(left: Panel, right: Panel, how: Equivalence = Equivalence.IDENTICAL) -> list[Panel]:
    """Two panels. Each marks the first emission that the other lacks."""
    ours, theirs = differing((left.schedule, left.trace), (right.schedule, right.trace), how)
    return [_marked(left, ours, right, theirs), _marked(right, theirs, left, ours)]


def _marked(panel: Panel, own: Emission | None, other: Panel, others: Emission | None) -> Panel:
    if own or not others:
        return replace(panel, differs=own)
    interval = other.schedule.intervals[others.step]
    steps = [step.id for step in panel.schedule.steps]
    same = others.step in steps and panel.schedule.intervals[others.step] == interval
    at = others.step if same else next((s for s in steps if panel.schedule.intervals[s] >= interval), steps[-1])
    return replace(panel, lacks=(at, others.key))
