"""Mutants: the reference engine with one seeded bug each. They show that the guarantees can be broken, and are noticed.

Each bug is one that a real engine could have. ``mutant:NAME`` is an engine id like any other, and so is
``mutant:NAME+NAME``, which has two bugs at once. The bugs stand in a module for each section of an engine that they are
in.
"""

from conformance.engines.case_run import CaseRun
from conformance.engines.mutants import capacity, combined, delivery, emissions, rare
from conformance.engines.mutants.faults import (
    beginnings,
    crashes,
    damages,
    failures,
    next_versions,
    plans,
    restarts,
    together,
)
from conformance.engines.mutants.registry import MARKED, Mutant, replaced
from conformance.engines.mutants.state import collections, initial_state, inspection, keys, ttl, values
from conformance.engines.mutants.time import callbacks, lateness, output_times, processing_time, timers, waiting
from conformance.engines.mutants.typed import (
    containers,
    misfits,
    moments,
    operator_keys,
    typed_keys,
    types,
)
from conformance.engines.reference import Reference
from conformance.model.case import Case
from conformance.model.engine import Family
from conformance.model.program import Program
from conformance.plugins.registry import UnknownName
from conformance.support.naming import unknown

MUTANTS = dict(MARKED)
"""All mutants by id, in the order of the modules above and of the classes in each."""

UNDO_EACH_OTHER = (
    {"failed-attempt-kept", "failed-bundle-skipped"},
    {"output-of-a-failed-attempt-kept", "retry-loses-its-output"},
)
"""Mutants that together do what the reference does: here, each bundle counts once, by its first attempt."""


class Mutated(Reference):
    """The reference with seeded bugs. ``looks_around``: what it answers to a case depends on the other cases of the
    pack."""

    looks_around = False
    bugs: tuple[Mutant, ...] = ()

    def can_show(self, case: Case, program: Program) -> bool:
        """Whether the engine may answer a case otherwise than the reference does. If not, the case need not be run."""
        return any(bug.can_show(case, program, self.capabilities.lateness) for bug in self.bugs)


def mutant(name: str) -> Mutated:
    """The engine ``mutant:name``, or ``mutant:one+two`` with the bugs of both.

    Raises:
        UnknownName: no such mutant, or two that cannot be one.
    """
    names = name.split("+")
    if len(names) > 2 or not set(names) <= MUTANTS.keys():
        raise UnknownName(unknown("mutant", name, sorted(MUTANTS)))
    engine = Mutated()
    engine.id = f"mutant:{name}"
    engine.title = "reference, but " + ", and ".join(MUTANTS[part].words for part in names)
    engine.bugs = tuple(MUTANTS[part] for part in names)
    engine.looks_around = any(bug.looks_around for bug in engine.bugs)
    engine.case_run = pair(*names) if len(names) == 2 else MUTANTS[name].case_run
    return engine


def pair(one: str, two: str) -> type[CaseRun]:
    """The reference with the bugs of two mutants.

    Raises:
        UnknownName: one bug would hide or undo the other.
    """
    if {one, two} in UNDO_EACH_OTHER:
        raise UnknownName(f"no mutant {one}+{two}: they undo each other")
    first, second = MUTANTS[one].case_run, MUTANTS[two].case_run
    if shared := replaced(first) & replaced(second):
        raise UnknownName(f"no mutant {one}+{two}: both change {min(shared)}")
    return type(f"{first.__name__}And{second.__name__}", (first, second), {})


FAMILY = Family(mutant, {name: mutant.words for name, mutant in MUTANTS.items()}, alone=False, seeded=True)
