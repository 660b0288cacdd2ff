"""Known changes between releases: that a run on both releases shows each of them.

    python -m benchmarks.known_changes [ID]... [--list]

``known_changes.toml`` has the changes. For each one, ``conformance run`` asks the engine in both releases about one scenario. A change of a
guarantee is shown if the guarantee is violated in the bad release and not in the good one, under the perturbation or plan that the change
names, if any. A change of a question is shown if the two releases answer it differently. Exit code 1 says that a change is not shown.
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
from conformance.model.reading import tables_of, text_of
from conformance.results.results import Results

UNASKED = Verdict.UNKNOWN.value


@dataclass(frozen=True)
class Change:
    """A change between two releases.

    Attributes:
        id: that of the ticket.
        engine: the engine, without a release.
        bad, good: the releases.
        says: what changed, in a sentence.
        guarantee: "scenario/guarantee", or "" where a question shows the change.
        question: "scenario/question": a query that a release may refuse, and the scenario of the run that asks it.
        under: the perturbation or plan that shows the change; "" for any.
        cases: cases a guarantee.
    """

    id: str
    engine: str
    bad: str
    good: str
    says: str
    guarantee: str = ""
    question: str = ""
    under: str = ""
    cases: int = 5

    @property
    def engines(self) -> tuple[str, str]:
        return f"{self.engine}@{self.bad}", f"{self.engine}@{self.good}"

    def command(self, out: str) -> list[str]:
        scenario, _ = (self.guarantee or self.question).split("/")
        asked = [f"--engine={engine}" for engine in self.engines]
        run = ["--quick"] if self.question else [f"--cases={self.cases}"]
        return ["conformance", "run", *asked, f"--scenario={scenario}", *run, "--seed=1", f"--out={out}"]


def changes() -> list[Change]:
    listed = tables_of(text_of(Path(__file__).with_suffix(".toml"), ValueError), "the known changes", ValueError)
    return [Change(**change) for change in listed["change"]]


def verdicts(change: Change, results: Results) -> list[str]:
    """What the guarantee is in the bad release and in the good one: the worst of its cells."""
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


def answers(change: Change, results: Results) -> list[str]:
    """What the bad release and the good one say to the question; "unknown" where one was not asked."""
    _, question = change.question.split("/")
    asked = (results.environment.get(engine) for engine in change.engines)
    return [record.answers.get(question, UNASKED) if record else UNASKED for record in asked]


def told(change: Change, results: Results) -> tuple[str, str, bool]:
    """What the bad release and the good one gave, and whether that shows the change."""
    if change.question:
        bad, good = answers(change, results)
        return bad, good, bad != good and UNASKED not in (bad, good)
    bad, good = verdicts(change, results)
    return bad, good, (bad, good) == (Verdict.VIOLATED.value, Verdict.HOLDS.value)


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
            bad, good, shown = told(change, Results.read(Path(folder) / "results.json.gz"))
        missed += not shown
        print(f"{change.id}: {bad} in {change.bad}, {good} in {change.good}: {'shown' if shown else 'NOT SHOWN'}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
