"""Verdicts: the one place where a verdict is decided or altered. No other module makes a cell or changes its verdict.

A cell passes through these stages in order:

1. drawn: an engine is asked for a cell, or ``not_expressible`` says why the engine cannot be asked.
2. concluded: ``conclude`` decides by the evidence of all batches. ``broken`` decides if the harness failed.
3. replayed: ``replayed`` makes a cell violated if a stored witness of the cell still fails, or stands.
4. confirmed: ``confirmed`` or ``unanswered_alone`` revises a violated cell after its witness ran alone.
   ``replayed_once`` grades a cell whose witness did not run alone.
5. folded: ``fold`` makes one row from a guarantee's cells under all perturbations, and says whether the row holds in
   part. Results keep the single cells.

These functions stand outside the stages: ``of_opposite`` (a claim that a holding guarantee contradicts),
``still_violated`` and ``not_run_alone`` (stored traces that are checked again), ``of_a_restart`` (a job carried over to
another release), ``as_recorded`` (baselines).
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from conformance.judgement.cell import AS_DRAWN, Folded, Grade, MatrixCell, Verdict
from conformance.judgement.coverage import in_order
from conformance.judgement.evidence import Tally, Unjudgeable
from conformance.model.case import program_ref
from conformance.model.engine import EngineInfo, NotDriven, program_needs
from conformance.model.feature import Feature
from conformance.model.perturbation import AND, PERTURBATIONS, Perturbation
from conformance.model.plan import is_plan
from conformance.model.scenario import Guarantee, Scenario
from conformance.support.naming import counted


def conclude(
    scenario: Scenario, guarantee: Guarantee, perturbation: Perturbation | None, engine: EngineInfo, tally: Tally
) -> MatrixCell:
    """Makes a cell from the evidence. A violated cell still lacks its witness and its confirmation."""
    if tally.against:
        verdict, reason = Verdict.VIOLATED, tally.against[0].message
    elif tally.fault:
        verdict, reason = Verdict.ERROR, tally.fault
    elif tally.lost:
        verdict, reason = Verdict.UNKNOWN, f"{counted(tally.lost, 'case')} without an answer: {tally.loss}"
    elif not tally.cases:
        verdict, reason = Verdict.UNKNOWN, "not exercised: no case put it to the test"
    else:
        verdict, reason = Verdict.HOLDS, held(tally.cases, len(tally.timelines))
    return replace(
        _cell(scenario, guarantee, perturbation, engine, verdict, reason),
        cases=tally.cases,
        timelines=len(tally.timelines),
        violations=tally.violations,
        inapplicable=tally.inapplicable,
        lost=tally.lost,
        grade=Grade.PACK if verdict is Verdict.VIOLATED else None,
        coverage=in_order(tally.coverage),
    )


def not_expressible(
    scenario: Scenario, guarantee: Guarantee, perturbation: Perturbation | None, engine: EngineInfo
) -> MatrixCell | None:
    """The unsupported cell if the engine cannot be asked about the guarantee, else None."""
    reason = _why_not(scenario, guarantee, perturbation, engine)
    return _cell(scenario, guarantee, perturbation, engine, Verdict.UNSUPPORTED, reason) if reason else None


def _why_not(scenario: Scenario, guarantee: Guarantee, perturbation: Perturbation | None, engine: EngineInfo) -> str:
    """Why an engine cannot be asked about a guarantee, "" if it can."""
    can, operator = engine.capabilities, engine.capabilities.native_operator
    if engine.lacks:
        return engine.lacks
    if operator and guarantee.id in operator.silent:
        return f"{operator.words} says nothing of it: {operator.silent[guarantee.id]}"
    program = program_ref(scenario.id, guarantee.program)
    if operator and guarantee.complete and not (operator.compared or program in operator.whole):
        return f"{operator.words} puts out other things than the program"
    if guarantee.complete and (emulated := _emulated_output(engine)):
        return emulated
    if guarantee.about_plans and not can.plans:
        return "its adapter builds one query alone"
    missing = can.first_missing(_needs(scenario, guarantee, perturbation, engine))
    if missing is None:
        return ""
    answered = engine.evidence.get(missing)
    return can.why_not(missing) + (f" (asked for it, the engine answered: {answered})" if answered else "")


def _emulated_output(engine: EngineInfo) -> str:
    """Why the whole output of an engine cannot be compared with the reference's, "" if it can. The adapter emulates
    either the output, or the bundles: then the adapter does not drive the order of a bundle's elements."""
    can = engine.capabilities
    emulated = [f for f in (Feature.EMISSIONS, Feature.SEVERAL_BUNDLES) if can.features[f].how == "emulated"]
    return can.why_not(emulated[0]) if emulated else ""


def broken(
    scenario: Scenario, guarantee: Guarantee, perturbation: Perturbation | None, engine: EngineInfo, fault: str
) -> MatrixCell:
    """The cell of an engine on which the harness failed, as ``fault`` says. The verdict is error, whatever the engine
    gave before."""
    return conclude(scenario, guarantee, perturbation, engine, Tally(fault=fault))


def replayed(cell: MatrixCell, witness: str, message: str, again: bool = True) -> MatrixCell:
    """The cell after a stored witness (its id) failed again, as ``message`` says: violated, whatever the cases of this
    run say. A cell that is violated already keeps its reason. An unsupported cell stays unsupported. Without ``again``,
    the witness stands: it did not run, but others of the engine did, and failed again. The witness is one more case."""
    if cell.verdict in (Verdict.VIOLATED, Verdict.UNSUPPORTED):
        return cell
    grade = Grade.REPLAYED if again else Grade.STANDS
    asked = replace(cell, cases=cell.cases + 1, timelines=max(cell.timelines, 1), violations=1)
    return replace(asked, verdict=Verdict.VIOLATED, reason=message, witness=witness, grade=grade)


def confirmed(cell: MatrixCell, witness: str, message: str, failed: int, runs: int, neighbours: int = 0) -> MatrixCell:
    """A violated cell after its witness (its id) failed in ``failed`` of ``runs`` runs alone, the last time as
    ``message`` says.

    A witness that never failed alone convicts no engine: the cell becomes unknown. A witness that failed in only some
    runs makes the violation intermittent. A witness with ``neighbours`` failed in runs beside that many other cases.
    """
    if failed and neighbours:
        share = f"{failed}/{runs}" if failed < runs else ""
        needs = f"needs {counted(neighbours, 'neighbour')}" + f", intermittent {share}" * bool(share)
        reason = f"violated ({needs}): {message}"
        return replace(cell, witness=witness, reason=reason, intermittent=share, grade=Grade.CONFIRMED)
    if not failed:
        reason = f"fails only in a pack, not alone (0 of {counted(runs, 'run')}): {cell.reason}"
        return replace(cell, verdict=Verdict.UNKNOWN, reason=reason, witness=witness, grade=Grade.PACK)
    if failed == runs:
        reason = cell.reason if cell.witness else message
        grade = Grade.STANDS if cell.grade is Grade.STANDS else Grade.CONFIRMED
        return replace(cell, witness=witness, reason=reason, grade=grade)
    share = f"{failed}/{runs}"
    reason = f"intermittent, {share} of its runs alone: {message}"
    return replace(cell, witness=witness, reason=reason, intermittent=share, grade=Grade.CONFIRMED)


def replayed_once(cell: MatrixCell) -> MatrixCell:
    """A violated cell whose stored witness has not run alone with this adapter. In a brief run, it may not have run
    alone on this engine and version at all."""
    return replace(cell, grade=Grade.REPLAYED)


def unanswered_alone(cell: MatrixCell, error: Exception) -> MatrixCell:
    """A violated cell after no run alone gave a trace to judge. The verdict becomes error if the harness failed (the
    trace could not be judged, or the schedule was not driven), and unknown if the engine's process went down, or if a
    plan's query, which is the engine's own, did not keep to the schedule."""
    if isinstance(error, Unjudgeable):
        verdict, why = Verdict.ERROR, "could not be judged"
    elif isinstance(error, NotDriven):
        verdict = Verdict.UNKNOWN if is_plan(cell.perturbation) else Verdict.ERROR
        why = "was not driven"
    else:
        verdict, why = Verdict.UNKNOWN, "could not be run"
    reason = f"fails in a pack; alone it {why}: {error}: {cell.reason}"
    return replace(cell, verdict=verdict, reason=reason, grade=Grade.PACK)


def of_opposite(cell: MatrixCell, opposite: Guarantee) -> MatrixCell:
    """The violated cell of the opposite of a guarantee that holds, so that the claim that says the opposite can have a
    witness. Results do not keep this cell. ``cell`` is any cell of the guarantee."""
    return replace(cell, guarantee=opposite.id, verdict=Verdict.VIOLATED)


def still_violated(cell: MatrixCell, before: MatrixCell) -> MatrixCell:
    """A violated cell of stored traces that are checked again, when the run's witness still speaks against the
    guarantee. ``before`` is the violated cell of the run."""
    kept = {name: getattr(before, name) for name in ("reason", "witness", "intermittent", "grade")}
    return replace(cell, verdict=Verdict.VIOLATED, **kept)


def not_run_alone(cell: MatrixCell, witness: str, message: str) -> MatrixCell:
    """An unknown cell of stored traces that are checked again, when a trace speaks against the guarantee but its case
    has not failed alone. The cell stays unknown until the witness (its id) is replayed."""
    reason = f"stored traces speak against it, not run alone yet (conformance replay): {message}"
    return replace(cell, verdict=Verdict.UNKNOWN, reason=reason, witness=witness, grade=Grade.PACK)


def of_a_restart(cell: MatrixCell, version: str) -> MatrixCell:
    """A violated cell of a job that was carried over to another release, when a restart within ``version``, that
    release, violates the guarantee too. The cell becomes unknown, because the upgrade is not the cause."""
    return replace(cell, verdict=Verdict.UNKNOWN, reason=f"a restart within {version} does it, too: {cell.reason}")


def as_recorded(
    scenario: str, guarantee: str, perturbation: str, engine: str, verdict: Verdict, reason: str, cases: int
) -> MatrixCell:
    """A cell for a baseline. An earlier run decided its verdict."""
    return MatrixCell(scenario, "", guarantee, perturbation, engine, verdict, reason, cases=cases)


def fold(cells: Iterable[MatrixCell]) -> Folded:
    """One row for a guarantee on an engine, folded from at least one cell, one for each perturbation that the guarantee
    is asked under.

    The first verdict of this order decides: violated, error, unknown (which includes a lost answer), holds. A row holds
    in part if a promised perturbation was not exercised, see ``_promised``.
    """
    cells = list(cells)

    def rank(cell: MatrixCell) -> tuple[int, int]:
        nothing_seen = cell.cases == cell.lost == cell.violations == 0 and not cell.witness
        never_exercised = cell.verdict is Verdict.UNKNOWN and nothing_seen
        order = [Verdict.VIOLATED, Verdict.ERROR, Verdict.UNKNOWN, Verdict.HOLDS, Verdict.UNSUPPORTED]
        return (3, 1) if never_exercised else (order.index(cell.verdict), 0)

    worst = min(cells, key=rank)
    asked = [cell for cell in cells if cell.verdict is not Verdict.UNSUPPORTED]
    total = {
        name: sum(getattr(cell, name) for cell in asked) for name in ("cases", "violations", "inapplicable", "lost")
    }
    notes = tuple(dict.fromkeys(note for cell in cells for note in cell.notes))
    timelines = max(cell.timelines for cell in cells)
    coverage = in_order(sum((Counter(cell.coverage) for cell in asked), Counter()))
    more = {"perturbation": "", "notes": notes, "timelines": timelines, "coverage": coverage}
    promised = _promised(asked)
    unexercised = tuple(cell.perturbation for cell in promised if not cell.cases)
    grades = [cell.grade for cell in cells if cell.verdict is worst.verdict and cell.grade]
    more["grade"] = min(grades, key=list(Grade).index, default=None)
    counts = {"promised": len(promised), "exercised": len(promised) - len(unexercised), "unexercised": unexercised}
    least = min((cell.cases for cell in promised), default=0)
    row = Folded(**vars(worst) | total | more | counts | {"least": least})
    if row.verdict is not Verdict.HOLDS:
        return row
    reason = held(row.cases, timelines, "at least ")
    return replace(row, reason=f"{reason}; not exercised: {', '.join(unexercised)}" if row.in_part else reason)


def _promised(asked: list[MatrixCell]) -> list[MatrixCell]:
    """The promised cells of a guarantee, from all cells that the engine can express. If one of them was not exercised,
    the guarantee holds only in part.

    A relation promises each of its perturbations. A predicate applies to every schedule and names no perturbation. A
    predicate promises cases as drawn, and each perturbation that packs carry anyway. A sparse perturbation needs a pack
    for one case of a program: its cases are further evidence for a predicate, but the predicate does not promise the
    perturbation.
    """
    asked = [
        cell for cell in asked if AND not in cell.perturbation
    ]  # seen where it failed, and promised for each by itself
    if all(cell.perturbation != AS_DRAWN for cell in asked):
        return asked
    sparse = {perturbation.id for perturbation in PERTURBATIONS if perturbation.sparse}
    return [cell for cell in asked if cell.perturbation not in sparse]


FEWEST_BOUNDED = 10
"""The fewest cases that bound a rate of failures."""


def held(cases: int, timelines: int, least: str = "") -> str:
    """The reason of a cell that holds: evidence, not proof. By the rule of three, 3/n would bound the share of failing
    cases with 95 % confidence if cases were generated independently. Cases are not quite independent, so 3/n is a
    heuristic. Fewer than FEWEST_BOUNDED cases bound nothing."""
    found = f"{counted(cases, 'case')} on {least}{counted(timelines, 'timeline')}, none against"
    return found + (f" (heuristic bound 3/n = {3 / cases:.1%})" if cases >= FEWEST_BOUNDED else "")


def _needs(
    scenario: Scenario, guarantee: Guarantee, perturbation: Perturbation | None, engine: EngineInfo
) -> frozenset[Feature]:
    needs = guarantee.needs
    if not engine.capabilities.native_operator:
        needs |= program_needs(scenario.programs[guarantee.program])
    return needs | (perturbation.needs if perturbation else frozenset())


def _cell(
    scenario: Scenario,
    guarantee: Guarantee,
    perturbation: Perturbation | None,
    engine: EngineInfo,
    verdict: Verdict,
    reason: str,
) -> MatrixCell:
    needs = _needs(scenario, guarantee, perturbation, engine)
    notes = tuple(engine.capabilities.emulations(needs))
    if verdict is Verdict.VIOLATED:
        notes += tuple(n for plan in engine.capabilities.plans if plan.perturbation is perturbation for n in plan.notes)
    return MatrixCell(
        scenario=scenario.id,
        program=guarantee.program,
        guarantee=guarantee.id,
        perturbation=perturbation.id if perturbation else AS_DRAWN,
        engine=engine.id,
        verdict=verdict,
        reason=reason,
        claimed=guarantee.source.document,
        notes=() if verdict is Verdict.UNSUPPORTED else notes,
    )
