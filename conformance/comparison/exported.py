"""Exports of witnesses: what a format sees of one, and its file."""

from __future__ import annotations

from collections.abc import Iterable

from conformance.comparison.upgrade import asked_of
from conformance.judgement.reference import reference_traces
from conformance.model.engine import bare
from conformance.model.export import CannotExport, Exportable, rows
from conformance.model.scenario import Guarantee, Scenario, programs_of
from conformance.plugins.loading import without_warnings
from conformance.plugins.registry import load_export
from conformance.results.witness import Witness


def exported(found: Witness, scenarios: Iterable[Scenario], formatted: str) -> str:
    """The text of a witness's file in a format.

    Raises:
        CannotExport: the format does not fit, its framework is not installed, or the scenario of the witness is not
            among these.
    """
    try:
        scenario = asked_of(found, scenarios)
        with without_warnings():
            return load_export(formatted)(exportable(found, scenario, scenario.askable[found.guarantee]))
    except (StopIteration, KeyError):
        raise CannotExport(f"witness {found.id} is of {found.case.scenario}, which is not as it was here") from None
    except ImportError as error:
        raise CannotExport(f"witness {found.id}: its framework is not installed here: {error}") from None


def exportable(found: Witness, scenario: Scenario, guarantee: Guarantee) -> Exportable:
    """A witness for an export: its case. Of a case and its twin it is the one on which the engine puts out something
    else than the reference. Raises CannotExport where the case needs neighbours."""
    if found.neighbours or found.packed_seen:
        raise CannotExport(f"witness {found.id} is a case among its neighbours, and an export is one case alone")
    case, seen, specified = found.case, found.seen, found.specified
    if found.base and found.base_seen and rows(seen) == rows(specified):
        case, seen = found.base, found.base_seen
        specified = reference_traces(programs_of([scenario]))([case])[case.id]
    return Exportable(
        witness=found.id,
        scenario=scenario.name,
        claim=guarantee.claim,
        message=found.message,
        program=scenario.programs[found.case.program],
        case=case,
        engine=bare(found.engine),
        versions=found.versions,
        seen=seen,
        specified=specified,
        one_of_two=found.base is not None and not case.schedule.plan,
    )
