"""junit.xml: one test case a cell, for CI viewers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from xml.etree import ElementTree

from conformance.results import Cell, Results, Verdict
from reports.words import claim, legal, replay_command

TAGS = {
    Verdict.VIOLATED: "failure",
    Verdict.ERROR: "error",
    Verdict.UNSUPPORTED: "skipped",
    Verdict.UNKNOWN: "skipped",
}


def render(runs: Sequence[Results]) -> str:
    """A test suite per engine of the last run; violated is a failure, unsupported and unknown are skipped."""
    results = runs[-1]
    root = ElementTree.Element("testsuites", {"name": "conformance", **_numbers(results.cells)})
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
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _numbers(cells: Sequence[Cell]) -> dict[str, str]:
    """What a suite says of its cases. Viewers ask for times; a cell has none of its own."""
    tags = Counter(TAGS.get(cell.verdict) for cell in cells)
    counts = {"tests": len(cells), "failures": tags["failure"], "errors": tags["error"], "skipped": tags["skipped"]}
    return {name: str(number) for name, number in counts.items()} | {"time": "0"}
