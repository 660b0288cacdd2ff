"""Asking a subject its questions on an engine, round by round: verdicts, and a small pair for each violation."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from conformance.subjects.cases import Cases
from conformance.subjects.driver import Driver
from conformance.subjects.judging import BY_THE_CLOCK, Budget, Judging, OutOfTime, Refused, error_in
from conformance.subjects.questions import (
    ORDER,
    SAME,
    TAKES_NO_RUN,
    Asked,
    NotAsked,
    Pair,
    Question,
    Run,
    itself,
    layers_of,
    pairs,
    same,
    together,
)
from conformance.subjects.reduction import fewest
from conformance.subjects.rows import rows_in
from conformance.subjects.runs import Runs
from conformance.subjects.schema import InvalidSubject
from conformance.subjects.smaller import Smaller
from conformance.subjects.subject import Subject
from conformance.subjects.verdicts import Finding, Options, Report, Verdict, held, in_words_of

AT_ONCE = "together"
"""What questions that share a run are called."""

BESIDE = "what a key answers depends on the rows of others; no order of {} cases was seen to change it: give more time"
"""Why it is not said that an order changes nothing."""

MEND = "the same rows in the same way give another answer: mend that first"
"""Why nothing else is asked of such a subject."""

IN_MEMORY = " (a clock, a random number, or what the process keeps: a global, a default argument?)"
"""What a subject that answers otherwise each time may go by."""


@dataclass(frozen=True)
class Together:
    """Changes that together change an answer: the runs, and what is wrong (case -> words). ``isolated``: fewer of them
    were seen to change none."""

    layers: tuple[Question, ...]
    pair: Pair
    wrong: Mapping[int, str]
    isolated: bool = True

    @property
    def may_be_refused(self) -> bool:
        """Whether the engine may have refused a change, and did nothing wrong."""
        if len(self.layers) == 1:
            return self.layers[0].refusable
        return bool(error_in(self.wrong)) and not self.isolated and any(q.refusable for q in self.layers)

    @property
    def as_one(self) -> Finding:
        """What is found of changes where the budget was spent before one could be told from another."""
        names = ", ".join(question.id for question in self.layers)
        return Finding(AT_ONCE, f"Changes at once ({names}) give the same answer.", Verdict.NOT_ASKED)


Occasion = tuple[Asked, float, bool]
"""What ``together`` makes runs of, beside the questions."""

Failing = tuple[Pair, str]
"""A pair that fails alone, reduced, and what differs."""

Seen = Callable[[Report, Mapping[str, Failing]], None]


class Asking:
    """A subject on an engine that is open. ``say`` is told what happens, a line at a time, and ``seen`` what is found,
    as often as that changes. ``other`` is the engine of the query that must answer alike, if it is another one."""

    def __init__(
        self,
        driver: Driver,
        subject: Subject,
        options: Options,
        say: Callable[[str], None] = lambda line: None,
        seen: Seen = lambda report, failing: None,
        clock: Callable[[], float] = time.monotonic,
        other: Driver | None = None,
    ) -> None:
        self.driver, self.options, self.say, self.seen = driver, options, say, seen
        self.budget = Budget(options.budget, clock)
        self.runs = Runs(driver, subject, options.sample, other)
        self.judging = Judging(self.runs)
        self.smaller = Smaller(self.judging, self.budget)
        self.failing: dict[str, Failing] = {}
        self.found: dict[str, Finding] = {}
        self._layered, self._unsteady = 0, False

    def report(self) -> Report:
        """The verdicts on all questions.

        Raises:
            InvalidSubject: the subject cannot be tested. The message says why, and how to mend it.
        """
        try:
            self.cases = Cases(self.judging, self.options)
            self.found = {question.id: self._left_out(question) for question in self._questions}
            answers = self.cases.answers()
            if self.cases.unsteady:
                self._find_unsteady(*self.cases.unsteady)
            self._ask_all()
        except NotAsked as hindered:  # the run that all questions compare with
            raise InvalidSubject(f"subject {self.runs.subject.name}: {hindered}") from None
        finally:
            self.runs.close()
        return replace(self._so_far, answers=answers)

    @property
    def _so_far(self) -> Report:
        return Report(
            self.runs.subject.name,
            self.driver.version,
            tuple(self.found.values()),
            self.cases.note + (f"; {self._layered} questions at once" if self._layered else ""),
            self.options.seed,
            round(self.budget.spent, 1),
        )

    def _ask_all(self) -> None:
        """Asks all questions, again and again with other cases while there is time."""
        self._ask_again()
        number = 0
        while True:
            number += 1
            open_ = [q for q in self._questions if self.found[q.id].verdict is not Verdict.VIOLATED]
            before = dict(self.found)
            by_itself = not (self.runs.subject.other or self._unsteady)
            if self.driver.parallel > 1 and by_itself and self.budget.has():
                self._begin_ahead([q for q in open_ if not before[q.id].left_out], number)
            at_once = self._asked_together(open_, number)
            for question in open_:
                if question.id in at_once or before[question.id].left_out:
                    continue
                if why := self._unanswerable():
                    self._find(replace(before[question.id], verdict=Verdict.NOT_ASKED, cases=0, rows=0, why=why))
                    continue
                try:
                    self.budget.check()
                    self._find(self._ask(question, number, before[question.id]))
                except OutOfTime:
                    if not self.found[question.id].cases:
                        self._find(replace(self.found[question.id], why="the budget was spent"))
            done = all(f.verdict is Verdict.VIOLATED or f.left_out for f in self.found.values())
            if self.options.budget is None or not self.budget.has() or done or self._unsteady:
                return

    def _find(self, finding: Finding) -> Finding:
        """Takes what is found of a question. Where a case answers otherwise among others, no order was seen to change
        an answer does not say that none does."""
        beside_others = self.runs.subject.own_key and not self.runs.packed
        if beside_others and finding.question == ORDER.id and finding.verdict is Verdict.HOLDS:
            finding = replace(finding, verdict=Verdict.NOT_ASKED, why=BESIDE.format(finding.cases))
        if self.found.get(finding.question) != finding:
            self.found[finding.question] = finding
            self.seen(self._so_far, self.failing)
        if finding.verdict is Verdict.VIOLATED and any(q.first and q.id == finding.question for q in self._questions):
            self._withdraw()
        return finding

    @property
    def _questions(self) -> list[Question]:
        if self.runs.subject.other:
            return [SAME]
        wanted, behind = self.options.questions, self.runs.subject.previous is not None
        return [q for q in self.driver.questions if (not wanted or q.id in wanted) and q.versions == behind]

    def _left_out(self, question: Question) -> Finding:
        subject = self.runs.subject
        why = self.runs.facts.refused.get(question.id, "")
        if question.id in subject.leave_out and question.id not in self.options.questions:
            why = subject.leave_out[question.id] or "left out by the subject"
        return Finding(question.id, in_words_of(self.driver.batch, question.means), Verdict.NOT_ASKED, why=why)

    def _ask_again(self) -> None:
        """Asks the pairs that failed before. One that fails again is the verdict on its question."""
        for question in self._questions:
            pair, before = self.options.known.get(question.id), self.found[question.id]
            if pair is None or before.left_out or self.budget.left <= 0 or self._unsteady:
                continue
            if why := self.judging.fails(question, pair):
                # A question that comes first is asked next; where it is violated, this verdict is withdrawn.
                asked_next = any(q.first for q in self._questions)
                if not (asked_next or question.of_runs) and (
                    unsteady := self.judging.unsteady(pair, packed=False, times=1)
                ):
                    self._find_unsteady(*unsteady)
                    continue
                self.say(f"{question.id}: fails as it did before")
                self.failing[question.id] = pair, why
                self._find(replace(before, verdict=Verdict.VIOLATED, cases=1, why=why))

    def _unanswerable(self) -> str:
        """Why no other question says anything: the same run gives another answer, or may by the clock; "" else."""
        if self._unsteady:
            return MEND
        firsts = [self.found[q.id] for q in self._questions if q.first]
        return next((finding.why for finding in firsts if finding.why == BY_THE_CLOCK), "")

    # Many at once

    def _begin_ahead(self, questions: Sequence[Question], number: int) -> None:
        """Begin the runs of a round in the order in which they are asked for if everything holds."""
        for run in self._runs_ahead(questions, number):
            self.runs.begin(run, self.runs.packed)

    def _runs_ahead(self, questions: Sequence[Question], number: int) -> Iterator[Run]:
        layers = layers_of(questions)
        by_themselves = [q for q in questions if q not in TAKES_NO_RUN and (len(layers) < 2 or q not in layers)]
        for question in sorted(by_themselves, key=lambda q: not q.first):
            if not question.first and len(layers) > 1:
                yield from (together(layers, *occasion).varied for occasion in self._occasions(number))
                layers = []
            with suppress(NotAsked):
                yield from (pair.varied for pair in self._pairs(question, number))

    def _asked_together(self, open_: Sequence[Question], number: int) -> set[str]:
        """The questions (ids) that are answered by runs that ask several at once: they hold, or some of them, isolated,
        do not. One that says more by itself is none of them."""
        found = dict(self.found)
        layers = layers_of([q for q in open_ if not found[q.id].left_out])
        done: set[str] = set()
        if self._unanswerable():
            return done
        try:
            for question in (q for q in open_ if q.first and not found[q.id].left_out):
                self.budget.check()
                self._find(self._ask(question, number, found[question.id]))
                done.add(question.id)
                if self._unanswerable():
                    return done
            while len(layers) > 1:
                self.budget.check()
                failing, cases, rows = self._all_at_once(layers, number)
                if failing is None:
                    if rows:
                        self.say(f"{', '.join(q.id for q in layers)}: hold")
                        self._layered = len(layers)
                        done |= {self._find(held(found[q.id], cases, rows)).question for q in layers}
                    break
                question = failing.layers[0]
                layers = layers_of([q for q in layers if q is not question])
                if failing.may_be_refused:  # that is asked by itself
                    continue
                before = found[question.id] if failing.isolated else failing.as_one
                done.add(self._find(self._violated(failing, held(before, cases, rows))).question)
                if self._unsteady:
                    return done
        except (NotAsked, OutOfTime):
            pass
        return done

    def _all_at_once(self, layers: Sequence[Question], number: int) -> tuple[Together | None, int, int]:
        """(the fewest of these changes that together change an answer, None where all of them change none, the cases
        asked, the rows compared)."""
        cases = rows = 0
        for occasion in self._occasions(number):
            self.budget.check()
            failing, more_cases, more_rows = self._tried(occasion, layers)
            cases, rows = cases + more_cases, rows + more_rows
            if failing:
                return self._isolated(occasion, failing), cases, rows
        return None, cases, rows

    def _isolated(self, occasion: Occasion, failing: Together) -> Together:
        """The fewest changes of some that fail together, or those that were found when the budget was spent. Mostly it
        is one alone."""
        smallest = [failing]

        def fails(fewer: Sequence[Question]) -> bool:
            self.budget.check(0.5)
            found = self._tried(occasion, fewer)[0]
            smallest.extend([found] if found else ())
            return found is not None

        try:
            if not any(fails([question]) for question in failing.layers):
                fewest(failing.layers, fails)
        except OutOfTime:
            return replace(smallest[-1], isolated=False)
        return smallest[-1]

    def _occasions(self, number: int) -> Iterator[Occasion]:
        """The occasions to ask several questions at once in a round: two for each delivery."""
        for asked in self.cases.deliveries(AT_ONCE, number):
            base = asked.random.random()
            yield from ((asked, base, last) for last in (False, True))

    def _tried(self, occasion: Occasion, layers: Sequence[Question]) -> tuple[Together | None, int, int]:
        pair = together(layers_of(layers) or layers, *occasion)
        wrong, cases, rows = self.judging.failures(replace(layers[0], judge=same, refusable=False), pair)
        return Together(tuple(layers), pair, wrong) if wrong else None, cases, rows

    # One by one

    def _pairs(self, question: Question, number: int) -> Iterator[Pair]:
        """The pairs of a question in a round: all of them, or one for each stream, in turn. Raises NotAsked."""
        deliveries = self.cases.deliveries(question.id, number)
        for place, asked in enumerate(deliveries):
            made = pairs(question, asked)
            yield from made if len(deliveries) == 1 else [made[(place + number) % len(made)]]

    def _ask(self, question: Question, number: int, before: Finding) -> Finding:
        """The verdict after a round. What was found ``before`` is added to."""
        cases, rows = before.cases, before.rows
        try:
            for pair in self._pairs(question, number):
                self.budget.check()
                wrong, more_cases, more_rows = self.judging.failures(question, pair)
                cases, rows = cases + more_cases, rows + more_rows
                if wrong:
                    failing = Together((question,), pair, wrong)
                    return self._violated(failing, replace(before, cases=cases, rows=rows))
                if question.versions:
                    self.judging.must_tell(question, pair)
        except Refused as words:
            return replace(before, verdict=Verdict.REFUSED, cases=cases, rows=rows, why=str(words))
        except NotAsked as reason:
            return replace(before, verdict=Verdict.NOT_ASKED, why=str(reason))
        if not rows and not question.of_runs:
            return replace(before, cases=0, why="no case has an answer: nothing was compared")
        self.say(f"{question.id}: holds")
        return replace(before, verdict=Verdict.HOLDS, cases=cases, rows=rows, why="")

    def _violated(self, failing: Together, before: Finding) -> Finding:
        """The verdict on a question that fails, alone or together with others, reduced."""
        question, *others = failing.layers
        pair = failing.pair
        if not (question.first or question.of_runs) and (unsteady := self.judging.unsteady(pair, self.runs.packed)):
            self._find_unsteady(*unsteady)
            return replace(before, verdict=Verdict.NOT_ASKED, cases=0, rows=0, why=MEND)
        self.say(f"{before.question}: fails; reducing")
        if others:  # their changes are no part of what is fair to the first
            question = replace(question, fair=itself)
        pair, why = self.smaller.reduced(question, pair, failing.wrong)
        why = self.judging.what_of_the_state(pair) + why + (IN_MEMORY if question.first else "")
        if others and failing.isolated:
            why = f"together with {' and '.join(q.id for q in others)}, and not alone: {why}"
        elif others:
            why = f"the budget was spent before it was told which of them it is: {why}"
        self.failing[before.question] = pair, why
        return replace(before, verdict=Verdict.VIOLATED, why=why)

    def _find_unsteady(self, run: Run, wrong: Mapping[int, str]) -> None:
        """A run did not answer as it did before: that is the verdict on the question about it."""
        self._withdraw()
        for question in self._questions:
            before = self.found[question.id]
            if question.first and not before.left_out:
                cases = before.cases or len({row.case for row in rows_in(run.delivery) if row.case >= 0})
                failing = Together((question,), Pair(run, run), wrong)
                self._find(self._violated(failing, replace(before, cases=cases)))

    def _withdraw(self) -> None:
        """What was found of other questions may be by chance."""
        self._unsteady = True
        for question in self._questions:
            before = self.found[question.id]
            if not question.first and before.verdict in (Verdict.HOLDS, Verdict.VIOLATED):
                self.failing.pop(question.id, None)
                self._find(replace(before, verdict=Verdict.NOT_ASKED, cases=0, rows=0, why=MEND))


def ask(
    driver: Driver,
    subject: Subject,
    options: Options,
    say: Callable[[str], None] = lambda line: None,
    seen: Seen = lambda report, failing: None,
    other: Driver | None = None,
) -> tuple[Report, dict[str, Failing]]:
    """The report on a subject, and for each violated question a small pair that shows it. An unusable subject has a
    report with an error. ``other`` is the engine of the query that must answer alike, if it is another one."""
    asking = Asking(driver, subject, options, say, seen, other=other)
    try:
        return asking.report(), asking.failing
    except InvalidSubject as error:
        return Report(subject.name, driver.version, seed=options.seed, error=str(error)), {}
