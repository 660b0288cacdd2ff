"""The types of the keys that a pack has, for the adapters whose engines group by typed keys."""

from collections.abc import Mapping

from conformance.model.case import program_ref
from conformance.model.program import Program
from conformance.model.runs import Pack
from conformance.model.types import Type


def types_in_use(pack: Pack, programs: Mapping[str, Program]) -> tuple[Type, ...]:
    """The types of the typed keys of a pack's events, in order of their names."""
    found: set[Type] = set()
    for case in pack.cases:
        program = programs[program_ref(case.scenario, case.program)]
        if program.keys:
            found |= {program.typed_key(arrival.event.key).type for arrival in case.schedule.arrivals}
    return tuple(sorted(found, key=str))
