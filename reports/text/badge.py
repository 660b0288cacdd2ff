"""badge.svg: the verdicts of the last run on one line, for the top of a README."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from conformance.judgement.cell import Verdict
from conformance.reports.words import standings
from conformance.results.report import Report
from conformance.results.results import Results

WIDTH = 6.6
"""The width of a character in px."""

WHOLE, VIOLATED, BROKEN = "#0b5c4e", "#8f2d0e", "#6b4a00"
"""Colours: all decided guarantees hold; one is violated; the run is not whole."""


def render(runs: Sequence[Results]) -> str:
    """The number of guarantees with each verdict, over all engines, and the number of engines that did not run to their
    end."""
    results = runs[-1]
    counts = standings(row for rows in results.folded().values() for row in rows.values())
    said = [f"{n} {word.replace('-', ' ')}" for word, n in counts.items() if n and word != Verdict.UNSUPPORTED.value]
    stopped = len(results.not_run)
    said += [f"{stopped} engine{'s' if stopped > 1 else ''} failed"] if stopped else []
    said += ["partial"] if results.run.partial else ["brief"] if results.run.brief else []
    broken = stopped or results.run.partial or counts[Verdict.ERROR.value]
    fill = BROKEN if broken else VIOLATED if counts[Verdict.VIOLATED.value] else WHOLE
    return _badge("conformance", ", ".join(said) or "no cells", fill)


def _badge(left: str, right: str, colour: str) -> str:
    widths = [len(text) * WIDTH + 14 for text in (left, right)]
    size = {"width": f"{sum(widths):.0f}", "height": "20"}
    root = Element(
        "svg", {"xmlns": "http://www.w3.org/2000/svg", **size, "role": "img", "aria-label": f"{left}: {right}"}
    )
    x = 0.0
    for text, width, fill in zip((left, right), widths, ("#444c54", colour), strict=True):
        SubElement(root, "rect", {"x": f"{x:.1f}", "width": f"{width:.1f}", "height": "20", "fill": fill})
        middle = {"x": f"{x + width / 2:.1f}", "y": "14", "text-anchor": "middle", "fill": "#ffffff"}
        SubElement(root, "text", {**middle, "font-family": "Verdana, sans-serif", "font-size": "11"}).text = text
        x += width
    return ElementTree.tostring(root, encoding="unicode") + "\n"


REPORT = Report(render, "badge.svg")
