"""Stability and agreement in words: the likeness of a case and its twin, and of two engines."""

from collections.abc import Iterable, Iterator

from conformance.judgement.agreement import Agreement
from conformance.judgement.stability import Pair, Stability
from conformance.model.equivalence import IMPLIES, Equivalence, maximal
from conformance.reports.words import amount, step_by_step, timeline
from conformance.results.results import Results


def stable_up_to(stability: Stability) -> str:
    """The equivalences up to which a program's output is stable, in a few words."""
    if stability.unsupported:
        return "unsupported"
    if not stability.pairs:
        return "no pairs"
    promised, observed = stability.promised, stability.observed
    counted = next((grade.counted for grade in stability.grades if grade.equivalence is promised), 0)
    if promised and counted and not stability.refuting and not _shows(observed, promised):
        return f"{promised.value} on the {counted} that count"
    return _words(observed) or "nothing that every pair shows"


def _shows(observed: Iterable[Equivalence], wanted: Equivalence) -> bool:
    """Whether every pair showed an equivalence, or a stronger one."""
    return any(wanted is how or wanted in IMPLIES[how] for how in observed)


def _words(found: Iterable[Equivalence]) -> str:
    return " and ".join(how.value for how in found)


def partly(stability: Stability) -> list[str]:
    """The strongest equivalences that only some pairs put to the test and that no pair refuted."""
    some = {g.equivalence: g.counted for g in stability.grades if g.counted and g.inapplicable and not g.refuted}
    return [f"{how.value} on {some[how]} of {stability.pairs}" for how in maximal(some)] if some else []


def inapplicable(stability: Stability) -> str:
    """The number of pairs that did not count at the promised equivalence, or at *identical* without a promise; "" if
    all counted."""
    asked = stability.promised or Equivalence.IDENTICAL
    number = next((grade.inapplicable for grade in stability.grades if grade.equivalence is asked), 0)
    return f"{number} inapplicable to {asked.value}" if number else ""


def stability_lines(stability: Stability) -> Iterator[str]:
    """One program under one perturbation on one engine: every equivalence, and the smallest pair against each."""
    promised = f", promised: {stability.promised.value}" if stability.promised else ", nothing promised"
    apart = f", {inapplicable(stability)}" if inapplicable(stability) else ""
    yield f"{stability.perturbation}: {stable_up_to(stability)} ({amount(stability.pairs, 'pair')}{promised}{apart})"
    if stability.unsupported:
        yield f"    {stability.unsupported}"
    told: Pair | None = None
    for grade in stability.grades:
        yield (
            f"    {grade.equivalence.value}: {grade.refuted} of {grade.counted} pairs against, "
            f"{grade.inapplicable} inapplicable"
        )
        if grade.smallest and grade.smallest != told:
            told = grade.smallest
            for title, case in zip(("the base", "its twin"), told, strict=True):
                lines = timeline(case.schedule, stability.traces[case.id])
                yield from (f"        {line}" for line in [f"{title}:", *lines])


def agreed(agreement: Agreement) -> str:
    """The equivalences up to which two engines agree on every case, in a few words."""
    if not agreement.cases:
        return "no cases"
    return _words(agreement.agreed) or "nothing that every case shows"


def difference_lines(agreement: Agreement, left: str = "", right: str = "") -> Iterator[str]:
    """The smallest case on which two engines differ, and the output of each, under other names if given; nothing
    without such a case."""
    if found := agreement.smallest:
        traces = {f"{left or agreement.left} gave": found.left, f"{right or agreement.right} gave": found.right}
        yield from step_by_step(found.case.schedule, traces)


def compared_ports(results: Results) -> Iterator[tuple[str, Agreement]]:
    """(a closing sentence, its subject) for users' own operators: first the two sides of each port against each other,
    then each side against the reference."""
    ports = {name for name, record in results.environment.items() if record.native_operator and record.shown_as == name}
    for agreement in results.agreements:
        left, right = agreement.left, agreement.right
        if {left, right} <= ports and left.partition(":")[2] == right.partition(":")[2]:
            yield compared(agreement, left, right), agreement
    for agreement in results.agreements:
        if agreement.left in ports and agreement.with_reference:
            yield compared(agreement, agreement.left, "the reference"), agreement


def compared(agreement: Agreement, left: str, right: str) -> str:
    """A sentence with the number of cases on which two engines agree. The sentence calls the engines by these names."""
    cases, differ = agreement.cases, agreement.differing
    if not cases:
        return f"{left} and {right} have no case in common"
    if not differ:
        return f"{left} and {right} agree on {amount(cases, 'case')}"
    up_to = f", up to the {_words(agreement.agreed)} they agree on all" if agreement.agreed else ""
    late = f", {agreement.not_on_time} of them with an element that is not on time" * bool(agreement.not_on_time)
    return f"{left} and {right} differ on {differ} of {amount(cases, 'case')}{late}{up_to}"
