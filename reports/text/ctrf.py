"""ctrf.json: a test for each guarantee on an engine, over all perturbations, in the Common Test Report Format
(https://ctrf.io)."""

import itertools
import json
from collections import Counter
from collections.abc import Mapping, Sequence

from conformance.judgement.cell import Folded, MatrixCell, Verdict
from conformance.model.values import Json
from conformance.reports.perturbations import lacks, told
from conformance.reports.text.times import per_case
from conformance.reports.words import claim, reason_of, replay_command, standing
from conformance.results.report import Report
from conformance.results.results import Results

VERSION = "0.1.0"
"""The version of the format."""

STATUSES = {
    Verdict.HOLDS: "passed",
    Verdict.VIOLATED: "failed",
    Verdict.ERROR: "failed",
    Verdict.UNSUPPORTED: "skipped",
    Verdict.UNKNOWN: "other",
}
"""A test that fails by an error of the harness has the raw status ``error``."""

COUNTED = ("passed", "failed", "skipped", "pending", "other")


def render(runs: Sequence[Results]) -> str:
    """The tests of the last run, engine by engine, and one for each engine that did not run to its end. The duration
    (ms) of a test is its row's share of the engine's time."""
    results = runs[-1]
    of_engines: dict[str, dict[tuple[str, str], list[MatrixCell]]] = {engine: {} for engine in results.engines}
    for cell in results.cells:
        of_engines[cell.engine].setdefault(cell.row, []).append(cell)
    groups = {(engine, *row): cells for engine, rows in of_engines.items() for row, cells in rows.items()}
    usual = {engine: lacks(itertools.chain.from_iterable(rows.values())) for engine, rows in of_engines.items()}
    folded = results.folded()
    rows = {where: folded[cells[0].row][where[0]] for where, cells in groups.items()}
    each = {e: per_case(results, e, (r.cases for (of, *_), r in rows.items() if of == e)) for e in results.engines}
    tests = [
        _test(results, row, groups[where], usual[where[0]], round(1000 * row.cases * each[where[0]]))
        for where, row in rows.items()
    ]
    tests += [_not_run(engine, why) for engine, why in results.not_run]
    found = Counter(str(test["status"]) for test in tests)
    summary = {
        "tests": len(tests),
        **{status: found[status] for status in COUNTED},
        "flaky": sum("flaky" in test for test in tests),
        "suites": len({tuple(test["suite"]) for test in tests}),
        "start": 0,
        "stop": 0,
    }
    tool: Json = {"name": "conformance"} | ({"version": results.run.harness} if results.run.harness else {})
    versions = {engine: dict(results.environment[engine].versions) for engine in results.engines}
    document = {
        "reportFormat": "CTRF",
        "specVersion": VERSION,
        "results": {
            "tool": tool,
            "summary": summary,
            "tests": tests,
            "extra": {
                "engines": versions,
                "lacks": usual,
                "partial": results.run.partial,
                "cases": results.run.cases_digest,
            },
        },
    }
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")) + "\n"


def _test(results: Results, row: Folded, cells: Sequence[MatrixCell], usual: Mapping[str, str], ms: int) -> Json:
    """The test of a row. ``usual``: what its engine usually lacks, which the document says once. An intermittent row
    fails in only some of its runs alone: the test is flaky."""
    witnesses = list(dict.fromkeys(cell.witness for cell in cells if cell.witness))
    lines = [*map(replay_command, witnesses), *(part.line for part in told(cells, usual))]
    found: Json = {
        "name": claim(results, row.row) or "/".join(row.row),
        "status": STATUSES[row.verdict],
        "duration": ms,
        "suite": [row.engine, row.scenario],
        "rawStatus": standing(row),
        "tags": [row.engine, row.scenario],
        "extra": {
            "engine": row.engine,
            "guarantee": "/".join(row.row),
            "cases": row.cases,
            "violations": row.violations,
            "witnesses": witnesses,
        },
    }
    if row.verdict is Verdict.HOLDS:
        return found | {"stdout": [row.words, *lines]}
    found |= {"message": reason_of(row), "trace": "\n".join(lines)}
    if row.intermittent:
        found |= {"flaky": True}
        found["extra"]["intermittent"] = row.intermittent
    return found


def _not_run(engine: str, why: str) -> Json:
    return {
        "name": f"{engine} runs to its end",
        "status": "failed",
        "duration": 0,
        "suite": [engine],
        "rawStatus": "error",
        "tags": [engine],
        "message": why,
        "extra": {"engine": engine},
    }


REPORT = Report(render, "ctrf.json")
