"""Asking a subject its questions on an engine: cases drawn, run in packs or alone, answers compared, failures
reduced."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cached_property, partial
from random import Random
from typing import Any

from conformance.generation.examples import seeded
from conformance.model.types import Int
from conformance.model.values import Json
from conformance.subjects.ahead import Ahead
from conformance.subjects.answers import ONE_ANSWER, Answer, Ran, by_case, difference, final
from conformance.subjects.drawing import draw
from conformance.subjects.driver import Driver, Facts
from conformance.subjects.questions import (
    BOUNDED,
    SAME,
    STATE,
    TAKES_NO_RUN,
    Asked,
    NotAsked,
    Pair,
    Question,
    Run,
    Seen,
    itself,
    layers_of,
    numbers,
    only,
    pairs,
    same,
    together,
    without,
)
from conformance.subjects.reduction import fewer_rows, fewest, plainer
from conformance.subjects.rows import (
    BATCHES,
    CLOSING,
    Delivery,
    Row,
    Span,
    closing,
    cut,
    rows_in,
    span_of,
    written,
)
from conformance.subjects.schema import InvalidSubject
from conformance.subjects.setup import NOBODY, OTHER, PREVIOUS, Given, Setup
from conformance.subjects.subject import Subject
from conformance.support.naming import counted, instead
from conformance.support.plain import Plain

ALONE = 3
"""The cases of a round where cases run one by one."""

SAMPLED = 2
"""The cases that run alone as well, to show that a pack changes nothing."""

CLOSES = "closing"
"""What stands before the keys of closing rows."""

CHECKS, CHECKED = 60, 60
"""How many pairs of runs the reduction of a failure may take, and how many seconds."""

RESERVED = 20
"""The seconds of a budget that are kept for the reduction of a failure; of a small one a quarter."""

TRIED = 3
"""How many failing cases are tried alone."""

STRETCHES = (1_000, 1_000_000, 50_000_000)
"""How many numbers a case may have of its own."""

AT_ONCE = "at once"
"""What the random choices of questions that share a run are named by."""

MEND = "the same rows in the same way give another answer: mend that first"
"""Why nothing else is asked of such a subject."""

FAILS = "the query fails: "
"""What is said of a run that ended with an error."""

HINDERED = "the machine hindered a run, not the query; ask again: "
"""What is said of a run that the machine ended."""


class Verdict(Enum):
    """What is said of a question."""

    HOLDS = "holds"
    VIOLATED = "violated"
    REFUSED = "refused"
    NOT_ASKED = "not asked"


@dataclass(frozen=True)
class Finding(Plain):
    """The verdict on a question.

    Attributes:
        question: its id.
        means: what it means.
        verdict: what is said of it.
        cases: the cases that it was asked about.
        rows: the rows of answers that were compared.
        why: why it is not asked, or what differs in the smallest case.
        script: the file that shows a violation, "" for none.
    """

    question: str
    means: str
    verdict: Verdict
    cases: int = 0
    rows: int = 0
    why: str = ""
    script: str = ""

    @property
    def left_out(self) -> bool:
        """Whether there is a reason not to ask it."""
        return bool(self.why) and not self.cases


@dataclass(frozen=True)
class Report(Plain):
    """What was found of a subject.

    Attributes:
        subject: its name.
        version: the engine's name and release.
        findings: the verdicts, in the order of the questions.
        packed: how the cases ran.
        seed: the seed that they were drawn with.
        seconds: how long all took.
        answers: the answer to each case of the first round, as one text, for a comparison of releases.
        error: why it could not be tested, "" where it could.
        summary: the first paragraph of its docstring.
    """

    subject: str
    version: str
    findings: tuple[Finding, ...] = ()
    packed: str = ""
    seed: int = 1
    seconds: float = 0
    answers: Mapping[str, Json] = field(default_factory=dict)
    error: str = ""
    summary: str = ""

    @property
    def violated(self) -> bool:
        """Whether anything is violated, or a next version refused."""
        return any(finding.verdict in (Verdict.VIOLATED, Verdict.REFUSED) for finding in self.findings)


@dataclass(frozen=True)
class Options:
    """What a user asks for.

    Attributes:
        questions: ids, none for all of the engine.
        seed: what cases are drawn with.
        budget: seconds; rounds with other cases go on until they are over. None for one round.
        sample: the user's own rows.
        known: question -> a pair that failed before.
    """

    questions: tuple[str, ...] = ()
    seed: int = 1
    budget: float | None = None
    sample: tuple[Row, ...] = ()
    known: Mapping[str, Pair] = field(default_factory=dict)


class OutOfTime(Exception):
    """The budget is spent."""


class Refused(Exception):
    """The engine refuses a next version. The message is the engine's."""


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
        error = any(_error_in(said) for said in self.wrong.values())
        return error and not self.isolated and any(question.refusable for question in self.layers)


Occasion = tuple[Asked, float, bool]
"""What ``together`` makes runs of, beside the questions."""

Failing = tuple[Pair, str]
"""A pair that fails alone, reduced, and what differs."""


class Asking:
    """A subject on an engine that is open. ``say`` is told what happens, a line at a time. ``other`` is the engine of
    the query that must answer alike, if it is another one."""

    def __init__(
        self,
        driver: Driver,
        subject: Subject,
        options: Options = Options(),
        say: Callable[[str], None] = lambda line: None,
        clock: Callable[[], float] = time.monotonic,
        other: Driver | None = None,
    ) -> None:
        self.driver, self.subject, self.options, self.say, self._clock = driver, subject, options, say, clock
        self.other, self._output_of_other = other, subject.output
        self._begun = clock()
        self.facts: Facts = Facts()
        self.span: Span = span_of((), 0)
        self.packed = False
        self.closed = True
        self.note = ""
        self.failing: dict[str, Failing] = {}
        self._kept: dict[str, Ran] = {}
        self._drawn: dict[int, Asked] = {}
        self._layered = 0
        self._ahead = Ahead(driver.parallel)

    def report(self) -> Report:
        """The verdicts on all questions.

        Raises:
            InvalidSubject: the subject cannot be tested. The message says why, and how to mend it.
        """
        try:
            return self._report()
        except NotAsked as hindered:  # the run that all questions compare with
            raise InvalidSubject(f"subject {self.subject.name}: {hindered}") from None
        finally:
            self._ahead.close()

    def _report(self) -> Report:
        self.facts = self._looked()
        subject = self.subject
        durations = [*subject.durations, *self.facts.durations]
        if subject.other:
            theirs = (self.other or self.driver).look(subject.other)
            durations += [*subject.other.durations, *theirs.durations]
            output = subject.other.output
            self._output_of_other = replace(output, key=output.key or tuple(theirs.output_key or ()))
        if subject.previous:
            durations += [*subject.previous.durations, *self.driver.look(subject.previous).durations]
        self.span = span_of(durations, subject.delay, self.facts.zones)
        first = self._asked(1)
        self.packed, self.note = self._proved(first)
        found = {question.id: self._left_out(question) for question in self._questions()}
        answers = self._answers(first)
        self._ask_again(found)
        number = 0
        while True:
            number += 1
            open_ = [q for q in self._questions() if found[q.id].verdict is not Verdict.VIOLATED]
            before = dict(found)
            if self.driver.parallel > 1 and not subject.other and self._left() > self._reserved:
                self._begin_ahead([q for q in open_ if not found[q.id].left_out], number)
            at_once = self._asked_together(open_, found, number)
            for question in open_:
                if question.id in at_once:
                    found[question.id] = at_once[question.id]
                    continue
                if found[question.id].left_out:
                    continue
                if any(found[q.id].verdict is Verdict.VIOLATED for q in self._questions() if q.first):
                    found[question.id] = Finding(question.id, before[question.id].means, Verdict.NOT_ASKED, why=MEND)
                    continue
                try:
                    self._check_time()
                    found[question.id] = self._ask(question, number, before[question.id])
                except OutOfTime:
                    if not found[question.id].cases:
                        found[question.id] = replace(found[question.id], why="the budget was spent")
            if self.options.budget is None or self._left() <= self._reserved or self._done(found):
                break
        findings = tuple(found.values())
        return Report(
            subject.name,
            self.driver.version,
            findings,
            self.note + (f"; {self._layered} questions at once" if self._layered else ""),
            self.options.seed,
            round(self._clock() - self._begun, 1),
            answers,
        )

    # Cases

    def _looked(self) -> Facts:
        subject = self.subject
        facts = self.driver.look(subject)
        if facts.columns is not None and subject.keys:
            missing = [key for key in subject.keys if key not in facts.columns]
            if missing:
                raise InvalidSubject(
                    f"subject {subject.name}: the output has no column {missing[0]!r} (it has "
                    f"{', '.join(facts.columns)}); put the key out, or say key=None, and cases run one by one"
                )
        if facts.columns is not None and (strange := [c for c in subject.output.ignored if c not in facts.columns]):
            said = instead(strange[0], facts.columns, "it has")
            raise InvalidSubject(f"subject {subject.name}: ignore {strange[0]!r} is no column of the output; {said}")
        self._agreed(facts)
        output_key = subject.output.key or facts.output_key
        if facts.columns is not None and (
            strange := [c for c in output_key or () if c not in (*facts.columns, *ONE_ANSWER)]
        ):
            raise InvalidSubject(
                f"subject {subject.name}: output_key {strange[0]!r} is no column of the output "
                f"({', '.join(facts.columns)})"
            )
        if output_key is None:
            raise InvalidSubject(
                f"subject {subject.name}: in update mode the output must have the columns that it is grouped by; "
                "put them out, or name the columns that tell one answer from another as output_key=…"
            )
        return replace(facts, output_key=tuple(output_key))

    def _agreed(self, facts: Facts) -> None:
        """Takes the delay of the function's own watermark where the subject names none. Raises InvalidSubject where the
        two differ, or where no time is named, or another one."""
        subject, delay = self.subject, facts.delay
        if subject.times and (other := [name for name in facts.timed if name not in subject.times]):
            raise InvalidSubject(
                f"subject {subject.name}: its watermark goes by {other[0]!r}, and time says {subject.times[0]!r}; say "
                "the same in both"
            )
        if facts.timeless and subject.delay is not None:
            raise InvalidSubject(f"subject {subject.name}: it sets no watermark, and has a delay; leave delay out")
        if delay is None or delay == subject.delay:
            return
        if not subject.times:
            raise InvalidSubject(f"subject {subject.name}: it has a watermark; name its column of event time as time=…")
        if subject.delay is not None:
            raise InvalidSubject(
                f"subject {subject.name}: its watermark stays {delay} ms behind, and delay says {subject.delay} ms; "
                "say the same in both"
            )
        self.subject = replace(subject, delay=delay)

    def _passed(self, ran: Ran, delivery: Delivery) -> bool:
        """Whether a run's watermark passed everything but closing rows; true where nobody can tell."""
        if self.subject.delay is None or ran.watermark is None:
            return True
        latest: dict[str, int] = {}
        for row in rows_in(delivery):
            if row.closing and row.at is not None:
                latest[row.input] = max(row.at, latest.get(row.input, 0))
        return not latest or ran.watermark >= min(latest.values()) - self.subject.delay - 1

    def _asked(self, number: int) -> Asked:
        """What a round asks about: all its cases in one delivery."""
        if number not in self._drawn:
            wanted = self.driver.packs if self.subject.own_key else ALONE
            seed = seeded(self.options.seed, number)
            rows = draw(self.subject, self.span, wanted, seed, self.options.sample)
            self._drawn = {number: self._delivered(rows, seed)}
        return self._drawn[number]

    def _delivered(self, rows: Sequence[Row], *seed: Any) -> Asked:
        closes = self.driver.closes or (self.other and self.other.closes)
        ending = closing(rows, self.span) if closes else ()
        delivery: Delivery = (*cut(rows, BATCHES), *ending)
        return Asked(self.subject, self.span, delivery, Random(seeded(self.subject.name, *seed)))

    def _proved(self, asked: Asked) -> tuple[bool, str]:
        """Whether cases may share runs, and how that is said: it is so if some of them answer alone as they do in the
        pack."""
        why = "no key" if not self.subject.keys else "no key of texts or whole numbers of 32 bits"
        if self.subject.own_key:
            sampled, why = self._compared(asked)
            if not why:
                cases = len({row.case for row in asked.data})
                alike = f"{sampled} of them answer alone as they do together"
                return (
                    True,
                    f"{counted(cases, 'case')} in a run: {alike if sampled else 'asked again, it answers otherwise'}",
                )
            self.subject = replace(self.subject, keys=())
        ran = self._run(Run(asked.delivery), packed=False)
        self._must(ran)
        self.closed = self._passed(ran, asked.delivery)
        return False, f"{ALONE} cases one by one: {why}"

    def _compared(self, asked: Asked) -> tuple[int, str]:
        """(how many cases ran alone, why cases cannot share runs). Other keys than those drawn may not come through."""
        ran = self._run(Run(asked.delivery), packed=True)
        self._must(ran)
        self._named_by_key(ran)
        if not self._passed(ran, asked.delivery):
            return 0, "rows with other keys do not move its watermark"
        together = self._cases(ran, True)
        key = self.subject.own_key
        if any(self._own(*self._read(row[key])[::-1]) != row[key] for row in self._final(ran)):
            return 0, "it puts keys out otherwise than they went in"
        sizes: dict[int, int] = {}
        for row in asked.data:
            sizes[row.case] = sizes.get(row.case, 0) + 1
        sampled = sorted(sizes, key=lambda case: (-sizes[case], case))[:SAMPLED]
        for case in sampled:
            alone = only(Pair(Run(asked.delivery), Run(asked.delivery)), case).plain
            seen = self._cases(self._run(self._closed(alone), packed=False), False)
            if said := difference(together.get(case, ()), seen[0]):
                if not self._repeats(Run(asked.delivery), True):
                    return 0, ""  # the question of it says so
                return 0, f"a case answers otherwise among others than alone: {said.words}"
        return len(sampled), ""

    def _repeats(self, run: Run, packed: bool) -> bool:
        """Whether a run answers once more as it did."""
        once, again = (self._final(self._run(run, packed, anew)) for anew in (False, True))
        return not difference(once, again)

    def _closed(self, run: Run) -> Run:
        """A run whose closing rows have keys of their own, so that no answer is theirs and a case's together."""
        return self._named(run, lambda row: row.closing) if self.subject.own_key else run

    # Runs

    def _given(self, delivery: Delivery, packed: bool) -> Given:
        own = self._own if packed else None
        return [
            {of: [written(self.subject, row, own) for row in batch if row.input == of] for of in self.subject.inputs}
            for batch in delivery
        ]

    @property
    def _whole(self) -> bool:
        return any(
            column.name == self.subject.own_key and isinstance(column.type, Int) for column in self.subject.columns
        )

    @cached_property
    def _stretch(self) -> int:
        """How many numbers a case has of its own: more than the largest key, if all cases have room in 32 bits."""
        key = self.subject.own_key
        given = [*self.subject.values.get(key, ()), *(row.values.get(key) for row in self.options.sample)]
        largest = max((each for each in given if isinstance(each, int)), default=0)
        return next((n for n in STRETCHES if largest < n), STRETCHES[0])

    def _own(self, value: Json, case: int) -> Json:
        """The value of the key as a case's own: a text with the case before it, or a number of a stretch of numbers."""
        if self._whole:
            return (case + 2) * self._stretch + (value or 0) % self._stretch
        return f"{CLOSES if case == CLOSING else f'c{case}'}/{value}"

    def _read(self, value: Json) -> tuple[int, Json]:
        """The case of a key, and the key. A key as it was drawn is of case 0."""
        if isinstance(value, int):
            return (value // self._stretch - 2, value % self._stretch) if value >= self._stretch else (0, value)
        case, slash, rest = str(value).partition("/")
        if slash and case == CLOSES:
            return CLOSING, rest
        if slash and case[:1] == "c" and case[1:].isdigit():
            return int(case[1:]), rest
        return 0, value

    def _run(self, run: Run, packed: bool, anew: bool = False) -> Ran:
        """What a run answers. It is made once, unless ``anew``: each question compares with the same plain run. Raises
        NotAsked where the machine hinders it."""
        known = _spelled(run, packed)
        if not anew and known in self._kept:
            return self._kept[known]
        ran = (anew and self._ahead.taken(known)) or self._made(run, packed)
        if ran.hindered:
            raise NotAsked(HINDERED + ran.error)
        if not anew:
            self._kept[known] = ran
        return ran

    def _made(self, run: Run, packed: bool) -> Ran:
        given = self._given(run.delivery, packed)
        if run.setup.by == OTHER and self.subject.other:
            return self._answered_alike(self.subject.other, given)
        return self.driver.run(self.subject, given, run.setup)

    def _answered_alike(self, other: Subject, given: Given) -> Ran:
        """What the other query answers: its final rows, as those of one micro-batch."""
        ran = (self.other or self.driver).run(other, given, Setup())
        output = self._output_of_other
        rows = final(ran, output.mode, output.key)
        left = tuple({n: v for n, v in row.items() if n not in output.ignored} for row in rows)
        self._named_by_key(replace(ran, outputs={0: left}), other)
        return replace(ran, outputs={0: left})

    def _begin_ahead(self, questions: Sequence[Question], number: int) -> None:
        """Begin the runs of a round in the order in which they are asked for if everything holds."""
        for run in self._runs_ahead(questions, number):
            self._ahead.begin(_spelled(run, self.packed), partial(self._made, run, self.packed))

    def _runs_ahead(self, questions: Sequence[Question], number: int) -> Iterator[Run]:
        layers = layers_of(questions)
        by_themselves = [q for q in questions if q not in TAKES_NO_RUN and (len(layers) < 2 or q not in layers)]
        for question in sorted(by_themselves, key=lambda q: not q.first):
            if not question.first and len(layers) > 1:
                yield from (together(layers, *occasion).varied for occasion in self._occasions(number))
                layers = []
            with suppress(NotAsked):
                for asked in self._deliveries(question.id, number):
                    yield from (pair.varied for pair in pairs(question, asked, 0 if self.packed else 1))

    def _must(self, ran: Ran) -> None:
        if ran.refused:
            raise InvalidSubject(f"subject {self.subject.name}: refused: {ran.error}")
        if ran.error:
            raise InvalidSubject(
                f"subject {self.subject.name}: the query failed over drawn rows: {ran.error}; if they are rows that "
                "it need not take, say which values a column has with values={…}, or give --sample"
            )

    def _named_by_key(self, ran: Ran, subject: Subject | None = None) -> None:
        """Raises InvalidSubject where an answer has no key: only then can it be told which case it is of."""
        key = self.subject.own_key
        if key and (row := next((row for rows in ran.outputs.values() for row in rows if key not in row), None)):
            raise InvalidSubject(
                f"subject {(subject or self.subject).name}: the output has no {key!r} (it has {', '.join(row)}); put "
                "the key out, or say key=None, and cases run one by one"
            )

    def _named_alike(self, mine: Ran, others: Ran) -> None:
        """Raises InvalidSubject where the columns of two outputs have other names."""
        there, found = ({name for row in self._final(ran) for name in row} for ran in (mine, others))
        if self.subject.other and there and found and there != found:
            raise InvalidSubject(
                f"subject {self.subject.other.name}: its output has {', '.join(sorted(found))}, and that of "
                f"{self.subject.name} {', '.join(sorted(there))}; name the columns alike, or leave some out by ignore"
            )

    def _final(self, ran: Ran) -> Answer:
        rows = final(ran, self.subject.output.mode, self.facts.output_key or ())
        ignored = self.subject.output.ignored
        return tuple({n: v for n, v in row.items() if n not in ignored} for row in rows) if ignored else rows

    def _cases(self, ran: Ran, packed: bool) -> dict[int, Answer]:
        """The final rows of each case; all of them but those of closing rows' own keys are of case 0 where a run has
        one."""
        answer = self._final(ran)
        if not self.subject.own_key:
            return {0: answer}
        if packed:
            return by_case(answer, self.subject.own_key, self._read)
        return {0: tuple(row for row in answer if self._read(row.get(self.subject.own_key))[0] != CLOSING)}

    def _answers(self, asked: Asked) -> dict[str, Json]:
        if self.packed:
            found = self._cases(self._run(Run(asked.delivery), True), True)
        else:
            runs = {asked.data[0].case: self._run(Run(asked.delivery), False) for asked in self._one_by_one(asked)}
            found = {case: self._cases(ran, False)[0] for case, ran in runs.items()}
        return {str(case): list(rows) for case, rows in sorted(found.items()) if case >= 0}

    def _one_by_one(self, asked: Asked, *seed: Any) -> list[Asked]:
        """Some of the cases, each with a delivery of its own."""
        cases = sorted({row.case for row in asked.data})[:ALONE]
        found = [self._delivered([r for r in asked.data if r.case == c], *seed, c) for c in cases]
        return [replace(one, delivery=self._closed(Run(one.delivery)).delivery) for one in found]

    # Questions

    def _questions(self) -> list[Question]:
        if self.subject.other:
            return [SAME]
        wanted, behind = self.options.questions, self.subject.previous is not None
        return [q for q in self.driver.questions if (not wanted or q.id in wanted) and q.versions == behind]

    def _ask_again(self, found: dict[str, Finding]) -> None:
        """Asks the pairs that failed before. One that fails again is the verdict on its question."""
        for question in self._questions():
            pair = self.options.known.get(question.id)
            if pair is None or found[question.id].left_out or self._left() <= 0:
                continue
            if why := self._fails(question, pair):
                self.say(f"{question.id}: fails as it did before")
                self.failing[question.id] = pair, why
                found[question.id] = replace(found[question.id], verdict=Verdict.VIOLATED, cases=1, why=why)

    def _left_out(self, question: Question) -> Finding:
        why = self.facts.refused.get(question.id, "")
        if question.id in self.subject.leave_out and question.id not in self.options.questions:
            why = self.subject.leave_out[question.id] or "left out by the subject"
        return Finding(question.id, in_words_of(self.driver.batch, question.means), Verdict.NOT_ASKED, why=why)

    def _asked_together(
        self, open_: Sequence[Question], found: Mapping[str, Finding], number: int
    ) -> dict[str, Finding]:
        """The verdicts on questions that one run asks together: they hold, or some of them, isolated, do not. None on a
        question that says more by itself."""
        layers = layers_of([q for q in open_ if not found[q.id].left_out])
        done: dict[str, Finding] = {}
        try:
            for question in (q for q in open_ if q.first):
                self._check_time()
                done[question.id] = self._ask(question, number, found[question.id])
                if done[question.id].verdict is Verdict.VIOLATED:
                    return done
            while len(layers) > 1:
                self._check_time()
                failing, cases, rows = self._all_at_once(layers, number)
                if failing is None:
                    if rows:
                        self.say(f"{', '.join(q.id for q in layers)}: hold")
                        self._layered = len(layers)
                        done |= {q.id: _held(found[q.id], cases, rows) for q in layers}
                    break
                question, others = failing.layers[0], failing.layers[1:]
                layers = layers_of([q for q in layers if q is not question])
                if not failing.may_be_refused:  # that is asked by itself
                    asked = _held(found[question.id], cases, rows)
                    done[question.id] = self._violated(
                        question, failing.pair, failing.wrong, asked, others, failing.isolated
                    )
        except (NotAsked, OutOfTime):
            pass
        return done

    def _all_at_once(self, layers: Sequence[Question], number: int) -> tuple[Together | None, int, int]:
        """(the fewest of these changes that together change an answer, None where all of them change none, the cases
        asked, the rows compared)."""
        cases = rows = 0
        for occasion in self._occasions(number):
            failing, more_cases, more_rows = self._tried(occasion, layers)
            cases, rows = cases + more_cases, rows + more_rows
            if failing:
                return self._isolated(occasion, failing), cases, rows
        return None, cases, rows

    def _isolated(self, occasion: Occasion, failing: Together) -> Together:
        """The fewest changes of some that fail together, or those that were found when the budget was spent."""
        smallest = [failing]

        def fails(fewer: Sequence[Question]) -> bool:
            found = self._tried(occasion, fewer)[0]
            smallest.extend([found] if found else ())
            return found is not None

        try:
            fewest(failing.layers, fails)
        except OutOfTime:
            return replace(smallest[-1], isolated=False)
        return smallest[-1]

    def _occasions(self, number: int) -> Iterator[Occasion]:
        """The occasions to ask several questions at once in a round: two for each delivery."""
        for asked in self._deliveries(AT_ONCE, number):
            base = asked.random.random()
            yield from ((asked, base, last) for last in (False, True))

    def _tried(self, occasion: Occasion, layers: Sequence[Question]) -> tuple[Together | None, int, int]:
        self._check_time()
        pair = together(layers_of(layers) or layers, *occasion)
        wrong, cases, rows = self._failures(replace(layers[0], judge=same, refusable=False), pair)
        return Together(tuple(layers), pair, wrong) if wrong else None, cases, rows

    def _deliveries(self, name: str, number: int) -> list[Asked]:
        """What a question is asked about in a round: all cases together, or some one by one."""
        whole = self._asked(number)
        if not self.packed:
            return self._one_by_one(whole, name, number)
        return [replace(whole, random=Random(seeded(self.subject.name, name, number, self.options.seed)))]

    def _ask(self, question: Question, number: int, before: Finding) -> Finding:
        """The verdict after a round. What was found ``before`` is added to."""
        cases, rows = before.cases, before.rows
        try:
            for asked in self._deliveries(question.id, number):
                self._check_time()
                for pair in pairs(question, asked, 0 if self.packed else 1):
                    wrong, more_cases, more_rows = self._failures(question, pair)
                    cases, rows = cases + more_cases, rows + more_rows
                    if wrong:
                        return self._violated(question, pair, wrong, replace(before, cases=cases, rows=rows))
                    if question.versions:
                        self._must_tell(question, pair)
        except Refused as words:
            return replace(before, verdict=Verdict.REFUSED, cases=cases, rows=rows, why=str(words))
        except NotAsked as reason:
            return replace(before, verdict=Verdict.NOT_ASKED, why=str(reason))
        if not rows and not question.of_runs:
            return replace(before, cases=0, why="no case has an answer: nothing was compared")
        self.say(f"{question.id}: holds")
        return replace(before, verdict=Verdict.HOLDS, cases=cases, rows=rows, why="")

    def _violated(
        self,
        question: Question,
        pair: Pair,
        wrong: Mapping[int, str],
        before: Finding,
        others: Sequence[Question] = (),
        isolated: bool = True,
    ) -> Finding:
        """The verdict on a question that fails, alone or together with others, reduced."""
        asked_again = any(q.first for q in self._questions())
        if not asked_again and not question.of_runs and not self._repeats(pair.plain, self.packed):
            return replace(before, verdict=Verdict.NOT_ASKED, cases=0, rows=0, why=MEND)
        self.say(f"{question.id}: fails; reducing")
        if others:  # their changes are no part of what is fair to the first
            question = replace(question, fair=itself)
        pair, why = self._reduced(question, pair, wrong)
        why = self._what_of_the_state(pair) + why
        if others:
            rest = "and not alone" if isolated else "and the budget was spent before one alone was tried"
            why = f"together with {' and '.join(q.id for q in others)}, {rest}: {why}"
        self.failing[question.id] = pair, why
        return replace(before, verdict=Verdict.VIOLATED, why=why)

    def _must_tell(self, question: Question, pair: Pair) -> None:
        """Raises NotAsked where a query that begins behind the restart answers like one that had always run: then no
        case shows that state was kept."""
        anew = replace(pair, varied=replace(pair.varied, setup=replace(pair.varied.setup, by=NOBODY)))
        if not self._failures(replace(question, judge=same), anew)[0]:
            raise NotAsked("no case tells a state that is kept from one that is gone")

    def _what_of_the_state(self, pair: Pair) -> str:
        """What became of the previous version's state in a pair that fails, as the beginning of a sentence; "" without
        such a version."""
        setup = pair.varied.setup
        if setup.by != PREVIOUS:
            return ""
        varied = self._run(self._closed(pair.varied), packed=False)
        if varied.exchanged:
            return ""
        anew = replace(pair.varied, setup=replace(setup, by=NOBODY))
        fresh = self._run(self._closed(anew), packed=False)
        if varied.error or fresh.error:
            return ""
        gone = not difference(self._cases(varied, False)[0], self._cases(fresh, False)[0])
        return "the state is silently gone: " if gone else ""

    def _failures(self, question: Question, pair: Pair) -> tuple[dict[int, str], int, int]:
        """(case -> what is wrong, the cases asked, the rows compared). A question about runs has one entry for all."""
        plain = self._run(pair.plain, self.packed)
        varied = plain if question in TAKES_NO_RUN else self._run(pair.varied, self.packed, anew=True)
        return self._judged(question, pair, plain, varied, self.packed)

    def _judged(
        self, question: Question, pair: Pair, plain: Ran, varied: Ran, packed: bool
    ) -> tuple[dict[int, str], int, int]:
        if question in (STATE, BOUNDED) and not self.closed:
            raise NotAsked("no row that it keeps moves its watermark past everything")
        if question is SAME and self.other and not self.subject.own_key and self.subject.output.mode == "append":
            raise NotAsked("without a key, what comes out for the last rows is not told from what the cases answer")
        if varied.error and (varied.refused or (question.refusable and not pair.varied.setup.begun)):
            raise NotAsked(f"refused: {varied.error}")
        if varied.error and question.versions:
            raise Refused(varied.error)
        if plain.error:
            return {}, 0, 0
        cases = sorted({row.case for row in rows_in(pair.plain.delivery) if row.case >= 0}) if packed else [0]
        if varied.error:
            return {cases[0]: FAILS + varied.error}, len(cases), 0
        if question is SAME:
            self._named_alike(plain, varied)
        before, after = self._cases(plain, packed), self._cases(varied, packed)
        if question.of_runs:
            said = question.judge(pair, Seen((), plain), Seen((), varied))
            return ({CLOSING: said} if said else {}), len(cases), 0
        wrong: dict[int, str] = {}
        for case in cases:
            seen = Seen(before.get(case, ()), plain), Seen(after.get(case, ()), varied)
            if said := question.judge(pair, *seen):
                wrong[case] = said
        compared = sum(len(before.get(case, ())) for case in cases)
        return wrong, len(cases), compared

    # Reduction

    def _reduced(self, question: Question, pair: Pair, wrong: Mapping[int, str]) -> Failing:
        """A small pair that fails alone, and what differs; one that fails among others where none fails alone."""
        checks, end = [CHECKS], self._clock() + CHECKED
        inputs = list(self.subject.inputs)
        case, why = next(iter(wrong.items()))

        def first(candidates: Sequence[Pair]) -> Pair | None:
            for candidate in candidates:
                if checks[0] <= 0 or self._left() <= 0 or self._clock() > end:
                    return None
                checks[0] -= 1
                if (said := self._fails(question, candidate)) and _error_in(said) == _error_in(why):
                    return candidate
            return None

        if not self.packed:
            smallest = fewer_rows(pair, first, inputs, hollow=False)
        elif question.of_runs or case < 0 or _error_in(why):  # an error is of no case
            smallest = self._alone_at_last(
                question, pair, first, sorted({r.case for r in rows_in(pair.plain.delivery)})
            )
        else:
            small = fewer_rows(only_hollow(pair, case), lambda found: self._first_packed(question, found), inputs, True)
            kept = {*numbers(small)}
            small = without(
                pair, [nr for nr in numbers(pair) if nr not in kept]
            )  # and no micro-batch that has no row any more
            smallest = small if first([small]) else self._alone_at_last(question, pair, first, list(wrong))
        smallest = plainer(question.fair(smallest, self.subject.keys), self.subject, first, inputs)
        smallest = question.fair(smallest, self.subject.keys)
        shown = replace(smallest, plain=self._closed(smallest.plain), varied=self._closed(smallest.varied))
        why = self._fails(question, smallest) or why
        together = len({row.case for row in rows_in(smallest.varied.delivery) if row.case >= 0})
        if self.packed and together > 1:
            why += f" ({together} cases together, each with keys of its own: none was seen to fail alone)"
        return shown, why

    def _alone_at_last(
        self, question: Question, pair: Pair, first: Callable[[Sequence[Pair]], Pair | None], cases: Sequence[int]
    ) -> Pair:
        """The first of some cases that fails alone, or beside rows that move the watermark as the others do; else all
        of them together. It has as few rows as still fail."""
        tried = [case for case in cases if case >= 0][:TRIED]
        single = first([only(pair, case) for case in tried] + [self._beside_clocks(pair, case) for case in tried])
        if single is None:
            single = replace(pair, plain=self._named(pair.plain), varied=self._named(pair.varied))
        return fewer_rows(single, first, list(self.subject.inputs), hollow=False)

    def _beside_clocks(self, pair: Pair, case: int) -> Pair:
        """A pair with one case's rows, and with the latest row of each micro-batch and input."""
        latest: dict[tuple[str, int, str], Row] = {}
        for side, run in (("plain", pair.plain), ("varied", pair.varied)):
            for number, batch in enumerate(run.delivery):
                for row in batch:
                    known = latest.setdefault((side, number, row.input), row)
                    if (row.at or 0) > (known.at or 0):
                        latest[side, number, row.input] = row
        kept = {row.nr for row in latest.values()} | {
            row.nr for run in (pair.plain, pair.varied) for row in rows_in(run.delivery) if row.case == case
        }
        mine = without(pair, [nr for nr in numbers(pair) if nr >= 0 and nr not in kept])

        def others(row: Row) -> bool:
            return row.case != case and not row.closing

        return replace(mine, plain=self._named(mine.plain, others), varied=self._named(mine.varied, others))

    def _named(self, run: Run, chosen: Callable[[Row], bool] = lambda row: True) -> Run:
        """A run in which some rows have the keys that they have in a pack."""
        key = self.subject.own_key

        def named(row: Row) -> Row:
            if not chosen(row) or self._read(row.values[key])[0]:
                return row
            return replace(row, values={**row.values, key: self._own(row.values[key], row.case)})

        return replace(run, delivery=tuple(tuple(map(named, batch)) for batch in run.delivery))

    def _fails(self, question: Question, pair: Pair) -> str:
        """What is wrong with a pair by itself, "" for nothing."""
        pair = question.fair(pair, self.subject.keys)
        try:
            plain = self._run(self._closed(pair.plain), packed=False)
            takes_none = question in TAKES_NO_RUN
            varied = plain if takes_none else self._run(self._closed(pair.varied), packed=False, anew=True)
            wrong, _, _ = self._judged(question, pair, plain, varied, packed=False)
        except (NotAsked, Refused):
            return ""
        return next(iter(wrong.values()), "")

    def _first_packed(self, question: Question, candidates: Sequence[Pair]) -> Pair | None:
        """The smallest of some pairs of one shape that fails; all of them share two runs, each as a case of its own."""
        if not candidates or self._left() <= 0:
            return None
        keys = self.subject.keys
        numbered = [(number, _as_case(question.fair(pair, keys), number)) for number, pair in enumerate(candidates)]
        plain = _together([pair.plain for _, pair in numbered])
        varied = _together([pair.varied for _, pair in numbered])
        both = replace(candidates[0], plain=plain, varied=varied)
        try:
            wrong, _, _ = self._failures(question, both)
        except (NotAsked, Refused):
            return None
        failing = [candidates[number] for number in wrong if 0 <= number < len(candidates)]
        return min(failing, key=lambda pair: sum(1 for _ in rows_in(pair.varied.delivery)), default=None)

    # Time

    def _left(self) -> float:
        if self.options.budget is None:
            return float("inf")
        return self.options.budget - (self._clock() - self._begun)

    @property
    def _reserved(self) -> float:
        return min(RESERVED, (self.options.budget or 0) / 4)

    def _check_time(self) -> None:
        if self._left() <= self._reserved:
            raise OutOfTime

    def _done(self, found: Mapping[str, Finding]) -> bool:
        """Whether another round would ask nothing new."""
        return all(f.verdict is Verdict.VIOLATED or f.left_out for f in found.values())


def _held(before: Finding, cases: int, rows: int) -> Finding:
    return replace(before, verdict=Verdict.HOLDS, cases=before.cases + cases, rows=before.rows + rows, why="")


def _error_in(said: str) -> str:
    """The kind of error in what is wrong with a pair, the first word of it; "" for answers that differ."""
    return said.removeprefix(FAILS).partition(" ")[0] if said.startswith(FAILS) else ""


def in_words_of(batch: str, means: str) -> str:
    """What a question means, for users who call a micro-batch ``batch``."""
    several = batch + ("es" if batch.endswith("ch") else "s")
    for words, mine in (("micro-batches", several), ("micro-batch", batch)):
        means = means.replace(words, mine).replace(words.capitalize(), mine.capitalize())
    return means


def only_hollow(pair: Pair, case: int) -> Pair:
    """A pair with one case's rows and the closing ones, with all its micro-batches."""
    gone = [row.nr for run in (pair.plain, pair.varied) for row in rows_in(run.delivery) if row.case != case]
    return without(pair, [nr for nr in gone if nr >= 0], hollow=True)


def _as_case(pair: Pair, case: int) -> Pair:
    def numbered(run: Run) -> Run:
        return replace(
            run,
            delivery=tuple(
                tuple(row if row.closing else replace(row, case=case) for row in batch) for batch in run.delivery
            ),
        )

    return replace(pair, plain=numbered(pair.plain), varied=numbered(pair.varied))


def _together(runs: Sequence[Run]) -> Run:
    """Runs of one shape as one: the rows of each micro-batch one after the other, closing rows once."""
    batches = []
    for parts in zip(*(run.delivery for run in runs), strict=True):
        ending = {row.nr: row for part in parts for row in part if row.closing}
        batches.append((*(row for part in parts for row in part if not row.closing), *ending.values()))
    return replace(runs[0], delivery=tuple(batches))


def _spelled(run: Run, packed: bool) -> str:
    """What tells one run from another."""
    return repr(
        ([[(r.nr, r.case, r.at, r.input, r.values) for r in batch] for batch in run.delivery], run.setup, packed)
    )


def ask(
    driver: Driver,
    subject: Subject,
    options: Options,
    say: Callable[[str], None] = lambda line: None,
    other: Driver | None = None,
) -> tuple[Report, dict[str, Failing]]:
    """The report on a subject, and for each violated question a small pair that shows it. An unusable subject has a
    report with an error. ``other`` is the engine of the query that must answer alike, if it is another one."""
    asking = Asking(driver, subject, options, say, other=other)
    try:
        return asking.report(), asking.failing
    except InvalidSubject as error:
        return Report(subject.name, driver.version, seed=options.seed, error=str(error)), {}
