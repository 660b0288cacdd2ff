"""A diff of two runs, and the rulings of a gate, as lines of text, JSON, Markdown and JUnit."""

import json
from collections.abc import Iterator, Mapping, Sequence
from xml.etree import ElementTree

from conformance.comparison.gate import GateReport, Outcome, Ruled
from conformance.judgement.agreement import Agreement
from conformance.judgement.cell import Verdict
from conformance.model.engine import bare
from conformance.model.values import canonical
from conformance.reports.text.junit import document
from conformance.reports.text.likeness import compared, difference_lines
from conformance.reports.text.markdown import changed, plain
from conformance.reports.words import (
    FEW,
    OTHER_CASES,
    amount,
    change_in_words,
    changed_claim,
    legal,
    number_changed,
    replay_command,
    some,
)
from conformance.results.changes import Changes
from conformance.results.results import Results

SURVIVED = {
    "-survives-the-upgrade": "go on from a checkpoint of the old release",
    "-survives-the-rollback": "from one of the new release, taken back",
}
"""How the id of a guarantee ends that checkpoints survive -> words."""

ENGINES = "Engines that did not run alike on both sides"
HEADINGS = {Outcome.BLOCKS: "Blocked", Outcome.TOLD: "To look at, not blocked"}


def diff_lines(between: Changes, runs: Sequence[Results], everything: bool = False) -> Iterator[str]:
    """What changed, by kind, a line each for a few changes, or for all; claims in words where a run has them."""
    yield from sides_in_part(between)
    if not between.same_cases:
        yield OTHER_CASES
    for where, engines in (("old", between.gone), ("new", between.added)):
        if engines:
            yield f"only in the {where} one: {some(engines, len(engines) if everything else FEW)}"
    if names := between.new_guarantees:
        yield f"guarantees that only the new one has: {some(names, len(names) if everything else FEW)}"
    for kind, found in between.found.items():
        yield f"{number_changed(found)} {kind.value}"
        for change in found if everything else found[:FEW]:
            yield f"  {change.name}: {changed_claim(runs, change)}: {change_in_words(change)}"
        if not everything and len(found) > FEW:
            yield f"  and {amount(len(found) - FEW, 'more change')}: -v"
    yield f"{between.unchanged} verdicts unchanged, one for each guarantee, engine and perturbation"


def checkpoint_lines(results: Results) -> Iterator[str]:
    """What came of the checkpoints of an upgrade, and of one that is taken back: a line for each engine."""
    for engine in results.engines:
        told = []
        for what, words in SURVIVED.items():
            mine = [
                found[engine] for row, found in results.folded().items() if row[1].endswith(what) and engine in found
            ]
            asked = [row.verdict for row in mine if row.verdict in (Verdict.HOLDS, Verdict.VIOLATED)]
            if asked:
                told.append(f"{asked.count(Verdict.HOLDS)} of {amount(len(asked), 'program')} {words}")
        if told:
            yield f"{bare(engine)}: {'; '.join(told)}"


def sides_in_part(between: Changes) -> Iterator[str]:
    """Which side is of no full run, and in what way: a line for each."""
    for side, flaws in zip(("old", "new"), between.flaws, strict=True):
        if flaws:
            yield f"the {side} one is of a run that {' and '.join(flaws)}: what it lacks was perhaps not asked"


def output_lines(agreements: Sequence[Agreement], results: Results) -> Iterator[str]:
    """Lines that say whether two releases of an engine put out the same on the same cases, whatever guarantees say.
    Each program on which the releases differ has its smallest such case. Engines with such a program are first."""
    engines = dict.fromkeys((found.left, found.right) for found in agreements)
    differ = {found.left for found in agreements if found.differing}
    for left, right in sorted(engines, key=lambda pair: pair[0] not in differ):
        mine = [found for found in agreements if found.left == left]
        same = sum(found.cases - found.differing for found in mine)
        total = sum(found.cases for found in mine)
        told = f"{'all' if same == total else f'{same} of'} {amount(total, 'case')}"
        yield f"{bare(left)}: identical output on {told}"
        for found in mine:
            if found.smallest:
                name = results.scenarios[found.scenario].name
                yield f"  {name} ({found.program}): {compared(found, left, right)}; the smallest:"
                yield from (f"    {line}" for line in difference_lines(found))


def diff_json(between: Changes) -> str:
    found = [
        {
            "kind": change.kind.name.lower(),
            "engine": change.engine,
            "scenario": change.scenario,
            "program" if change.of_program else "guarantee": change.about,
            "before": change.before,
            "after": change.after,
            "perturbations": list(change.perturbations),
        }
        for change in between
    ]
    about = {"same_cases": between.same_cases, "only_old": list(between.gone), "only_new": list(between.added)}
    about["new_guarantees"] = list(between.new_guarantees)
    about["flaws"] = {side: list(flaws) for side, flaws in zip(("old", "new"), between.flaws, strict=True)}
    return json.dumps({**about, "unchanged": between.unchanged, "changes": found}, indent=1, ensure_ascii=False) + "\n"


def diff_markdown(between: Changes, runs: Sequence[Results], old: str, new: str) -> str:
    notes = [line for told in sides_in_part(between) for line in (plain(told), "")]
    return "\n".join(["# What changed", "", *notes, *changed(runs, between, old, new)]) + "\n"


def gate_lines(report: GateReport) -> Iterator[str]:
    """Engines that did not run on both sides; what blocks, then what is to be looked at, each with what to do about it;
    then the sum."""
    for heading, found in _sections(report):
        yield f"{heading}:"
        for ruled in found:
            yield from (f"  {line}" for line in _told(ruled))
    numbers = [len({(r.engine, r.scenario, r.guarantee) for r in report.of(o) if r.perturbations}) for o in Outcome]
    said = "guarantees on engines: {} blocked, {} to look at, {} pass".format(*numbers)
    blocked, told = (
        sum(not ruled.perturbations for ruled in report.of(outcome)) for outcome in (Outcome.BLOCKS, Outcome.TOLD)
    )
    yield f"{said}; besides: {blocked} blocked, {told} to look at" if blocked or told else said


def _sections(report: GateReport) -> Iterator[tuple[str, list[Ruled]]]:
    """(heading, what stands under it) of all that does not pass."""
    of_engines = [ruled for ruled in report.ruled if ruled.of_engine]
    found = [(ENGINES, of_engines)]
    found += [(heading, [r for r in report.of(outcome) if not r.of_engine]) for outcome, heading in HEADINGS.items()]
    return ((heading, told) for heading, told in found if told)


def _told(ruled: Ruled) -> Iterator[str]:
    under = f" ({some(ruled.perturbations)})" if ruled.perturbations else ""
    what = f"{ruled.ruling.outcome.value}: " if ruled.of_engine else ""
    yield f"{what}{ruled.name}{under}: {ruled.ruling.why}"
    if ruled.signature:
        yield f"  {ruled.signature}"
    if command := ruled.command or (ruled.witness and replay_command(ruled.witness)):
        yield f"  {command}"
    if ruled.divergence and ruled.ruling.outcome is not Outcome.PASSES:
        yield f"  listed: {ruled.divergence.reason} {ruled.divergence.issue}".rstrip()


def gate_markdown(report: GateReport) -> str:
    """The rulings."""
    *_, numbers = gate_lines(report)
    title = f"# Gate: {'open' if report.open else 'blocked'}"
    return "\n".join([title, "", *_section_lines(report), numbers]) + "\n"


def _section_lines(report: GateReport) -> Iterator[str]:
    """The sections as Markdown."""
    for heading, found in _sections(report):
        yield from (f"## {heading}", "")
        for ruled in found:
            first, *rest = _told(ruled)
            yield f"- {plain(first)}"
            yield from (f"  - {plain(line)}" for line in rest)
        yield ""


def upgrade_markdown(
    report: GateReport,
    between: Changes,
    runs: Sequence[Results],
    old: str,
    new: str,
    came_out: Sequence[str],
    replays: Mapping[str, str],
) -> str:
    """A comparison of two releases: which engines did not run alike, what changed, what came out (lines of text), and
    what the gate says of it. ``replays`` are commands by witness."""
    run = runs[-1].run
    asked = f"Both releases ran the same {amount(run.cases, 'case')} of {amount(len(runs[-1].scenarios), 'scenario')}."
    flaws = " and ".join(dict.fromkeys(flaw for side in between.flaws for flaw in side))
    asked += f" Each run {flaws}: what a cell lacks was perhaps not asked." if flaws else ""
    first, rest = (
        GateReport(tuple(ruled for ruled in report.ruled if ruled.of_engine is top)) for top in (True, False)
    )
    title = f"# Gate: {'open' if report.open else 'blocked'} ({plain(old)} → {plain(new)})"
    parts = [title, "", plain(asked), "", *_section_lines(first), *changed(runs, between, old, new, replays)]
    parts += ["## What came out", "", *(f"    {line}" for line in came_out), "", *_section_lines(rest)]
    *_, numbers = gate_lines(report)
    return "\n".join([*parts, numbers]) + "\n"


def not_compared(old: str, new: str, why: str) -> str:
    """The summary, as Markdown, of two releases that could not be compared."""
    return f"# Gate: blocked\n\n{plain(old)} and {plain(new)} could not be compared: {plain(why)}\n"


def gate_junit(report: GateReport) -> str:
    """A test case for each ruling of the gate on a guarantee and an engine. A ruling that blocks is a failure."""
    blocked = str(len(report.of(Outcome.BLOCKS)))
    numbers = {"tests": str(len(report.ruled)), "failures": blocked, "errors": "0", "skipped": "0", "time": "0"}
    root = ElementTree.Element("testsuites", {"name": "conformance gate", **numbers})
    suite = ElementTree.SubElement(root, "testsuite", {"name": "gate", **numbers})
    for ruled in report.ruled:
        under = f" [{', '.join(ruled.perturbations)}]" if ruled.perturbations else f": {ruled.ruling.why}"
        name = legal((ruled.guarantee or ruled.name) + under)
        about = {"classname": legal(f"{ruled.engine}.{ruled.scenario}".strip(".")), "name": name, "time": "0"}
        case = ElementTree.SubElement(suite, "testcase", about)
        if ruled.ruling.outcome is Outcome.BLOCKS:
            failure = ElementTree.SubElement(case, "failure", message=legal(ruled.ruling.why))
            failure.text = legal("\n".join(_told(ruled)))
    return document(root)


def proposals(report: GateReport) -> Iterator[str]:
    """Entries for the file of expectations, one for each violation that blocks. The user fills in the reasons."""
    told: set[tuple[str, ...]] = set()
    for ruled in report.of(Outcome.BLOCKS):
        key = ruled.engine, ruled.scenario, ruled.guarantee, ruled.signature
        if not ruled.signature or key in told:
            continue
        told.add(key)
        entry = {
            "engine": bare(ruled.engine),
            "guarantee": f"{ruled.scenario}/{ruled.guarantee}",
            "kind": "engine",
            "reason": "",
            "signature": ruled.signature,
        }
        entry |= {"witness": ruled.witness} if ruled.witness else {}
        yield "[[divergence]]"
        yield from (f"{name} = {canonical(value)}" for name, value in entry.items())
        yield ""
