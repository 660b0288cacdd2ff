"""All generated pages: a page for each scenario, from its source and its measured cells, for each two neighbouring
releases, and the lists of engines, baselines and witnesses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from conformance.model.feature import Feature
from conformance.model.perturbation import PERTURBATIONS
from conformance.model.scenario import Scenario
from conformance.plugins.registry import engine_ids, load_engine
from conformance.reports.advice import Advice
from conformance.reports.own import known_history
from conformance.reports.page import picture
from conformance.reports.page.checkpoints import known_checkpoints
from conformance.reports.page.panels import panels
from conformance.reports.words import MEANINGS
from conformance.results.baseline import Baseline
from site_pages.measured import Measured, in_repository
from site_pages.release_page import release_pages
from site_pages.rendering import order, place_of, rendered
from site_pages.scenario_page import scenario_page, tally
from site_pages.source import modules


def pages(
    scenarios: Sequence[Scenario], measured: Measured, advice: Sequence[Advice], baselines: Mapping[str, Baseline]
) -> dict[str, str]:
    """Place in the site -> text, for every generated file."""
    known = {(scenario.id, guarantee) for scenario in scenarios for guarantee in scenario.askable}
    witnesses = {w.id: w for w in measured.witnesses.values() if (w.case.scenario, w.guarantee) in known}
    found = {"scenarios/index.md": _index(scenarios, measured), "engines/index.md": _engines()}
    found |= {f"scenarios/{s.id}.md": scenario_page(s, measured, advice) for s in scenarios}
    found["baselines/index.md"] = rendered("baselines", baselines=baselines)
    found |= release_pages(scenarios, baselines, known_history(), known_checkpoints())
    found["witnesses/index.md"] = rendered("witnesses", witnesses=sorted(witnesses.values(), key=order))
    for name, witness in witnesses.items():
        found[in_repository(witness)] = witness.file_text()
        found[f"witnesses/{name}.svg"] = picture.document(panels(witness))
    return found


def places(scenarios: Iterable[Scenario], measured: Measured) -> dict[str, str]:
    """File of the repository -> the place in the site that shows it, for sources of scenarios and for witnesses."""
    sources = {
        f"{name.removeprefix('conformance.').replace('.', '/')}.py": f"scenarios/{s.id}.md"
        for s in scenarios
        for name in modules(s)
    }
    return sources | {in_repository(witness): place_of(witness) for witness in measured.witnesses.values()}


def _index(scenarios: Sequence[Scenario], measured: Measured) -> str:
    rows = [(s, {label: tally(s.guarantees, s, measured, label) for label in measured.frameworks}) for s in scenarios]
    return rendered(
        "scenarios", rows=rows, frameworks=list(measured.frameworks), perturbations=PERTURBATIONS, legend=MEANINGS
    )


def _engines() -> str:
    engines = [load_engine(name) for name in engine_ids()]
    return rendered("engines", engines=engines, features=list(Feature))
