"""badge.svg: the verdicts of the last run in a line, for the top of a README."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from conformance.results import Results, Verdict
from reports.words import counted

WIDTH = 6.6
"""Of a character, in px."""


def render(runs: Sequence[Results]) -> str:
    """How many guarantees hold and how many are violated, over all engines; a run that was cut short says so."""
    results = runs[-1]
    counts = counted(cell for cells in results.folded().values() for cell in cells.values())
    said = [f"{counts[verdict]} {verdict.value}" for verdict in (Verdict.HOLDS, Verdict.VIOLATED)]
    said += [f"{counts[Verdict.ERROR]} error"] if counts[Verdict.ERROR] else []
    whole = not results.run["partial"] and not counts[Verdict.ERROR]
    return _badge("conformance", ", ".join([*said, *(["partial"] if results.run["partial"] else [])]), whole)


def _badge(left: str, right: str, whole: bool) -> str:
    widths = [len(text) * WIDTH + 14 for text in (left, right)]
    size = {"width": f"{sum(widths):.0f}", "height": "20"}
    root = Element(
        "svg", {"xmlns": "http://www.w3.org/2000/svg", **size, "role": "img", "aria-label": f"{left}: {right}"}
    )
    x = 0.0
    for text, width, fill in zip((left, right), widths, ("#444c54", "#0b5c4e" if whole else "#8a4b00"), strict=True):
        SubElement(root, "rect", {"x": f"{x:.1f}", "width": f"{width:.1f}", "height": "20", "fill": fill})
        middle = {"x": f"{x + width / 2:.1f}", "y": "14", "text-anchor": "middle", "fill": "#ffffff"}
        SubElement(root, "text", {**middle, "font-family": "Verdana, sans-serif", "font-size": "11"}).text = text
        x += width
    return ElementTree.tostring(root, encoding="unicode") + "\n"
