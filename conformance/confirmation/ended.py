"""Isolation of queries that ended.

A query that ends with an error ends for all cases of its engine run, whichever of them is to blame. So the twins that
ended in one run are one question: under which of the run's changes any of them ends, and which one ends by itself.
"""

from collections import Counter
from collections.abc import Callable, Collection, Generator, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

from conformance.confirmation.bisection import answered, fewest
from conformance.judgement.batches import Failure
from conformance.judgement.evidence import ENDED_ALIKE, Runs, error_of
from conformance.model.case import Case

T = TypeVar("T")

Parts = tuple[str, ...]
"""Perturbations with their levels, as ``Case.perturbation`` names them."""

MESSAGE = 60
"""So many characters of an error tell it from another one."""

MOST = 20
"""The most questions that one smallest set is worth."""

SETS = 3
"""So many smallest sets of what fails are searched. What fails under more of them fails under about any change, as
where the order of an output is chance."""

MakeTwin = Callable[[Case, Parts], Case | None]
RunCases = Callable[[list[Case]], Runs]
Asked = Generator[list[Case], Runs, T]
"""Asks for twins that are to run together, is sent their answers, and returns something."""


@dataclass
class Ended:
    """The twins that ended in one engine run.

    Attributes:
        job: the changes of the run.
        error: what they ended with, "" where they have no answer.
        suspects: changes to try alone first.
        failures: what their end speaks against.
        bases: the cases that they are twins of, by id.
        guilty: twins under a smallest set of the changes, each of which ends a query by itself: of one program each.
        beside: twins under such a set, or under what is left of the changes, that do not end.
        runs: the answers for ``guilty`` and ``beside``.
    """

    job: Parts
    error: str
    suspects: Parts = ()
    failures: list[Failure] = field(default_factory=list)
    bases: dict[str, Case] = field(default_factory=dict)
    guilty: list[Case] = field(default_factory=list)
    beside: list[Case] = field(default_factory=list)
    runs: Runs = field(default_factory=Runs)

    def search(self, twin: MakeTwin) -> Asked[None]:
        """Finds ``guilty``. One fault hides no other: what is left of the changes is asked, too."""

        def under(bases: Iterable[Case], parts: Parts) -> list[Case]:
            return [made for base in bases if parts and (made := twin(base, parts))]

        left, sets = self.job, 0
        while left and sets < SETS and (yield from self._any_ends(under(self.bases.values(), left), keep=True)):
            parts = yield from self._fewest(left, lambda some: under(self.bases.values(), some), self.suspects)
            parts = ordered(left, parts)
            if not (yield from self._blame([*self.bases.values()], partial(under, parts=parts))):
                return
            left, sets = without(left, parts), sets + 1

    def _blame(self, bases: list[Case], made: Callable[[Sequence[Case]], list[Case]]) -> Asked[bool]:
        """Finds twins that end by themselves, of ENDED_ALIKE programs at the most; False where it takes several."""
        for programs in range(ENDED_ALIKE):
            if programs and not (yield from self._any_ends(made(bases), keep=True)):
                break
            found = yield from self._fewest(tuple(bases), made)
            if len(found) != 1:
                return programs > 0
            self.guilty += made(found)
            bases = [base for base in bases if base.ref != found[0].ref]
        return True

    def _any_ends(self, twins: Sequence[Case], keep: bool = False) -> Asked[bool]:
        """Whether any twin ends. If none does, ``keep`` keeps them as evidence."""
        if not twins:
            return False
        answers = yield [*twins]
        ends = any(self._ends(twin, answers) for twin in twins)
        if len(twins) == 1 or (keep and not ends):
            self.runs.merge(answers.of({twin.id for twin in twins}.__contains__))
        self.beside += twins if keep and not ends else []
        return ends

    def _ends(self, twin: Case, answers: Runs) -> bool:
        error = error_of(twin, answers.traces)
        return twin.id not in answers.traces or (error is not None and error.startswith(self.error[:MESSAGE]))

    def _fewest(
        self, pool: tuple[T, ...], made: Callable[[tuple[T, ...]], list[Case]], suspects: tuple[T, ...] = ()
    ) -> Asked[tuple[T, ...]]:
        """The fewest of a pool with which any of the twins ends."""
        return (yield from answered(fewest(pool, MOST, suspects=suspects), lambda some: self._any_ends(made(some))))


def ordered(pool: Parts, some: Collection[str]) -> Parts:
    return tuple(part for part in pool if part in some)


def without(parts: Parts, some: Collection[str]) -> Parts:
    return tuple(part for part in parts if part not in some)


def search_all(groups: Iterable[Ended], twin: MakeTwin, run: RunCases, go_on: Callable[[], bool]) -> None:
    """Goes on with all searches side by side. What two of them ask of one engine run is asked one after the other: one
    would end the other's query."""
    searches = [(group, group.search(twin)) for group in groups]
    waiting = [(group, search, asked) for group, search in searches if (asked := next(search, None))]
    while waiting and go_on():
        still: list[tuple[Ended, Asked[None], list[Case]]] = []
        turns: Counter[Parts] = Counter()
        rounds: dict[int, list[tuple[Ended, Asked[None], list[Case]]]] = {}
        for group, search, asked in waiting:
            rounds.setdefault(turns[group.job], []).append((group, search, asked))
            turns[group.job] += 1
        for together in rounds.values():
            answers = run([*{twin.id: twin for _, _, asked in together for twin in asked}.values()])
            for group, search, _ in together:
                with suppress(StopIteration):
                    still.append((group, search, search.send(answers)))
        waiting = still
