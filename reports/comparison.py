"""A diff of two runs, and what a gate says: as lines of text, JSON, Markdown and JUnit."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from xml.etree import ElementTree

from conformance.changes import Changes
from conformance.engine import bare
from conformance.gate import GateReport, Outcome, Ruled
from conformance.model import canonical
from conformance.results import Results
from reports.junit import document
from reports.markdown import changed, plain
from reports.words import (
    OTHER_CASES,
    cells_changed,
    change_in_words,
    changed_claim,
    compared,
    difference_lines,
    differing,
    legal,
    replay_command,
)

HEADINGS = {Outcome.BLOCKS: "Blocked", Outcome.TOLD: "To look at, not blocked"}


def diff_lines(between: Changes, runs: Sequence[Results]) -> Iterator[str]:
    """What changed, by kind, a line each; claims in words where a run has them."""
    if not between.same_cases:
        yield OTHER_CASES
    for where, engines in (("old", between.gone), ("new", between.added)):
        if engines:
            yield f"only in the {where} one: {', '.join(engines)}"
    if between.new_guarantees:
        yield f"guarantees that only the new one has: {', '.join(between.new_guarantees)}"
    for kind, found in between.found.items():
        yield f"{cells_changed(found)} {kind.value}"
        for change in found:
            yield f"  {change.name}: {changed_claim(runs, change)}: {change_in_words(change)}"
    yield f"{between.unchanged} cells unchanged"


def output_lines(agreements: Sequence[Mapping[str, Any]], results: Results) -> Iterator[str]:
    """Whether two releases of an engine put out the same on the same cases, whatever guarantees say; the smallest case for each
    program on which they do not."""
    engines = dict.fromkeys((found["left"], found["right"]) for found in agreements)
    for left, right in engines:
        mine = [found for found in agreements if found["left"] == left]
        same = sum(found["cases"] - differing(found) for found in mine)
        total = sum(found["cases"] for found in mine)
        told = f"all {total}" if same == total else f"{same} of {total}"
        yield f"{bare(left)}: identical output on {told} cases"
        for found in mine:
            if found["smallest"]:
                name = results.scenarios[found["scenario"]]["name"]
                yield f"  {name} ({found['program']}): {compared(found, left, right)}; the smallest:"
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
    return json.dumps({**about, "unchanged": between.unchanged, "changes": found}, indent=1, ensure_ascii=False) + "\n"


def diff_markdown(between: Changes, runs: Sequence[Results], old: str, new: str) -> str:
    return "\n".join(["# What changed", "", *changed(runs, between, old, new)]) + "\n"


def gate_lines(report: GateReport) -> Iterator[str]:
    """What blocks, then what is to be looked at, each with what to do about it; then the sum."""
    for outcome, heading in HEADINGS.items():
        if found := report.of(outcome):
            yield f"{heading}:"
            for ruled in found:
                yield from (f"  {line}" for line in _told(ruled))
    numbers = {outcome: sum(len(r.perturbations) for r in report.of(outcome)) for outcome in Outcome}
    yield f"{numbers[Outcome.BLOCKS]} cells blocked, {numbers[Outcome.TOLD]} to look at, {numbers[Outcome.PASSES]} pass"


def _told(ruled: Ruled) -> Iterator[str]:
    yield f"{ruled.name} ({', '.join(ruled.perturbations)}): {ruled.ruling.why}"
    if ruled.signature:
        yield f"  {ruled.signature}"
    if ruled.witness:
        yield f"  {replay_command(ruled.witness)}"
    if ruled.divergence and ruled.ruling.outcome is not Outcome.PASSES:
        yield f"  listed: {ruled.divergence.reason} {ruled.divergence.issue}".rstrip()


def gate_markdown(report: GateReport) -> str:
    lines = ["# Gate: " + ("open" if report.open else "blocked"), ""]
    for outcome, heading in HEADINGS.items():
        if found := report.of(outcome):
            lines += [f"## {heading}", ""]
            for ruled in found:
                first, *rest = _told(ruled)
                lines += [f"- {plain(first)}", *(f"  - {plain(line)}" for line in rest)]
            lines.append("")
    *_, numbers = gate_lines(report)
    return "\n".join([*lines, numbers]) + "\n"


def gate_junit(report: GateReport) -> str:
    """A test case for each guarantee on an engine that the gate says one thing of; what blocks is a failure."""
    blocked = str(len(report.of(Outcome.BLOCKS)))
    numbers = {"tests": str(len(report.ruled)), "failures": blocked, "errors": "0", "skipped": "0", "time": "0"}
    root = ElementTree.Element("testsuites", {"name": "conformance gate", **numbers})
    suite = ElementTree.SubElement(root, "testsuite", {"name": "gate", **numbers})
    for ruled in report.ruled:
        name = legal(f"{ruled.guarantee} [{', '.join(ruled.perturbations)}]")
        about = {"classname": legal(f"{ruled.engine}.{ruled.scenario}"), "name": name, "time": "0"}
        case = ElementTree.SubElement(suite, "testcase", about)
        if ruled.ruling.outcome is Outcome.BLOCKS:
            failure = ElementTree.SubElement(case, "failure", message=legal(ruled.ruling.why))
            failure.text = legal("\n".join(_told(ruled)))
    return document(root)


def proposals(report: GateReport) -> Iterator[str]:
    """Divergences to put into the expectations, for the violations that block, with the reasons left to fill in."""
    told: set[tuple[Any, ...]] = set()
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
