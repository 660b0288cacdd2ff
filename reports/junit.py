"""junit.xml: one test case for each guarantee on an engine, over all perturbations, for CI viewers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from xml.etree import ElementTree

from conformance.judgement.cell import MatrixCell, Verdict
from conformance.judgement.verdict import fold
from conformance.results.report import Report
from conformance.results.results import Results
from reports.perturbations import told
from reports.words import claim, legal, not_run, replay_command

TAGS = {
    Verdict.VIOLATED: "failure",
    Verdict.ERROR: "error",
    Verdict.UNSUPPORTED: "skipped",
    Verdict.UNKNOWN: "skipped",
}


def render(runs: Sequence[Results]) -> str:
    """A test suite per engine of the last run. A violated row is a failure; unsupported and unknown rows are skipped. The
    text of a test case says under which perturbations its row holds, and how many cases say so."""
    results = runs[-1]
    groups: dict[str, dict[tuple[str, str], list[MatrixCell]]] = {engine: {} for engine in results.engines}
    for cell in results.cells:
        groups[cell.engine].setdefault(cell.row, []).append(cell)
    folded = {engine: {row: fold(cells) for row, cells in rows.items()} for engine, rows in groups.items()}
    everything = [row for rows in folded.values() for row in rows.values()]
    root = ElementTree.Element("testsuites", {"name": "conformance", **_numbers(everything, len(not_run(results)))})
    for engine, rows in folded.items():
        suite = ElementTree.SubElement(root, "testsuite", {"name": legal(engine), **_numbers(list(rows.values()))})
        for row, found in rows.items():
            where = legal(f"{engine}.{found.scenario}")
            case = ElementTree.SubElement(suite, "testcase", classname=where, name=legal(claim(results, row)), time="0")
            parts = [part.line for part in told(groups[engine][row])]
            if tag := TAGS.get(found.verdict):
                witnesses = dict.fromkeys(cell.witness for cell in groups[engine][row] if cell.witness)
                said = [f"{found.words}: {found.reason}", *map(replay_command, witnesses), *parts]
                ElementTree.SubElement(case, tag, message=legal(found.reason)).text = legal("\n".join(said))
            else:
                ElementTree.SubElement(case, "system-out").text = legal("\n".join([found.words, *parts]))
    for engine, why in not_run(results):
        one = {"tests": "1", "failures": "0", "errors": "1", "skipped": "0", "time": "0"}
        suite = ElementTree.SubElement(root, "testsuite", {"name": legal(f"{engine} (the run)"), **one})
        case = ElementTree.SubElement(suite, "testcase", classname=legal(engine), name="runs to its end", time="0")
        ElementTree.SubElement(case, "error", message=legal(why)).text = legal(why)
    return document(root)


def document(root: ElementTree.Element) -> str:
    """A file of test suites."""
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _numbers(cells: Sequence[MatrixCell], failed: int = 0) -> dict[str, str]:
    """The attributes of a suite: counts of its cells, and of failed engines. Viewers ask for times; a cell has none of its own."""
    tags = Counter(TAGS.get(cell.verdict) for cell in cells)
    counts = {
        "tests": len(cells) + failed,
        "failures": tags["failure"],
        "errors": tags["error"] + failed,
        "skipped": tags["skipped"],
    }
    return {name: str(number) for name, number in counts.items()} | {"time": "0"}


REPORT = Report(render, "junit.xml")
