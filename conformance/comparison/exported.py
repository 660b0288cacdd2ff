"""Exports of witnesses: what a format sees of one, and its file."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from conformance.comparison.upgrade import asked_of
from conformance.judgement.reference import reference_traces
from conformance.model.engine import bare
from conformance.model.export import CannotExport, Exportable, OfSibling, rows
from conformance.model.scenario import Guarantee, Scenario, programs_of
from conformance.plugins.loading import without_warnings
from conformance.plugins.registry import load_export
from conformance.results.witness import Witness


def exported(
    found: Witness,
    scenarios: Iterable[Scenario],
    formatted: str,
    others: Iterable[Witness] = (),
    *,
    observed: bool = False,
) -> str:
    """The text of a witness's file in a format, which expects what was ``observed`` or what is guaranteed. Where the
    format has files for a sibling of its engine alone, it is that of one of the ``others``, which shows the same on the
    sibling.

    Raises:
        CannotExport: the format does not fit, its framework is not installed, or the scenario of the witness is not
            among these.
    """
    try:
        scenario = asked_of(found, scenarios)
        write, guarantee = load_export(formatted), scenario.askable[found.guarantee]
        with without_warnings():
            try:
                return write(replace(exportable(found, scenario, guarantee), observed=observed))
            except OfSibling as error:
                why = CannotExport("")
                for other, words in _on_siblings(found, error.siblings, others):
                    try:
                        asked = exportable(other, scenario, guarantee)
                        return write(replace(asked, observed=observed, stands_for=words))
                    except CannotExport as other_error:
                        why = other_error
                raise why from None
    except (StopIteration, KeyError):
        raise CannotExport(f"witness {found.id} is of {found.case.scenario}, which is not as it was here") from None
    except ImportError as error:
        raise CannotExport(f"witness {found.id}: its framework is not installed here: {error}") from None


def _on_siblings(
    found: Witness, siblings: Mapping[str, str], others: Iterable[Witness]
) -> Iterator[tuple[Witness, str]]:
    """The witnesses that show the same on a sibling, those on the same schedule first, and a sentence that says so.
    Raises CannotExport where there is none."""
    cell, engines = _cell(found), [*siblings]
    alike = [other for other in others if bare(other.engine) in siblings and _cell(other) == cell]
    if not alike:
        raise CannotExport(
            f"witness {found.id} is of {found.engine}, which has no files, and no witness shows the same on "
            f"{' or '.join(siblings.values())}"
        )
    for other in sorted(alike, key=lambda one: (not _same_schedule(one, found), engines.index(bare(one.engine)))):
        same = _same_schedule(other, found)
        fails = "schedule fails on {}" if same else "guarantee fails on {}, on the schedule below"
        words = fails.format(siblings[bare(other.engine)])
        yield other, f"Found on {found.engine} as witness {found.id}; the same {words}."


def _cell(of: Witness) -> tuple[str, ...]:
    return of.case.scenario, of.case.program, of.guarantee, of.case.perturbation


def _same_schedule(one: Witness, other: Witness) -> bool:
    schedules = [(w.case.schedule, w.base.schedule if w.base else None) for w in (one, other)]
    return schedules[0] == schedules[1]


def exportable(found: Witness, scenario: Scenario, guarantee: Guarantee) -> Exportable:
    """A witness for an export: its case. Of a case and its twin it is the one on which the engine puts out something
    else than the reference. Raises CannotExport where the case needs neighbours."""
    if found.neighbours or found.packed_seen:
        raise CannotExport(f"witness {found.id} is a case among its neighbours, and an export is one case alone")
    case, seen, specified = found.case, found.seen, found.specified
    if found.base and found.base_seen and rows(seen) == rows(specified):
        case, seen = found.base, found.base_seen
        specified = reference_traces(programs_of([scenario]))([case])[case.id]
    program = scenario.programs[found.case.program]
    plain = scenario.plain and scenario.plain(program, case)
    return Exportable(
        witness=found.id,
        scenario=scenario.name,
        claim=guarantee.claim,
        message=found.message,
        program=plain.program if plain else program,
        source=plain.source if plain else "",
        uses=plain.uses if plain else (),
        case=case,
        engine=bare(found.engine),
        versions=found.versions,
        seen=seen,
        specified=specified,
        one_of_two=found.base is not None and not case.schedule.plan,
    )
