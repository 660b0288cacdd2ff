"""Runs written by hand, for predicates to look at."""

from conformance.model.case import Case
from conformance.model.scenario import Observation
from conformance.model.schedule import Advance, Deliver, Event, renumbered
from conformance.model.trace import Emission, Trace


def run(steps, *emitted):
    """Steps are watermarks, steps of the model, and bundles of (id, key, time) or (id, key, time, value); what came out are (key, value,
    step)."""
    made = []
    for step in steps:
        if isinstance(step, int):
            made.append(Advance(0, step))
        elif isinstance(step, list):
            made.append(Deliver(0, tuple(Event(e[0], e[1], e[3] if len(e) > 3 else None, e[2]) for e in step)))
        else:
            made.append(step)
    return Observation(Case("s", "p", renumbered(made)), Trace(tuple(Emission(*emission) for emission in emitted)))


def said(predicate, run):
    return list(predicate(run))
