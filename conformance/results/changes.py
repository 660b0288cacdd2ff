"""Changes between two runs, cell by cell and in both directions. A net count alone would hide flips."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from conformance.judgement.cell import Verdict
from conformance.model.equivalence import IMPLIES, Equivalence
from conformance.results.baseline import Baseline, Standing


class Kind(Enum):
    """How a cell changed, the bad kinds first."""

    REGRESSION = "no longer holds"
    ERROR = "the harness fails"
    LOST = "no longer decided"
    OTHER_WITNESS = "violated in another way"
    WEAKER = "weaker equivalence"
    REMOVED = "not asked any more"
    CHANGED = "changed otherwise"
    ADDED = "not asked before"
    GAINED = "decided now"
    STRONGER = "stronger equivalence"
    FIX = "holds now"


@dataclass(frozen=True)
class Change:
    """A guarantee on an engine with the same change under these perturbations, or a program whose twins are alike up to
    other equivalences.

    ``before`` and ``after`` are verdicts, signatures or equivalences, in words.
    """

    kind: Kind
    engine: str
    scenario: str
    about: str
    before: str
    after: str
    perturbations: tuple[str, ...]
    of_program: bool = False

    @property
    def name(self) -> str:
        return f"{self.engine}/{self.scenario}/{self.about}"


@dataclass(frozen=True)
class Changes:
    """The changes from one run to another.

    Attributes:
        found: by kind, in the order of ``Kind``.
        unchanged: number of unchanged cells.
        gone, added: engines that only the old, or only the new run has; their cells are not compared.
        new_guarantees: guarantees that the old run had on no engine, as SCENARIO/GUARANTEE; they are not compared.
        same_cases: whether both ran the same file of cases. If not, different cases may cause a change.
        flaws: the ways in which the two runs fall short of full runs, in words. These may cause a change.
    """

    found: dict[Kind, list[Change]]
    unchanged: int
    gone: tuple[str, ...]
    added: tuple[str, ...]
    new_guarantees: tuple[str, ...]
    same_cases: bool
    flaws: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())

    def __iter__(self) -> Iterator[Change]:
        for group in self.found.values():
            yield from group


def changes(old: Baseline, new: Baseline) -> Changes:
    """The changes of cells and observed equivalences, for engines that both runs have. If one side could ask an engine
    nothing, because the engine's release lacks the API, the engine counts as one that only the other side has."""
    here, there = old.able, new.able
    both = {e for e in old.engines if e in new.engines and (e in here) == (e in there)}
    alike: dict[tuple[Kind, str, str, str, str, str, bool], list[str]] = {}
    unchanged = 0
    known = {place[1:3] for place in old.cells}
    new_guarantees = dict.fromkeys(place[1:3] for place in new.cells if place[1:3] not in known)
    for place in dict.fromkeys([*new.cells, *old.cells]):
        if place[0] in both and place[1:3] not in new_guarantees:
            if found := _changed(old.cells.get(place), new.cells.get(place)):
                alike.setdefault((found[0], *place[:3], *found[1:], False), []).append(place[3])
            else:
                unchanged += 1
    for place in new.alike:
        if place[0] in both and place in old.alike and (found := _likeness(old.alike[place], new.alike[place])):
            alike.setdefault((found[0], *place[:3], *found[1:], True), []).append(place[3])
    grouped: dict[Kind, list[Change]] = {}
    for (kind, engine, scenario, about, before, after, of_program), names in alike.items():
        change = Change(kind, engine, scenario, about, before, after, tuple(names), of_program)
        grouped.setdefault(kind, []).append(change)
    return Changes(
        {kind: grouped[kind] for kind in Kind if kind in grouped},
        unchanged,
        tuple(e for e in old.engines if e not in both and (e in here or e not in new.engines)),
        tuple(e for e in new.engines if e not in both and (e in there or e not in old.engines)),
        tuple(map("/".join, new_guarantees)),
        old.cases_digest == new.cases_digest,
        (tuple(old.scope.flaws), tuple(new.scope.flaws)),
    )


def successive(runs: Sequence[Baseline]) -> list[Changes]:
    """For each run but the first, the changes before it: an engine is compared with the latest earlier run that has the
    engine."""
    found: list[Changes] = []
    before = runs[0]
    for number, run in enumerate(runs[1:], 1):
        same_cases = len({earlier.cases_digest for earlier in runs[: number + 1]}) == 1
        found.append(replace(changes(before, run), same_cases=same_cases))
        before = before.updated(run)
    return found


def _changed(before: Standing | None, after: Standing | None) -> tuple[Kind, str, str] | None:
    """(how a cell changed, its old state, its new state), None if the cell did not change."""
    if before is None:
        return Kind.ADDED, "not asked", after.verdict.value if after else ""
    if after is None:
        return Kind.REMOVED, before.verdict.value, "not asked"
    if before.verdict is after.verdict:
        return None if before.signature == after.signature else (Kind.OTHER_WITNESS, before.signature, after.signature)
    return _way(before.verdict, after.verdict), before.verdict.value, after.verdict.value


DECIDED = (Verdict.HOLDS, Verdict.VIOLATED)
"""The verdicts that an engine's answers decided."""


def _way(before: Verdict, after: Verdict) -> Kind:
    if after is Verdict.ERROR:
        return Kind.ERROR
    if before in DECIDED and after in DECIDED:
        return Kind.FIX if after is Verdict.HOLDS else Kind.REGRESSION
    if before in DECIDED:
        return Kind.LOST
    return Kind.GAINED if after in DECIDED else Kind.CHANGED


def _likeness(before: tuple[str, ...], after: tuple[str, ...]) -> tuple[Kind, str, str] | None:
    old, new = implied(before), implied(after)
    if old == new:
        return None
    kind = Kind.WEAKER if new < old else Kind.STRONGER if new > old else Kind.CHANGED
    return kind, " and ".join(before) or "nothing", " and ".join(after) or "nothing"


def implied(observed: tuple[str, ...]) -> frozenset[Equivalence]:
    """The equivalences of these names, with all equivalences that follow from them."""
    strongest = {Equivalence(name) for name in observed}
    return frozenset(strongest.union(*(IMPLIES[how] for how in strongest)))
