"""junit.xml: one test case a cell, for CI viewers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from xml.etree import ElementTree

from conformance.judgement.cell import MatrixCell, Verdict
from conformance.results.report import Report
from conformance.results.results import Results
from reports.words import claim, legal, not_run, replay_command

TAGS = {
    Verdict.VIOLATED: "failure",
    Verdict.ERROR: "error",
    Verdict.UNSUPPORTED: "skipped",
    Verdict.UNKNOWN: "skipped",
}


def render(runs: Sequence[Results]) -> str:
    """A test suite per engine of the last run. A violated cell is a failure; unsupported and unknown cells are skipped."""
    results = runs[-1]
    root = ElementTree.Element("testsuites", {"name": "conformance", **_numbers(results.cells, len(not_run(results)))})
    for engine in results.engines:
        cells = [cell for cell in results.cells if cell.engine == engine]
        suite = ElementTree.SubElement(root, "testsuite", {"name": legal(engine), **_numbers(cells)})
        for cell in cells:
            name = legal(f"{claim(results, cell.row)} [{cell.perturbation}]")
            where = legal(f"{engine}.{cell.scenario}")
            case = ElementTree.SubElement(suite, "testcase", classname=where, name=name, time="0")
            if tag := TAGS.get(cell.verdict):
                said = [f"{cell.verdict.value}: {cell.reason}"]
                said += [replay_command(cell.witness)] if cell.witness else []
                ElementTree.SubElement(case, tag, message=legal(cell.reason)).text = legal("\n".join(said))
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
