"""cells.csv: a line for every guarantee on every engine of every run, for a spreadsheet or a data frame.

Each perturbation has a column: the number of cases under it, or k/n where k of n cases speak against the guarantee; "?"
or "!" before it where the cell is unknown or an error; "–" where the engine cannot be asked; 0 where no case put the
guarantee to the test; in brackets the pairs that do not count. It is empty where the guarantee is not asked under the
perturbation. Plans share a column. What an engine lacks is named as in ``Feature``.
"""

import csv
import io
from collections.abc import Sequence

from conformance.judgement.cell import MatrixCell, Verdict
from conformance.model.feature import Feature
from conformance.model.plan import is_plan
from conformance.reports.perturbations import UNDECIDED, in_short, lack, not_exercised, told
from conformance.reports.words import claim, labels, reason_of
from conformance.results.report import Report
from conformance.results.results import Results

COLUMNS = [
    "run",
    "scenario",
    "guarantee",
    "claim",
    "engine",
    "native_operator",
    "framework",
    "version",
    "verdict",
    "in_part",
    "reason",
    "cases",
    "least",
    "timelines",
    "violations",
    "inapplicable",
    "lost",
    "witnesses",
    "intermittent",
]
AFTER = ["plans", "lacks", "undecided"]
"""After the perturbations: the plans with their numbers; what the engine lacks; the perturbations that are undecided,
with the reason."""

SHORT = {feature.value: feature.name.lower().replace("_", "-") for feature in Feature}
"""The names of features: several-bundles, restart, ttl …"""


def render(runs: Sequence[Results]) -> str:
    """``run`` tells several runs apart; it is empty where there is one. A row that holds needs no ``reason``: its
    counts are it."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    perturbations = list(
        dict.fromkeys(c.perturbation for run in runs for c in run.cells if not is_plan(c.perturbation))
    )
    writer.writerow(map(_plain, [*COLUMNS, *perturbations, *AFTER]))
    for run, label in zip(runs, labels(runs) if len(runs) > 1 else [""], strict=True):
        folded = run.folded()
        for (of, engine), cells in run.by_row.items():
            row = folded[of][engine]
            record = run.environment[row.engine]
            framework, number = record.framework or ("", "")
            about = [label, *row.row, claim(run, row.row), row.engine, record.native_operator, framework, number]
            reason = "" if row.verdict is Verdict.HOLDS else reason_of(row)
            stands = [row.verdict.value, "yes" if row.in_part else "", reason]
            counts = [row.cases, row.least, row.timelines, row.violations, row.inapplicable, row.lost]
            witnesses = " ".join(dict.fromkeys(cell.witness for cell in cells if cell.witness))
            under = {cell.perturbation: in_short(cell) or "0" for cell in cells}
            of_each = [under.get(name, "") for name in perturbations]
            writer.writerow(
                map(_plain, [*about, *stands, *counts, witnesses, row.intermittent, *of_each, *_after(cells)])
            )
    return out.getvalue()


def _after(cells: Sequence[MatrixCell]) -> list[str]:
    plans = [f"{cell.perturbation} {in_short(cell) or 0}" for cell in cells if is_plan(cell.perturbation)]
    unsupported = [lack(cell) for cell in cells if cell.verdict is Verdict.UNSUPPORTED]
    lacks = dict.fromkeys(SHORT.get(feature, feature) for feature in unsupported)
    undecided = [cell for cell in cells if cell.verdict in UNDECIDED and not not_exercised(cell)]
    return ["; ".join(plans), "; ".join(lacks), "; ".join(part.line for part in told(undecided))]


def _plain(value: object) -> str:
    """Text that no spreadsheet takes for a formula."""
    text = str(value)
    return f"'{text}" if text[:1] in ("=", "+", "-", "@", "\t", "\r") else text


REPORT = Report(render, "cells.csv")
