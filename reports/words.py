"""The common words of all reports: the symbol of a verdict, the name of a run, a schedule with its trace as lines of
text."""

import itertools
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from conformance.judgement.cell import IN_PART, Folded, MatrixCell, Strength, Verdict
from conformance.model.engine import bare
from conformance.model.schedule import Arrival, Schedule
from conformance.model.trace import DRAIN, Emission, Trace
from conformance.model.values import canonical, spelled
from conformance.results.changes import Change
from conformance.results.results import Results
from conformance.results.witness import Witness
from conformance.support.grouping import grouped

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


BARS = {Strength.FEW: "▂", Strength.SOME: "▄", Strength.MANY: "█"}
"""The mark of a row that holds, by its strength."""

STANDINGS = {
    "holds": (SYMBOLS[Verdict.HOLDS], MEANINGS[Verdict.HOLDS]),
    "in-part": ("◐", "holds, and not every perturbation that it promises was exercised"),
    **{v.value: (SYMBOLS[v], MEANINGS[v]) for v in SYMBOLS if v is not Verdict.HOLDS},
}
"""Where a row of the matrix can stand, by the word of queries -> (symbol, meaning)."""


def standing(row: Folded) -> str:
    """Where a row stands: a key of STANDINGS."""
    return "in-part" if row.in_part else row.verdict.value


def shown(row: Folded) -> str:
    """The standing of a row for a cell of a table: symbol, strength where it holds, word."""
    word = standing(row)
    return f"{mark(row)} {IN_PART if row.in_part else word}"


def mark(row: Folded) -> str:
    """The symbol of a row's standing, with its strength where it holds as a whole."""
    return STANDINGS[standing(row)][0] + (BARS[row.strength] if row.strength else "")


def standings(rows: Iterable[Folded]) -> dict[str, int]:
    """How many rows stand where, by the keys of STANDINGS."""
    found = Counter(map(standing, rows))
    return {word: found[word] for word in STANDINGS}


def strengths(rows: Iterable[Folded]) -> dict[Strength, int]:
    """How many of the rows that hold as a whole have which strength."""
    found = Counter(row.strength for row in rows if row.strength)
    return {strength: found[strength] for strength in BARS}


STRENGTH_LEGEND = "fewest cases under one promised perturbation: " + ", ".join(
    f"{bar} {strength.value}" for strength, bar in BARS.items()
)


def counted(cells: Iterable[MatrixCell]) -> dict[Verdict, int]:
    found = Counter(cell.verdict for cell in cells)
    return {verdict: found[verdict] for verdict in SYMBOLS}


def reason_of(cell: MatrixCell) -> str:
    """The reason of a cell, without the answer that the engine gave when it was asked for what it lacks: its own record
    has that."""
    return cell.reason.partition(" (asked for it, the engine answered: ")[0]


def claim(results: Results, row: tuple[str, str]) -> str:
    """A guarantee in words."""
    return results.scenarios[row[0]].guarantees[row[1]].claim


def labels(runs: Sequence[Results]) -> list[str]:
    """A short name for each of several runs: the versions in which it differs from the others, or its number."""
    named = [dict(v for engine in run.engines if (v := run.environment[engine].framework)) for run in runs]
    told = [n for n in dict.fromkeys(itertools.chain(*named)) if len({versions.get(n) for versions in named}) > 1]
    found = [", ".join(f"{n} {versions[n]}" for n in told if n in versions) for versions in named]
    return [
        label if label and found.count(label) == 1 else f"{label} (run {number})".strip()
        for number, label in enumerate(found, 1)
    ]


OTHER_CASES = "The two runs did not run the same file of cases: a change may come from the cases."


def changed_claim(runs: Sequence[Results], change: Change) -> str:
    """The subject of a change in words: a claim, or a program under perturbations. If no run has the texts, ids."""
    texts = next((run.scenarios[change.scenario] for run in reversed(runs) if change.scenario in run.scenarios), None)
    if change.of_program:
        return f"{texts.name if texts else change.scenario} ({change.about})"
    known = texts.guarantees.get(change.about) if texts else None
    return known.claim if known else f"{change.scenario}/{change.about}"


def change_in_words(change: Change) -> str:
    """A change in words: before, after, and its perturbations."""
    return f"{change.before} → {change.after} ({some(change.perturbations)})"


FEW = 3
"""How many of many names are told."""


def some(names: Sequence[str], few: int = FEW) -> str:
    """The first few of many names, and how many more there are."""
    return ", ".join(names) if len(names) <= few + 1 else f"{', '.join(names[:few])} and {len(names) - few} more"


def witness_of(runs: Sequence[Results], change: Change) -> Witness | None:
    """The witness of a change: of the newest run that has one for it."""
    for run in reversed(runs):
        for cell in run.cells:
            mine = (bare(cell.engine), *cell.row) == (change.engine, change.scenario, change.about)
            if mine and cell.perturbation in change.perturbations and cell.witness in run.witnesses:
                return run.witnesses[cell.witness]
    return None


def number_changed(found: Iterable[Change]) -> str:
    """The number of guarantees on engines that changed, for the start of a title."""
    return f"{amount(len({(c.engine, c.scenario, c.about) for c in found}), 'guarantee')} on engines:"


def replay_command(witness_id: str) -> str:
    return f"conformance replay {witness_id}"


def relative(time: int, schedule: Schedule) -> str:
    """A time as its distance (ms) from the schedule's first watermark."""
    return f"{time - schedule.advances[0].watermark:+d}"


def met(arrival: Arrival) -> str:
    """The place of an element relative to the watermark at its delivery, in words."""
    if arrival.on_time:
        return "on time"
    return "at the watermark" if arrival.event.event_time == arrival.watermark else "behind"


def timeline(schedule: Schedule, trace: Trace) -> Iterator[str]:
    """A schedule step by step: its input (with times in ms after the first watermark) and its output."""
    yield from step_by_step(schedule, {"out": trace})


def step_by_step(schedule: Schedule, traces: Mapping[str, Trace]) -> Iterator[str]:
    """A schedule step by step, with the output of each of some traces under the trace's name."""
    out = grouped(
        (emission.step, f"    {name} {_emitted(emission, schedule)}")
        for name, trace in traces.items()
        for emission in trace.emissions
    )
    origin = schedule.advances[0].watermark
    yield f"times in ms after the first watermark, {origin} ms since the epoch"
    for step in schedule.steps:
        yield f"step {step.id}: {step.told(origin)}"
        for arrival in (arrival for arrival in schedule.arrivals if arrival.step == step.id):
            event = arrival.event
            value = "" if event.value is None else f" value {canonical(event.value)}"
            time = relative(event.event_time, schedule)
            yield f"    in  {event.id} key {spelled(event.key)} time {time} ({met(arrival)}){value}"
        yield from out.get(step.id, [])
    if DRAIN in out:
        yield "end of the stream (not judged)"
        yield from out[DRAIN]


def _emitted(emission: Emission, schedule: Schedule) -> str:
    what = f"stopped: {emission.error}" if emission.error else canonical(emission.value)
    time = "" if emission.event_time is None else f" at {relative(emission.event_time, schedule)}"
    return f"key {spelled(emission.key)} {what}{time}"


def shortened(text: str, most: int) -> str:
    """The text, or as much of its beginning as ``most`` characters leave room for."""
    return text if len(text) <= most else text[: most - 1] + "…"


def legal(text: str) -> str:
    """The text without the characters that XML 1.0 cannot carry."""
    return re.sub(r"[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "", text)


def coverage_line(cell: MatrixCell) -> str:
    """The circumstances of the cases behind a cell, "" if there are no cases."""
    if not cell.cases:
        return ""
    had = [f"{circumstance} {number}" for circumstance, number in cell.coverage.items()]
    return f"of {amount(cell.cases, 'case')}: {', '.join(had) or 'none with any of the circumstances that are counted'}"


def amount(number: int, what: str, plural: str = "s") -> str:
    """ "1 case", "2 cases"."""
    return f"{number} {what}{plural if number != 1 else ''}"


def replayed(results: Results, quiet: str) -> list[str]:
    """The answers of the stored witnesses, a line for each answer; those that gave another one than ``quiet`` are
    named."""
    names = grouped((replay.answer, replay.witness) for replay in results.replays)
    return [
        f"stored witnesses: {len(found)} {answer}" + (f": {', '.join(found)}" if answer != quiet else "")
        for answer, found in names.items()
    ]
