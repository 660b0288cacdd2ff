"""How long the matrix page takes to render, to open and to filter, with 14 scenarios x 12 engines x 5 versions.

    python -m benchmarks.page [--keep FOLDER] [RESULTS...]

Without results the page shows synthetic ones, with the project's stored witnesses. The benchmark needs Playwright and a
Chromium, which ``tox -e browser`` installs. The browser has no network.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from pathlib import Path

from conformance.judgement.cell import AS_DRAWN, MatrixCell, Verdict
from conformance.judgement.coverage import CIRCUMSTANCES
from conformance.judgement.verdict import held
from conformance.model.perturbation import PERTURBATIONS
from conformance.reports.page import html
from conformance.results.record import (
    EngineRecord,
    GuaranteeRecord,
    LatenessRecord,
    PacksRecord,
    RunRecord,
    ScenarioRecord,
)
from conformance.results.results import Results
from conformance.results.witness import Witness, read_witnesses

SCENARIOS, GUARANTEES, ENGINES, VERSIONS = 14, 9, 12, 5

FILTERS = {
    "a query": "spark-0:violated beam-6:holds",
    "a word": "guarantee 7",
    "nothing": "",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keep", type=Path, help="Keep the page in this folder.")
    parser.add_argument("results", nargs="*", type=Path)
    asked = parser.parse_args()
    runs = [Results.read(path) for path in asked.results] or [synthetic(version) for version in range(VERSIONS)]
    start = time.perf_counter()
    page = html.render(runs)
    print(f"rendered in {time.perf_counter() - start:.2f} s: {len(page.encode()) / 1e6:.1f} MB, {len(runs)} runs")
    with tempfile.TemporaryDirectory() as folder:
        path = (asked.keep or Path(folder)) / "matrix.html"
        path.write_text(page, encoding="utf-8")
        measure(path)


def measure(path: Path) -> None:
    """Open the page five times; filter it each time."""
    from playwright.sync_api import sync_playwright

    from tests.browser.chromium import launch

    with sync_playwright() as playwright:
        browser = launch(playwright)
        opened: list[float] = []
        whole: list[float] = []
        filtered: dict[str, list[float]] = {name: [] for name in FILTERS}
        for _ in range(5):
            tab = browser.new_context(offline=True).new_page()
            start = time.perf_counter()
            tab.goto(path.resolve().as_uri(), wait_until="commit")
            tab.locator("output").filter(has_text="of").wait_for()
            opened.append(time.perf_counter() - start)
            tab.wait_for_load_state()
            whole.append(time.perf_counter() - start)
            for name, query in FILTERS.items():
                filtered[name].append(tab.evaluate(TYPED, query) / 1000)
            tab.context.close()
        browser.close()
    print(f"open, until the matrix can be read and filtered: {_spread(opened)}")
    print(f"open, with all evidence: {_spread(whole)}")
    for name, seconds in filtered.items():
        print(f"filter by {name}: {_spread(seconds)}")


TYPED = """query => new Promise(done => {
    const field = document.querySelector("[name=q]"), start = performance.now();
    field.value = query;
    field.dispatchEvent(new Event("input", {bubbles: true}));
    requestAnimationFrame(() => setTimeout(() => done(performance.now() - start)));
})"""
"""Types a query, and gives the milliseconds until the screen shows its result."""


def _spread(seconds: list[float]) -> str:
    found = sorted(seconds)
    return f"{found[len(found) // 2]:.3f} s (median of {len(found)}; {found[0]:.3f} to {found[-1]:.3f})"


def synthetic(version: int) -> Results:
    """Results of a version, as a full run writes them. Each version changes a few verdicts of the version before."""
    witnesses = read_witnesses(Path("witnesses"))
    engines = [f"{'spark' if number < ENGINES // 2 else 'beam'}-{number}" for number in range(ENGINES)]
    cells: list[MatrixCell] = []
    used: dict[str, Witness] = {}
    for scenario in range(SCENARIOS):
        for guarantee in range(GUARANTEES):
            for engine in engines:
                dice = random.Random(f"{scenario} {guarantee} {engine}")
                changed = random.Random(f"{scenario} {guarantee} {engine} {version}").random() < 0.05
                broken = (dice.random() < 0.15) != changed
                witness = dice.choice(witnesses)
                if broken:
                    used[witness.id] = witness
                for perturbation in [AS_DRAWN, *(p.id for p in PERTURBATIONS)]:
                    place = f"scenario-{scenario}", "program", f"guarantee-{guarantee}", perturbation, engine
                    cells.append(_cell(place, broken, witness.id if broken else "", dice))
    return Results(
        run=RunRecord("synthetic", 1, wanted=200, cases=20_000, cases_digest="synthetic", timelines=32),
        environment={
            engine: EngineRecord(
                title=f"Engine {engine}",
                shown_as=engine,
                versions={engine.partition("-")[0]: f"4.{version}.0", "java": "17.0.15", "python": "3.11.7"},
                lateness=LatenessRecord("at the watermark", "at the window's end"),
                packs=PacksRecord(20, 36),
            )
            for engine in engines
        },
        scenarios={
            f"scenario-{scenario}": ScenarioRecord(
                f"scenario {scenario}",
                "A synthetic scenario.",
                {
                    f"guarantee-{guarantee}": GuaranteeRecord(
                        f"what guarantee {guarantee} of scenario {scenario} says", "program", "ours"
                    )
                    for guarantee in range(GUARANTEES)
                },
            )
            for scenario in range(SCENARIOS)
        },
        cells=cells,
        witnesses=used,
    )


def _cell(place: tuple[str, str, str, str, str], broken: bool, witness: str, dice: random.Random) -> MatrixCell:
    cases = dice.randrange(3, 200)
    if dice.random() < 0.2:
        return MatrixCell(
            *place, Verdict.UNSUPPORTED, "a restart from the checkpoint: its local runners keep no checkpoint"
        )
    verdict = Verdict.VIOLATED if broken else Verdict.HOLDS
    return MatrixCell(
        *place,
        verdict,
        "in step 2 the windows of key a came out as [1030000, 1010000]" if broken else held(cases, 16),
        cases=cases,
        timelines=16,
        violations=cases // 3 if broken else 0,
        witness=witness,
        notes=("emulated: window in key",),
        coverage={name: dice.randrange(1, cases + 1) for name in CIRCUMSTANCES},
    )


if __name__ == "__main__":
    main()
