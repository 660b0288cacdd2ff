"""Witnesses in words: the schedule, the engine's output, the reference's output, and further facts."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from conformance.model.case import Case
from conformance.model.engine import bare
from conformance.model.trace import Trace
from conformance.reports.words import amount, step_by_step, timeline
from conformance.results.witness import Confirmation, Witness


def shown(title: str, case: Case, trace: Trace | None) -> list[str]:
    return [f"{title}:", *("  " + line for line in timeline(case.schedule, trace))] if trace else []


def witness_lines(witness: Witness) -> list[str]:
    """A witness as text: the schedule(s), the engine's output, the reference's output, and facts about the witness. A
    cell shows ``alone_lines`` beside it."""
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
    return [*lines, *(indent + line for line in step_by_step(witness.case.schedule, traces)), *about(witness)]


def about(witness: Witness) -> Iterator[str]:
    """Facts about a witness: the change that flips it, and its reduction."""
    if witness.flip:
        yield f"one change flips it: {witness.flip.change}"
    elif witness.neighbours:
        yield f"it fails beside {amount(len(witness.neighbours), 'other case')} in one pack: the witness's neighbours"
    elif not witness.case.base and not witness.base:
        yield "no single change that was tried flips it"
    reduction = witness.reduction
    if reduction.get("tried") and {"minimal_under_these", "elements_before", "rounds", "candidates"} <= set(reduction):
        least = "nothing simpler that was tried fails" if reduction["minimal_under_these"] else "not at its least"
        yield (
            f"reduced from {amount(reduction['elements_before'], 'element')} in {amount(reduction['rounds'], 'round')} "
            f"of {amount(reduction['candidates'], 'candidate')} in all ({', '.join(reduction['tried'])}): {least}"
        )


def alone_lines(witness: Witness, engine: str, versions: Mapping[str, str]) -> list[str]:
    """Where the witness of a cell failed alone: on the cell's own engine, in its versions and configuration, and
    nowhere else. The version of the framework stands for all of them."""
    name, number = next(iter(versions.items()), ("", ""))
    here = [replace(found, versions={name: number}) for found in witness.confirmed_on(bare(engine), versions)]
    return failed_alone(witness, here) or [f"not run alone on {bare(engine)} ({name} {number})"]


def failed_alone(witness: Witness, confirmations: Iterable[Confirmation]) -> list[str]:
    """Confirmations of a witness in words."""
    how = "beside its neighbours" if witness.neighbours else "alone"
    return [
        f"failed {how} in {c.failed} of {c.runs} runs on {c.engine} ({versions_in(c.versions)})" for c in confirmations
    ]


def versions_in(versions: Mapping[str, str]) -> str:
    """An engine's versions as text, without its settings. The names of settings have a dot."""
    return ", ".join(f"{name} {value}" for name, value in versions.items() if "." not in name)
