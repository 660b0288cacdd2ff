"""How long the matrix page takes to render, to open and to filter, with 14 scenarios x 12 engines x 5 versions.

    python -m benchmarks.page [--keep FOLDER] [RESULTS...]

Without results the page is of synthetic ones, with the project's stored witnesses. Needs Playwright and a Chromium, as
``tox -e browser`` installs them; the network is cut off.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from pathlib import Path
from typing import Any

from conformance.coverage import CIRCUMSTANCES
from conformance.perturbation import PERTURBATIONS
from conformance.results import AS_DRAWN, Cell, Results, Verdict, held
from conformance.witnesses import Witness
from reports import html

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
"""Type a query; the milliseconds until it is on the screen."""


def _spread(seconds: list[float]) -> str:
    found = sorted(seconds)
    return f"{found[len(found) // 2]:.3f} s (median of {len(found)}; {found[0]:.3f} to {found[-1]:.3f})"


def synthetic(version: int) -> Results:
    """Results of a version as a full run leaves them; each version changes a few verdicts of the one before."""
    witnesses = [Witness.read(path) for path in sorted(Path("witnesses").glob("*.json"))]
    engines = [f"{'spark' if number < ENGINES // 2 else 'beam'}-{number}" for number in range(ENGINES)]
    cells: list[Cell] = []
    used: dict[str, Any] = {}
    for scenario in range(SCENARIOS):
        for guarantee in range(GUARANTEES):
            for engine in engines:
                dice = random.Random(f"{scenario} {guarantee} {engine}")
                changed = random.Random(f"{scenario} {guarantee} {engine} {version}").random() < 0.05
                broken = (dice.random() < 0.15) != changed
                witness = dice.choice(witnesses)
                if broken:
                    used[witness.id] = witness.to_json()
                for perturbation in [AS_DRAWN, *(p.id for p in PERTURBATIONS)]:
                    place = f"scenario-{scenario}", "program", f"guarantee-{guarantee}", perturbation, engine
                    cells.append(_cell(place, broken, witness.id if broken else "", dice))
    entry = {
        "column": "",
        "idiom": "",
        "lateness": {"global window": "at the watermark", "fixed windows": "at the window's end"},
        "features": {},
        "packs": {"run": 20, "drawn": 36},
        "failure": "",
    }
    return Results(
        run={
            "harness": "synthetic",
            "seed": 1,
            "wanted": 200,
            "cases": 20_000,
            "cases_digest": "synthetic",
            "clocks": 32,
            "partial": False,
            "stored_witnesses": "",
            "options": {},
        },
        environment={
            engine: entry
            | {"title": f"Engine {engine}", "column": engine}
            | {"versions": {engine.partition("-")[0]: f"4.{version}.0", "java": "17.0.15", "python": "3.11.7"}}
            for engine in engines
        },
        scenarios={
            f"scenario-{scenario}": {
                "name": f"scenario {scenario}",
                "summary": "A synthetic scenario.",
                "guarantees": {
                    f"guarantee-{guarantee}": {
                        "claim": f"what guarantee {guarantee} of scenario {scenario} says",
                        "program": "program",
                        "source": "ours",
                        "quote": "",
                        "url": "",
                    }
                    for guarantee in range(GUARANTEES)
                },
            }
            for scenario in range(SCENARIOS)
        },
        cells=cells,
        witnesses=used,
    )


def _cell(place: tuple[str, str, str, str, str], broken: bool, witness: str, dice: random.Random) -> Cell:
    cases = dice.randrange(3, 200)
    if dice.random() < 0.2:
        return Cell(*place, Verdict.UNSUPPORTED, "a restart from the checkpoint: its local runners keep no checkpoint")
    verdict = Verdict.VIOLATED if broken else Verdict.HOLDS
    return Cell(
        *place,
        verdict,
        "in step 2 the windows of key a came out as [1030000, 1010000]" if broken else held(cases, 16),
        cases=cases,
        clocks=16,
        violations=cases // 3 if broken else 0,
        witness=witness,
        notes=("emulated: window in key",),
        coverage={name: dice.randrange(1, cases + 1) for name in CIRCUMSTANCES},
    )


if __name__ == "__main__":
    main()
