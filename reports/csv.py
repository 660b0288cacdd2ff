"""cells.csv: a line for every cell (guarantee x perturbation x engine) of every run, for a spreadsheet or a data frame."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

from conformance.results.report import Report
from conformance.results.results import Results
from reports.words import claim, labels

COLUMNS = [
    "run",
    "scenario",
    "guarantee",
    "claim",
    "perturbation",
    "engine",
    "native_operator",
    "framework",
    "version",
    "verdict",
    "reason",
    "cases",
    "timelines",
    "violations",
    "inapplicable",
    "lost",
    "witness",
    "intermittent",
]


def render(runs: Sequence[Results]) -> str:
    """``run`` tells several runs apart; it is empty where there is one."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for run, label in zip(runs, labels(runs) if len(runs) > 1 else [""], strict=True):
        for cell in run.cells:
            record = run.environment[cell.engine]
            framework, number = record.framework or ("", "")
            about = [label, *cell.row, claim(run, cell.row), cell.perturbation, cell.engine, record.native_operator]
            counts = [cell.cases, cell.timelines, cell.violations, cell.inapplicable, cell.lost]
            why = [framework, number, cell.verdict.value, cell.reason]
            writer.writerow(map(_plain, [*about, *why, *counts, cell.witness, cell.intermittent]))
    return out.getvalue()


def _plain(value: object) -> str:
    """Text that no spreadsheet takes for a formula."""
    text = str(value)
    return f"'{text}" if text[:1] in ("=", "+", "-", "@", "\t", "\r") else text


REPORT = Report(render, "cells.csv")
