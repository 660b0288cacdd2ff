"""junit.xml: one test case for each guarantee on an engine, over all perturbations, for CI viewers."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from xml.etree import ElementTree

from conformance.judgement.cell import Folded, MatrixCell, Verdict
from conformance.reports.perturbations import AS_USUAL, lack, lacks, told
from conformance.reports.text.times import seconds_of
from conformance.reports.words import claim, legal, reason_of, replay_command, shortened
from conformance.results.report import Report
from conformance.results.results import Results
from conformance.support.grouping import grouped

TAGS = {
    Verdict.VIOLATED: "failure",
    Verdict.ERROR: "error",
    Verdict.UNSUPPORTED: "skipped",
    Verdict.UNKNOWN: "skipped",
}

MESSAGE = 100
"""The most characters of a message. The text of the test case has the whole reason."""


def render(runs: Sequence[Results]) -> str:
    """A test suite per engine of the last run. A violated row is a failure; unsupported and unknown rows are skipped.
    The text of a test case says under which perturbations its row holds, and how many cases say so. The properties of a
    suite say what its engine usually lacks under which perturbations, and why it lacks what a row cannot be asked
    without. A test case does not name the perturbations for which its engine lacks the usual."""
    results = runs[-1]
    groups: dict[str, dict[tuple[str, str], list[MatrixCell]]] = {engine: {} for engine in results.engines}
    for cell in results.cells:
        groups[cell.engine].setdefault(cell.row, []).append(cell)
    together = results.folded()
    folded = {engine: {row: together[row][engine] for row in rows} for engine, rows in groups.items()}
    everything = [row for rows in folded.values() for row in rows.values()]
    root = ElementTree.Element(
        "testsuites",
        {
            "name": "conformance",
            **_numbers(everything, sum(seconds_of(results, e) for e in results.engines), len(results.not_run)),
        },
    )
    for engine, rows in folded.items():
        suite = ElementTree.SubElement(
            root, "testsuite", {"name": legal(engine), **_numbers(list(rows.values()), seconds_of(results, engine))}
        )
        usual = lacks(cell for cells in groups[engine].values() for cell in cells)
        _properties(suite, usual, rows.values())
        for row, found in rows.items():
            where = {"classname": legal(f"{engine}.{found.scenario}"), "name": legal(claim(results, row))}
            _tell(ElementTree.SubElement(suite, "testcase", where), found, groups[engine][row], usual)
    for engine, why in results.not_run:
        one = {"tests": "1", "failures": "0", "errors": "1", "skipped": "0", "time": "0"}
        suite = ElementTree.SubElement(root, "testsuite", {"name": legal(f"{engine} (the run)"), **one})
        case = ElementTree.SubElement(suite, "testcase", classname=legal(engine), name="runs to its end", time="0")
        ElementTree.SubElement(case, "error", message=legal(why)).text = legal(why)
    return document(root)


def document(root: ElementTree.Element) -> str:
    """A file of test suites."""
    ElementTree.indent(root, "")
    for case in root.iter("testcase"):
        if len(case) == 1:  # a line less for each of thousands
            case.text = case[0].tail = None
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _tell(case: ElementTree.Element, row: Folded, cells: Sequence[MatrixCell], usual: Mapping[str, str]) -> None:
    """What is said of a row: where it stands and why, and its perturbations."""
    tag = TAGS.get(row.verdict)
    parts = [part.line for part in told(cells, usual) if part.word != AS_USUAL]
    message = legal(lack(row) if row.verdict is Verdict.UNSUPPORTED else shortened(reason_of(row), MESSAGE))
    said = ElementTree.SubElement(case, tag, message=message) if tag else ElementTree.SubElement(case, "system-out")
    if row.verdict is Verdict.UNSUPPORTED and len(parts) <= 1:
        return  # the message, and the suite, say it
    stands = [] if row.strength else [f"{row.words}: {row.reason}" if tag in ("failure", "error") else row.words]
    witnesses = dict.fromkeys(cell.witness for cell in cells if cell.witness)
    said.text = legal("\n".join([*stands, *map(replay_command, witnesses), *parts]))


def _properties(suite: ElementTree.Element, usual: Mapping[str, str], rows: Iterable[Folded]) -> None:
    """What an engine usually lacks, with the perturbations that it therefore cannot be asked about; and why, where the
    engine says so."""
    under = grouped((lacking, perturbation) for perturbation, lacking in usual.items())
    found = [(f"lacks {lacking}", ", ".join(names)) for lacking, names in under.items()]
    if found:
        found.append((AS_USUAL, "the perturbations of a row that its test case does not name"))
    reasons = dict.fromkeys(row.reason.partition(": ")[::2] for row in rows if row.verdict is Verdict.UNSUPPORTED)
    found += [(f"why it lacks {lacking}", why) for lacking, why in reasons if why]
    if found:
        properties = ElementTree.SubElement(suite, "properties")
        for name, value in found:
            ElementTree.SubElement(properties, "property", name=legal(name), value=legal(value))


def _numbers(cells: Sequence[MatrixCell], seconds: float, failed: int = 0) -> dict[str, str]:
    """The attributes of a suite: counts of its cells, and of failed engines, and its time. A cell has no time of its
    own."""
    tags = Counter(TAGS.get(cell.verdict) for cell in cells)
    counts = {
        "tests": len(cells) + failed,
        "failures": tags["failure"],
        "errors": tags["error"] + failed,
        "skipped": tags["skipped"],
    }
    return {name: str(number) for name, number in counts.items()} | {"time": f"{seconds:.1f}"}


REPORT = Report(render, "junit.xml")
