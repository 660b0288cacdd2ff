"""The page of a scenario: its programs, its guarantees, and their measured cells."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from markupsafe import Markup

from conformance.judgement.cell import MatrixCell, Verdict
from conformance.judgement.evidence import perturbations_of
from conformance.model.equivalence import Equivalence
from conformance.model.feature import Feature
from conformance.model.perturbation import BY_ID, PERTURBATIONS
from conformance.model.program import FixedWindows, JobKind, Program
from conformance.model.scenario import Domain, Guarantee, Scenario, opposite_of
from conformance.reports.advice import Advice
from conformance.reports.witnesses import witness_lines
from conformance.reports.words import counted
from conformance.results.witness import Witness
from site_pages.measured import Breach, Measured, in_repository
from site_pages.rendering import order, rendered
from site_pages.source import documented, sources


def scenario_page(scenario: Scenario, measured: Measured, advice: Sequence[Advice]) -> str:
    return rendered(
        "scenario",
        scenario=scenario,
        about=Markup(documented(scenario)),
        sources=[Markup(source) for source in sources(scenario)],
        programs=[_program(scenario, name) for name in scenario.programs],
        frameworks=list(measured.frameworks),
        guarantees=[_guarantee(scenario, guarantee, measured, advice) for guarantee in scenario.guarantees],
    )


def tally(
    guarantees: Iterable[Guarantee], scenario: Scenario, measured: Measured, framework: str
) -> dict[Verdict, int]:
    """Verdict -> the number of cells of a framework with it."""
    rows = [(scenario.id, guarantee.id) for guarantee in guarantees]
    cells = (measured.cell(row, engine) for row in rows for engine in measured.frameworks[framework])
    return {verdict: n for verdict, n in counted(cell for cell in cells if cell).items() if n}


def _program(scenario: Scenario, name: str) -> dict[str, Any]:
    program = scenario.programs[name]
    promised: dict[Equivalence, list[str]] = {}
    for perturbation, up_to in scenario.stable_under.get(name, {}).items():
        promised.setdefault(up_to, []).append(BY_ID[perturbation].title)
    return {
        "name": name,
        "kind": type(program).__name__,
        "facts": dict(_facts(program, scenario.domain[name])),
        "promised": [(up_to.value, promised[up_to]) for up_to in Equivalence if up_to in promised],
    }


def _facts(program: Program, domain: Domain) -> Iterator[tuple[str, str]]:
    """(name, text) for each declaration of a program, and for the inputs that are drawn for it."""
    cells = [f"{name} ({kind.value})" for name, kind in program.cells.items()]
    yield "state", ", ".join(cells) or "none"
    if program.ttl:
        yield "TTL", ", ".join(f"{name}: {ms:,} ms of processing time" for name, ms in program.ttl.items())
    if program.job is JobKind.INITIAL_STATE:
        yield "initial state", "an element for each key that has any"
    kind = " (processing time)" if program.processing_time else ""
    yield "timers", ", ".join(name + kind for name in program.timers) or "none"
    windows = program.windowing
    if isinstance(windows, FixedWindows):
        late = (
            f"{windows.allowed_lateness:,} ms of lateness allowed"
            if windows.allowed_lateness
            else "no lateness allowed"
        )
        yield "windows", f"fixed, {windows.size:,} ms, {late}"
    else:
        yield "windows", "one, global"
    distances = ", ".join(f"{offset:+,}" for offset in dict.fromkeys(sorted(domain.offsets)))
    yield "event times", f"at these distances (ms) from the watermark or an earlier event: {distances}"
    yield (
        "late elements",
        "none: every element is after the watermark" if domain.on_time else "drawn, too",
    )
    if domain.values != (None,):
        yield (
            "values",
            ", ".join(json.dumps(value, ensure_ascii=False) for value in dict.fromkeys(map(_hashable, domain.values))),
        )
    yield "size of a case", f"up to {domain.events} elements, up to {domain.keys} keys"


def _hashable(value: Any) -> Any:
    return value if isinstance(value, str | int | float | bool | None) else json.dumps(value, ensure_ascii=False)


def _guarantee(
    scenario: Scenario, guarantee: Guarantee, measured: Measured, advice: Sequence[Advice]
) -> dict[str, Any]:
    row = scenario.id, guarantee.id
    verdicts: dict[str, list[MatrixCell]] = {}
    against: list[Breach] = []
    worst_first = list(Verdict)
    for label, engines in measured.frameworks.items():
        cells = [cell for engine in engines if (cell := measured.cell(row, engine))]
        if cells:
            verdicts[label] = sorted(cells, key=lambda cell: worst_first.index(cell.verdict))
        against += [way for engine in engines for way in measured.breaches(row, label, engine)]
    red = {way.engine for way in against}
    told = {way.witness for way in against}
    rows = {row, (scenario.id, opposite_of(guarantee.id))}
    others = [w for w in measured.witnesses.values() if (w.case.scenario, w.guarantee) in rows and w.id not in told]
    return {
        "guarantee": guarantee,
        "asked": _asked(guarantee),
        "needs": [feature.value for feature in Feature if feature in guarantee.needs],
        "tallies": {label: tally([guarantee], scenario, measured, label) for label in measured.frameworks},
        "verdicts": verdicts,
        "against": [(way, _shown(measured.witnesses.get(way.witness))) for way in against],
        "others": [(witness, _shown(witness)) for witness in sorted(others, key=order)],
        "advice": [(a.cause, Markup(a.text)) for a in advice if any(a.about(row, engine) for engine in red)],
    }


def _asked(guarantee: Guarantee) -> str:
    if guarantee.accounting:
        return "of the engine's own counts of rows, for the cases of a pack together"
    asked = [perturbation.title for perturbation in perturbations_of(guarantee) if perturbation]
    if guarantee.same_under:
        return f"of a case and its twin, which should be alike up to “{guarantee.alike.value}”: {', '.join(asked)}"
    every = len(asked) == len(PERTURBATIONS)
    return f"of cases as drawn, and under {'every perturbation' if every else ', '.join(asked)}"


def _shown(witness: Witness | None) -> dict[str, Any] | None:
    """The values for the part of the page that shows a witness: its text, fit for a fenced block, and its file."""
    if witness is None:
        return None
    return {
        "id": witness.id,
        "file": in_repository(witness),
        "lines": Markup("\n".join(witness_lines(witness)).replace("```", "'''")),
    }
