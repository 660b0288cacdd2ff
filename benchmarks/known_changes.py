"""Known changes between releases: that a run on both releases shows each of them.

    python -m benchmarks.known_changes [ID]... [--list]

``known_changes.toml`` has the changes. For each one, ``conformance run`` asks the engine in both releases about one scenario. The change is
shown if its guarantee is violated in the bad release and not in the good one, under the perturbation or plan that it names, if any; or if
the bad release refuses its query and the good one accepts the query. Exit code 1 says that a change is not shown.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from conformance.judgement.cell import Verdict
from conformance.model.engine import ACCEPTED
from conformance.results.results import Results

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


@dataclass(frozen=True)
class Change:
    """A change between two releases.

    Attributes:
        id: that of the ticket.
        engine: the engine, without a release.
        bad, good: the releases.
        guarantee: "scenario/guarantee", or "scenario/" where a query tells the change.
        says: what changed, in a sentence.
        under: the perturbation or plan that shows the change; "" for any.
        query: the query that the engine is asked about (``Questioned``); "" where a guarantee tells the change.
        cases: cases a guarantee.
    """

    id: str
    engine: str
    bad: str
    good: str
    guarantee: str
    says: str
    under: str = ""
    query: str = ""
    cases: int = 5

    @property
    def engines(self) -> tuple[str, str]:
        return f"{self.engine}@{self.bad}", f"{self.engine}@{self.good}"

    def command(self, out: str) -> list[str]:
        scenario, _ = self.guarantee.split("/")
        asked = [f"--engine={engine}" for engine in self.engines]
        rest = [f"--scenario={scenario}", f"--cases={self.cases}", "--seed=1", f"--out={out}"]
        return ["conformance", "run", *asked, *rest, "--budget=1m" if self.query else "--all-packs"]


def changes() -> list[Change]:
    told = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
    return [Change(**change) for change in told["change"]]


def verdicts(change: Change, results: Results) -> list[str]:
    """What the guarantee is in the bad release and in the good one: the worst of its cells. A query is violated where it is refused."""
    if change.query:
        said = [results.environment[engine].answers.get(change.query, "") for engine in change.engines]
        known = {"": Verdict.UNKNOWN, ACCEPTED: Verdict.HOLDS}
        return [known.get(answer, Verdict.VIOLATED).value for answer in said]
    found = []
    for engine in change.engines:
        cells = [
            cell
            for cell in results.cells
            if (cell.engine, "/".join(cell.row)) == (engine, change.guarantee)
            and change.under in ("", cell.perturbation)
        ]
        there = {cell.verdict for cell in cells}
        worst = (Verdict.VIOLATED, Verdict.ERROR, Verdict.HOLDS, Verdict.UNKNOWN)
        found.append(next((verdict for verdict in worst if verdict in there), Verdict.UNKNOWN).value)
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.known_changes", description=__doc__.split("\n\n")[0])
    parser.add_argument("ids", nargs="*", metavar="ID", help="default: all")
    parser.add_argument("--list", action="store_true", help="print the commands, and run none")
    given = parser.parse_args(arguments)
    there = {change.id: change for change in changes()}
    if unknown := sorted(set(given.ids) - there.keys()):
        parser.error(f"no change {unknown[0]!r}; there are: {', '.join(there)}")
    missed = 0
    for change in there.values():
        if given.ids and change.id not in given.ids:
            continue
        if given.list:
            print(f"{change.id}: {change.says}\n    {' '.join(change.command('build/known'))}")
            continue
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([sys.executable, "-m", "conformance.cli", *change.command(folder)[1:]], check=True)
            bad, good = verdicts(change, Results.read(Path(folder) / "results.json"))
        shown = bad == Verdict.VIOLATED.value and good == Verdict.HOLDS.value
        missed += not shown
        print(f"{change.id}: {bad} in {change.bad}, {good} in {change.good}: {'shown' if shown else 'NOT SHOWN'}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
