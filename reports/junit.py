"""junit.xml: one test case a cell, for CI viewers."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree import ElementTree

from conformance.results import Results, Verdict
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
    root = ElementTree.Element("testsuites", name="conformance")
    for engine in results.engines:
        cells = [cell for cell in results.cells if cell.engine == engine]
        tags = [TAGS.get(cell.verdict) for cell in cells]
        suite = ElementTree.SubElement(
            root,
            "testsuite",
            name=engine,
            tests=str(len(cells)),
            failures=str(tags.count("failure")),
            errors=str(tags.count("error")),
            skipped=str(tags.count("skipped")),
        )
        for cell, tag in zip(cells, tags, strict=True):
            name = f"{claim(results, cell.row)} [{cell.perturbation}]"
            case = ElementTree.SubElement(suite, "testcase", classname=f"{engine}.{cell.scenario}", name=legal(name))
            if tag:
                said = f"{cell.verdict.value}: {cell.reason}" + (
                    f"\n{replay_command(cell.witness)}" if cell.witness else ""
                )
                ElementTree.SubElement(case, tag, message=legal(cell.reason)).text = legal(said)
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"
