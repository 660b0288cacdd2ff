"""cells.csv: a line for every guarantee on every engine of every run, for a spreadsheet or a data frame.

The last columns have the perturbations by verdict, each with its number of cases, or with k/n where k of n cases speak
against the guarantee.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

from conformance.judgement.cell import MatrixCell, Verdict
from conformance.judgement.verdict import fold
from conformance.results.report import Report
from conformance.results.results import Results
from reports.perturbations import told
from reports.words import claim, labels

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
UNDER = list(Verdict)


def render(runs: Sequence[Results]) -> str:
    """``run`` tells several runs apart; it is empty where there is one."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([*COLUMNS, *(f"{verdict.value}_under" for verdict in UNDER)])
    for run, label in zip(runs, labels(runs) if len(runs) > 1 else [""], strict=True):
        groups: dict[tuple[str, str, str], list[MatrixCell]] = {}
        for cell in run.cells:
            groups.setdefault((cell.engine, *cell.row), []).append(cell)
        for cells in groups.values():
            row = fold(cells)
            record = run.environment[row.engine]
            framework, number = record.framework or ("", "")
            about = [label, *row.row, claim(run, row.row), row.engine, record.native_operator, framework, number]
            stands = [row.verdict.value, "yes" if row.in_part else "", row.reason]
            counts = [row.cases, row.least, row.timelines, row.violations, row.inapplicable, row.lost]
            witnesses = " ".join(dict.fromkeys(cell.witness for cell in cells if cell.witness))
            writer.writerow(map(_plain, [*about, *stands, *counts, witnesses, row.intermittent, *_by_verdict(cells)]))
    return out.getvalue()


def _by_verdict(cells: Sequence[MatrixCell]) -> list[str]:
    """The perturbations with each verdict, and the reasons where they matter."""
    parts = told(cells)
    return [
        "; ".join(p.names + (f" ({p.reason})" if p.reason else "") for p in parts if p.word == verdict.value)
        for verdict in UNDER
    ]


def _plain(value: object) -> str:
    """Text that no spreadsheet takes for a formula."""
    text = str(value)
    return f"'{text}" if text[:1] in ("=", "+", "-", "@", "\t", "\r") else text


REPORT = Report(render, "cells.csv")
