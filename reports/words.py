"""What all reports say alike: the symbol of a verdict, a schedule with its trace as lines of text."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from conformance.agreement import specified_for
from conformance.changes import Change
from conformance.claims import Answer, Decision, OnEngine
from conformance.equivalence import IMPLIES, Equivalence, maximal
from conformance.model import (
    DRAIN,
    Advance,
    Arrival,
    Case,
    Emission,
    FailOnce,
    Partitions,
    Restart,
    Schedule,
    Trace,
    Wait,
    canonical,
    spelled,
)
from conformance.results import Cell, Results, Verdict
from conformance.witnesses import Witness

SYMBOLS = {
    Verdict.HOLDS: "✓",
    Verdict.VIOLATED: "✗",
    Verdict.UNSUPPORTED: "–",
    Verdict.UNKNOWN: "?",
    Verdict.ERROR: "!",
}

MEANINGS = {
    Verdict.HOLDS: "no case spoke against it (evidence, not proof)",
    Verdict.VIOLATED: "a case that fails alone speaks against it; the witness replays it",
    Verdict.UNSUPPORTED: "the engine or its API cannot express it",
    Verdict.UNKNOWN: "not decided: not exercised, no answer, or failing only beside other cases",
    Verdict.ERROR: "the harness failed; says nothing about the engine",
}


CLAIM_STYLES = {
    Answer.CONTRADICTED: {"style": "violated", "symbol": "✗"},
    Answer.CONFIRMED: {"style": "holds", "symbol": "✓"},
    Answer.UNDECIDED: {"style": "unknown", "symbol": "?"},
    Answer.NOT_ASKED: {"style": "unsupported", "symbol": "–"},
    Answer.NOT_DECIDABLE: {"style": "unsupported", "symbol": "–"},
}
"""How what is said of a claim looks: as the verdict that it is most like."""


def cases_in(found: OnEngine) -> str:
    """How many cases stand behind what an engine says of a claim, and in how many the guarantee was broken: added up over guarantees."""
    cases, against = sum(c.cases for c in found.because), sum(c.violations for c in found.because)
    return f"{against}/{cases}" if against else str(cases or "")


def shown_by(found: OnEngine) -> str:
    """The command that shows what contradicts a claim by holding, "" where nothing does: what is violated says so itself."""
    cells = (cell for cell in found.because if cell.witness and cell.verdict is Verdict.HOLDS)
    return next((replay_command(cell.witness) for cell in cells), "")


def probed_on(decision: Decision) -> str:
    """On what a claim's probe ran, "" where it has none."""
    if not decision.probed:
        return ""
    return f"probe {decision.claim.probe} on {', '.join(f'{k} {v}' for k, v in decision.probed.versions.items())}"


def claim_lines(decision: Decision) -> Iterator[str]:
    """A claim and what was decided of it, as lines of text: which cells of which engines say so, and their witnesses."""
    document = decision.claim.document
    about = " ".join(filter(None, [document.title, f"({document.version})" if document.version else ""]))
    yield f"{CLAIM_STYLES[decision.answer]['symbol']} {decision.answer.value}: “{decision.claim.quote}” ({decision.claim.id})"
    yield f"    {about}{', ' if document.url else ''}{document.url}"
    if decision.claim.note:
        yield f"    {decision.claim.note}"
    if decision.answer is Answer.CONTRADICTED and decision.claim.finding:
        yield f"    number {decision.claim.finding} of docs/findings.md, with a script outside the harness"
    if not decision.engines:
        yield f"    {decision.reason}" + (f" ({probed_on(decision)})" if decision.probed else "")
    for found in decision.engines:
        for cell in found.because:
            witness = f", {replay_command(cell.witness)}" if cell.witness else ""
            cases = f" in {cell.cases} cases" if cell.cases else ""
            row = "/".join(cell.row)
            yield f"    {found.answer.value} on {found.engine}: {row} {cell.verdict.value}{cases}{witness}"


def counted(cells: Iterable[Cell]) -> dict[Verdict, int]:
    found = Counter(cell.verdict for cell in cells)
    return {verdict: found[verdict] for verdict in SYMBOLS}


def claim(results: Results, row: tuple[str, str]) -> str:
    text: str = results.scenarios[row[0]]["guarantees"][row[1]]["claim"]
    return text


def not_run(results: Results) -> list[tuple[str, str]]:
    """(engine, why) of the engines that did not run, or not to their end."""
    return [(name, entry["failure"]) for name, entry in results.environment.items() if entry["failure"]]


def version(entry: Mapping[str, Any]) -> tuple[str, str] | None:
    """The name and version of the framework that an engine is of, by its entry in ``environment``; None where it is of none."""
    first: tuple[str, str] | None = next(iter(entry["versions"].items()), None)
    return None if first and first[0] == "python" else first


def labels(runs: Sequence[Results]) -> list[str]:
    """A short name for each of several runs: the versions by which it differs from the others, else its number."""
    named = [dict(v for engine in run.engines if (v := version(run.environment[engine]))) for run in runs]
    told = [n for n in dict.fromkeys(itertools.chain(*named)) if len({versions.get(n) for versions in named}) > 1]
    found = [", ".join(f"{n} {versions[n]}" for n in told if n in versions) for versions in named]
    return [
        label if label and found.count(label) == 1 else f"{label} (run {number})".strip()
        for number, label in enumerate(found, 1)
    ]


OTHER_CASES = "The two runs did not run the same file of cases: a change may be one of the cases."


def changed_claim(runs: Sequence[Results], change: Change) -> str:
    """What a change is about, in words: a claim, or a program under perturbations; ids where no run has the texts."""
    texts = next((run.scenarios[change.scenario] for run in reversed(runs) if change.scenario in run.scenarios), None)
    if change.of_program:
        return f"{texts['name'] if texts else change.scenario} ({change.about})"
    known = texts["guarantees"].get(change.about) if texts else None
    return known["claim"] if known else f"{change.scenario}/{change.about}"


def change_in_words(change: Change) -> str:
    """From what to what, under which perturbations."""
    return f"{change.before} → {change.after} ({', '.join(change.perturbations)})"


def cells_changed(found: Iterable[Change]) -> str:
    """How many cells, for the start of a title."""
    return f"{_count(sum(change.cells for change in found), 'cell')}:"


def replay_command(witness_id: str) -> str:
    return f"conformance replay witnesses/{witness_id}.json"


def relative(time: int, schedule: Schedule) -> str:
    """A time as its distance (ms) from the schedule's first watermark."""
    return f"{time - schedule.advances[0].watermark:+d}"


def met(arrival: Arrival) -> str:
    """How an element met the watermark that it was delivered under."""
    if arrival.on_time:
        return "on time"
    return "at the watermark" if arrival.event.event_time == arrival.watermark else "behind"


def timeline(schedule: Schedule, trace: Trace) -> Iterator[str]:
    """A schedule step by step: what went in (with its time after the first watermark, in ms), what came out."""
    yield from _steps(schedule, {"out": trace})


def _steps(schedule: Schedule, traces: Mapping[str, Trace]) -> Iterator[str]:
    """A schedule step by step, with what came out in each of some traces under the trace's name."""
    out: dict[int, list[str]] = {}
    for name, trace in traces.items():
        for emission in trace.emissions:
            out.setdefault(emission.step, []).append(f"    {name} {_emitted(emission)}")
    yield f"times in ms after the first watermark, {schedule.advances[0].watermark} ms since the epoch"
    for step in schedule.steps:
        if isinstance(step, Advance):
            settles = " (the next bundle comes before the engine settles)" if step.coalesced else ""
            yield f"step {step.id}: watermark moves to {relative(step.watermark, schedule)}{settles}"
        elif isinstance(step, Restart):
            yield f"step {step.id}: the job stops and resumes from its checkpoint"
        elif isinstance(step, Partitions):
            yield f"step {step.id}: the job starts with {step.count} partitions"
        elif isinstance(step, FailOnce):
            how = "the job resumes from its checkpoint" if step.resume else "it is retried"
            yield f"step {step.id}: the first attempt at the next bundle fails after state was written; {how}"
        elif isinstance(step, Wait):
            yield f"step {step.id}: {step.ms} ms of processing time pass"
        else:
            what = "initial state" if step.initial else "bundle"
            yield f"step {step.id}: {what} of {len(step.events)}"
            for arrival in (arrival for arrival in schedule.arrivals if arrival.step == step.id):
                event = arrival.event
                value = "" if event.value is None else f" value {canonical(event.value)}"
                time = relative(event.event_time, schedule)
                yield f"    in  {event.id} key {spelled(event.key)} time {time} ({met(arrival)}){value}"
        yield from out.get(step.id, [])
    if DRAIN in out:
        yield "end of the stream (not judged)"
        yield from out[DRAIN]


def _emitted(emission: Emission) -> str:
    what = f"stopped: {emission.error}" if emission.error else canonical(emission.value)
    return f"key {spelled(emission.key)} {what}"


def legal(text: str) -> str:
    """Without the characters that XML 1.0 has no way to carry."""
    return "".join(
        char
        for char in text
        if char in "\t\n\r"
        or (ord(char) >= 0x20 and not 0xD800 <= ord(char) <= 0xDFFF and ord(char) not in (0xFFFE, 0xFFFF))
    )


def survived(survival: Mapping[str, Any]) -> str:
    """Up to what a program's output stayed the same, in a few words."""
    if survival["unsupported"]:
        return "unsupported"
    if not survival["pairs"]:
        return "no pairs"
    promised, observed = survival["promised"], " and ".join(survival["observed"])
    counted = next((g["counted"] for g in survival["grades"] if g["equivalence"] == promised), 0)
    if counted and keeps_promise(survival) and not _shown(survival):
        return f"{promised} on the {counted} that count"
    return observed or "nothing that every pair shows"


def _shown(survival: Mapping[str, Any]) -> bool:
    """Whether every pair showed what was promised, or more."""
    strongest = {Equivalence(name) for name in survival["observed"]}
    return Equivalence(survival["promised"]) in strongest.union(*(IMPLIES[how] for how in strongest))


def promise(survival: Mapping[str, Any]) -> str:
    """What was promised and what was observed, without numbers."""
    promised = survival["promised"]
    if not keeps_promise(survival):
        return f"✗ {promised} missed, {survived(survival)}"
    return f"{promised} → {survived(survival)}" if _shown(survival) else f"{promised} kept by the pairs that count"


def partly(survival: Mapping[str, Any]) -> list[str]:
    """The strongest equivalences that only some pairs put to the test, and none refuted."""
    counted = {Equivalence(g["equivalence"]): g["counted"] for g in survival["grades"]}
    some = [
        Equivalence(g["equivalence"])
        for g in survival["grades"]
        if g["counted"] and g["inapplicable"] and not g["refuted"]
    ]
    return [f"{how.value} on {counted[how]} of {survival['pairs']}" for how in maximal(some)]


def inapplicable(survival: Mapping[str, Any]) -> str:
    """How many pairs did not count at what was promised (at identical, where nothing was); "" if all did."""
    asked = survival["promised"] or "identical"
    number = next((g["inapplicable"] for g in survival["grades"] if g["equivalence"] == asked), 0)
    return f"{number} inapplicable to {asked}" if number else ""


def keeps_promise(survival: Mapping[str, Any]) -> bool:
    """False where a pair refuted what the program promises."""
    return not any(g["refuted"] for g in survival["grades"] if g["equivalence"] == survival["promised"])


def survival_lines(survival: Mapping[str, Any]) -> Iterator[str]:
    """One program under one perturbation on one engine: every equivalence, and the smallest pair against each."""
    promised = f", promised: {survival['promised']}" if survival["promised"] else ", nothing promised"
    apart = f", {inapplicable(survival)}" if inapplicable(survival) else ""
    yield f"{survival['perturbation']}: {survived(survival)} ({survival['pairs']} pairs{promised}{apart})"
    if survival["unsupported"]:
        yield f"    {survival['unsupported']}"
    told = None
    for grade in survival["grades"]:
        yield (
            f"    {grade['equivalence']}: {grade['refuted']} of {grade['counted']} pairs against, "
            f"{grade['inapplicable']} inapplicable"
        )
        pair = grade["smallest"]
        if pair and pair != told:
            told = pair
            for title, key in (("the base", "base"), ("its twin", "twin")):
                schedule, trace = Schedule.from_json(pair[key]), Trace.from_json(pair[f"{key}_seen"])
                yield from (f"        {line}" for line in [f"{title}:", *timeline(schedule, trace)])


def coverage_line(cell: Cell) -> str:
    """What the cases behind a cell had in them, "" where there are none."""
    if not cell.cases:
        return ""
    had = [f"{circumstance} {number}" for circumstance, number in cell.coverage.items()]
    cases = "1 case" if cell.cases == 1 else f"{cell.cases} cases"
    return f"of {cases}: {', '.join(had) or 'none with any of the circumstances that are counted'}"


def with_reference(agreement: Mapping[str, Any]) -> bool:
    """Whether an engine is compared with the reference that reads *late* as it does, not with another engine."""
    return bool(agreement["right"] == specified_for(agreement["left"]))


def agreed(agreement: Mapping[str, Any]) -> str:
    """Up to what two agree on every case, in a few words."""
    if not agreement["cases"]:
        return "no cases"
    return " and ".join(agreement["agreed"]) or "nothing that every case shows"


def differing(agreement: Mapping[str, Any]) -> int:
    """On how many cases two are not identical."""
    return max((grade["differ"] for grade in agreement["grades"]), default=0)


def difference_lines(agreement: Mapping[str, Any]) -> Iterator[str]:
    """The smallest case on which two differ, and what each gave; nothing where there is none."""
    if smallest := agreement["smallest"]:
        traces = {f"{agreement[side]} gave": Trace.from_json(smallest[f"{side}_seen"]) for side in ("left", "right")}
        yield from _steps(Schedule.from_json(smallest["schedule"]), traces)


def compared_ports(results: Results) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """(a closing sentence, what it is about) of users' own operators: first the two of one port, on two engines, then each
    with the reference."""
    ports = {name for name, entry in results.environment.items() if entry["idiom"] and entry["column"] == name}
    for agreement in results.agreements:
        left, right = agreement["left"], agreement["right"]
        if {left, right} <= ports and left.partition(":")[2] == right.partition(":")[2]:
            yield compared(agreement, left, right), agreement
    for agreement in results.agreements:
        if agreement["left"] in ports and with_reference(agreement):
            yield compared(agreement, agreement["left"], "the reference"), agreement


def compared(agreement: Mapping[str, Any], left: str, right: str) -> str:
    cases, differ = agreement["cases"], differing(agreement)
    if not cases:
        return f"{left} and {right} have no case in common"
    if not differ:
        return f"{left} and {right} agree on {_count(cases, 'case')}"
    up_to = f", up to the {' and '.join(agreement['agreed'])} they agree on all" if agreement["agreed"] else ""
    late = f", {agreement['not_on_time']} of them with an element that is not on time" * bool(agreement["not_on_time"])
    return f"{left} and {right} differ on {differ} of {_count(cases, 'case')}{late}{up_to}"


def shown(title: str, case: Case, trace: Trace | None) -> list[str]:
    return [f"{title}:", *("  " + line for line in timeline(case.schedule, trace))] if trace else []


def witness_lines(witness: Witness) -> list[str]:
    """A witness as text: the schedule(s), what the engine gave, and what the reference gives."""
    lines = []
    if witness.base:
        lines += shown(f"the base, on {witness.engine}", witness.base, witness.base_seen)
        lines += [f"its twin ({witness.case.perturbation}):"]
    traces = {f"{witness.engine} gave": witness.seen}
    if witness.packed_seen:
        traces["in a pack it gave"] = witness.packed_seen
    if witness.specified != witness.seen:
        traces["the reference gave"] = witness.specified
    indent = "  " if witness.base else ""
    return [*lines, *(indent + line for line in _steps(witness.case.schedule, traces)), *about(witness)]


def about(witness: Witness) -> Iterator[str]:
    """What was found out about a witness: what flips it, how it was reduced, where it failed alone."""
    if witness.flip:
        yield f"one change flips it: {witness.flip.change}"
    elif not witness.case.base and not witness.base:
        yield "no single change that was tried flips it"
    reduction = witness.reduction
    if reduction.get("tried") and {"minimal_under_these", "elements_before", "rounds", "candidates"} <= set(reduction):
        least = "nothing simpler that was tried fails" if reduction["minimal_under_these"] else "not at its least"
        yield (
            f"reduced from {_count(reduction['elements_before'], 'element')} in {_count(reduction['rounds'], 'round')} "
            f"of {_count(reduction['candidates'], 'candidate')} in all ({', '.join(reduction['tried'])}): {least}"
        )
    for confirmation in witness.confirmations:
        on = f"{confirmation.engine} ({versions_in(confirmation.versions)})"
        yield f"failed alone in {confirmation.failed} of {confirmation.runs} runs on {on}"


def versions_in(versions: Mapping[str, str]) -> str:
    """What an engine runs on, as text, without its settings: their names have a dot."""
    return ", ".join(f"{name} {value}" for name, value in versions.items() if "." not in name)


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'s' if number != 1 else ''}"


def replayed(results: Results) -> list[str]:
    """What the stored witnesses gave, a line for each answer."""
    names: dict[str, list[str]] = {}
    for replay in results.replays:
        names.setdefault(replay["answer"], []).append(replay["witness"])
    return [f"stored witnesses: {len(found)} {answer}: {', '.join(found)}" for answer, found in names.items()]
