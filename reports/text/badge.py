"""badge.svg: the verdicts of the last run on one line, for the top of a README."""

from collections.abc import Sequence

from conformance.judgement.cell import Verdict
from conformance.reports.templating import XML
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
    told = ", ".join(said) or "no cells"
    left, right = (round(len(text) * WIDTH + 14, 1) for text in ("conformance", told))
    parts = [("conformance", 0, left, "#444c54"), (told, left, right, fill)]
    badge = XML.get_template("badge.svg.j2").render(
        parts=parts, width=round(left + right), label=f"conformance: {told}"
    )
    return f"{badge}\n"


REPORT = Report(render, "badge.svg")
