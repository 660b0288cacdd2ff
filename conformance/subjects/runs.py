"""The runs of a subject, and what each case sees of them: cases that share a run have keys of their own."""

from collections.abc import Callable, Collection, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from functools import cached_property, partial

from conformance.model.types import Int
from conformance.model.values import Json
from conformance.subjects.answers import Answer, Ran, by_case, final
from conformance.subjects.driver import Driver, Facts
from conformance.subjects.questions import NotAsked, Run
from conformance.subjects.rows import CLOSING, Delivery, Row, rows_in, written
from conformance.subjects.schema import DAY, InvalidSubject
from conformance.subjects.setup import OTHER, Given, Setup
from conformance.subjects.subject import Subject


class Ahead:
    """Runs by what tells them apart, as many at a time as an engine makes."""

    def __init__(self, at_once: int) -> None:
        self._pool = ThreadPoolExecutor(max_workers=at_once)
        self._runs: dict[str, list[Future[Ran]]] = {}

    def begin(self, name: str, run: Callable[[], Ran]) -> None:
        self._runs.setdefault(name, []).append(self._pool.submit(run))

    def taken(self, name: str) -> Ran | None:
        """A run of this name, each once; None where none was begun. Raises as the run does."""
        begun = self._runs.get(name)
        return begun.pop(0).result() if begun else None

    def close(self) -> None:
        """What has not begun is not run."""
        self._pool.shutdown(cancel_futures=True)


CLOSES = "closing"
"""What stands before the keys of closing rows."""

STRETCHES = (1_000, 1_000_000, 50_000_000)
"""How many numbers a case may have of its own."""

HINDERED = "the machine hindered a run, not the query; ask again: "
"""What is said of a run that the machine ended."""


class Runs:
    """A subject's runs, each made once. ``packed``: the cases of a run have keys of their own, and are compared one by
    one. ``other`` is the engine of the query that must answer alike, if it is another one; ``theirs`` is what that
    engine finds in its function."""

    def __init__(self, driver: Driver, subject: Subject, sample: Sequence[Row], other: Driver | None = None) -> None:
        self.driver, self.subject, self.facts = driver, subject, Facts()
        self.other, self.theirs = other, Facts()
        self.packed = False
        self._sample = sample
        self._kept: dict[str, Ran] = {}
        self._ahead = Ahead(driver.parallel)

    def run(self, run: Run, packed: bool, anew: bool = False) -> Ran:
        """What a run answers. It is made once, unless ``anew``: each question compares with the same plain run. Raises
        NotAsked where the machine hinders it."""
        known = self._spelled(run, packed)
        if not anew and known in self._kept:
            return self._kept[known]
        ran = self._ahead.taken(known) or self._made(run, packed)
        if ran.hindered:
            raise NotAsked(HINDERED + ran.error)
        if not anew:
            self._kept[known] = ran
        return ran

    def begin(self, run: Run, packed: bool) -> None:
        """Begin a run that is asked for later."""
        self._ahead.begin(self._spelled(run, packed), partial(self._made, run, packed))

    def close(self) -> None:
        self._ahead.close()

    def _made(self, run: Run, packed: bool) -> Ran:
        given = self._given(run.delivery, packed)
        if run.setup.by == OTHER and self.subject.other:
            return self._answered_alike(self.subject.other, given)
        return self.driver.run(self.subject, given, run.setup)

    def _answered_alike(self, other: Subject, given: Given) -> Ran:
        """What the other query answers: its final rows, as those of one micro-batch."""
        ran = (self.other or self.driver).run(other, given, Setup())
        key = other.output.key or tuple(self.theirs.output_key or ())
        rows = without_columns(final(ran, other.output.mode, key), other.output.ignored)
        found = replace(ran, outputs={0: rows})
        self._keyed(found, other)
        return found

    def look_at_the_other(self) -> tuple[int, ...]:
        """The durations (ms) in the query that must answer alike."""
        if not self.subject.other:
            return ()
        self.theirs = (self.other or self.driver).look(self.subject.other)
        return (*self.subject.other.durations, *self.theirs.durations)

    def named_alike(self, plain: Ran, varied: Ran) -> None:
        """Raises InvalidSubject where the columns of the outputs of two queries have other names."""
        there, found = ({name for row in self.answer(ran) for name in row} for ran in (plain, varied))
        if self.subject.other and there and found and there != found:
            raise InvalidSubject(
                f"subject {self.subject.other.name}: its output has {', '.join(sorted(found))}, and that of "
                f"{self.subject.name} {', '.join(sorted(there))}; name the columns alike, or leave some out by ignore"
            )

    def _spelled(self, run: Run, packed: bool) -> str:
        """What tells one run from another: what it is given, and how it is made."""
        return repr((self._given(run.delivery, packed), run.setup))

    def _given(self, delivery: Delivery, packed: bool) -> Given:
        own = self._own if packed else None
        return [
            {of: [written(self.subject, row, own) for row in batch if row.input == of] for of in self.subject.inputs}
            for batch in delivery
        ]

    def must(self, ran: Ran) -> None:
        """Raises InvalidSubject where a run over drawn rows failed."""
        if ran.refused:
            raise InvalidSubject(f"subject {self.subject.name}: refused: {ran.error}")
        if ran.error:
            raise InvalidSubject(
                f"subject {self.subject.name}: the query failed over drawn rows: {ran.error}; if they are rows that "
                "it need not take, say which values a column has with values={…}, or give --sample; if its session "
                "needs settings, give settings={…}"
            )

    def passed(self, ran: Ran, delivery: Delivery) -> bool:
        """Whether a run's watermark passed everything but closing rows; true where nobody can tell. It may go by local
        times, which are hours apart; what is open ends a day before closing rows."""
        if self.subject.delay is None or ran.watermark is None:
            return True
        latest: dict[str, int] = {}
        for row in rows_in(delivery):
            if row.closing and row.at is not None:
                latest[row.input] = max(row.at, latest.get(row.input, 0))
        return not latest or ran.watermark >= min(latest.values()) - self.subject.delay - DAY

    def overwritten(self, ran: Ran, delivery: Delivery) -> bool:
        """Whether closing rows take the place of what cases answered, which nobody would see then: all answers come
        last in complete mode, and some in update mode, where closing rows share a key with a case."""
        if ran.whole:
            return self.subject.output.mode != "append"
        if self.subject.output.mode != "update":
            return self.subject.output.mode == "complete"
        first = next((n for n, batch in enumerate(delivery) if any(row.closing for row in batch)), len(delivery))
        key = self.facts.output_key or ()
        before, behind = (
            {
                repr([row.get(name) for name in key])
                for n, rows in ran.outputs.items()
                if (n < first) is early
                for row in rows
            }
            for early in (True, False)
        )
        return bool(key) and bool(before & behind)

    # Keys

    @property
    def _whole(self) -> bool:
        return any(
            column.name == self.subject.own_key and isinstance(column.type, Int) for column in self.subject.columns
        )

    @cached_property
    def _stretch(self) -> int:
        """How many numbers a case has of its own: more than the largest key, if all cases have room in 32 bits."""
        key = self.subject.own_key
        given = [*self.subject.values.get(key, ()), *(row.values.get(key) for row in self._sample)]
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

    def named(self, run: Run, chosen: Callable[[Row], bool] = lambda row: True) -> Run:
        """A run in which some rows have the keys that they have in a pack."""
        key = self.subject.own_key

        def named(row: Row) -> Row:
            if not chosen(row) or self._read(row.values[key])[0]:
                return row
            return replace(row, values={**row.values, key: self._own(row.values[key], row.case)})

        return run.with_rows(named)

    def closed(self, run: Run) -> Run:
        """A run whose closing rows have keys of their own, so that no answer is theirs and a case's together."""
        return self.named(run, lambda row: row.closing) if self.subject.own_key else run

    def keeps_keys(self, ran: Ran) -> bool:
        """Whether a run puts keys out as they went in. Raises InvalidSubject where an answer has no key: only then can
        it be told which case it is of."""
        self._keyed(ran, self.subject)
        key = self.subject.own_key
        return all(self._own(*self._read(row[key])[::-1]) == row[key] for row in self.answer(ran))

    def _keyed(self, ran: Ran, subject: Subject) -> None:
        key = self.subject.own_key
        if key and (row := next((row for rows in ran.outputs.values() for row in rows if key not in row), None)):
            raise InvalidSubject(
                f"subject {subject.name}: the output has no {key!r} (it has {', '.join(row)}); put the key out, or say "
                "key=None, and its cases are streams"
            )

    # Answers

    def answer(self, ran: Ran) -> Answer:
        """The final rows of a run."""
        rows = final(ran, self.subject.output.mode, self.facts.output_key or ())
        return without_columns(rows, self.subject.output.ignored)

    def cases(self, ran: Ran, packed: bool) -> dict[int, Answer]:
        """The final rows of each case; all of them but those of closing rows' own keys are of case 0 where a run is not
        packed."""
        answer = self.answer(ran)
        if not self.subject.own_key:
            return {0: answer}
        if packed:
            return by_case(answer, self.subject.own_key, self._read)
        return {0: tuple(row for row in answer if self._read(row.get(self.subject.own_key))[0] != CLOSING)}


def without_columns(rows: Answer, ignored: Collection[str]) -> Answer:
    return tuple({n: v for n, v in row.items() if n not in ignored} for row in rows) if ignored else rows
