"""The cases of a subject, and how they share runs: each case of a run with keys of its own, or all of them as one
stream."""

from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import Any

from conformance.generation.examples import seeded
from conformance.model.values import Json, canonical
from conformance.subjects.answers import ONE_ANSWER, Answer, difference
from conformance.subjects.drawing import draw
from conformance.subjects.driver import Facts
from conformance.subjects.judging import Judging
from conformance.subjects.questions import Asked, Pair, Run, only
from conformance.subjects.rows import (
    BATCHES,
    Delivery,
    Row,
    Span,
    closing,
    cut,
    ending_together,
    one_behind_another,
    span_of,
)
from conformance.subjects.runs import Runs
from conformance.subjects.schema import InvalidSubject
from conformance.subjects.subject import Subject
from conformance.subjects.verdicts import Options
from conformance.support.naming import counted, instead

STREAMED = 2
"""How many times as many cases streams have: they are not run alone, and much depends on where a micro-batch ends."""

IN_ONE = 3 * BATCHES
"""The micro-batches of the only stream of a subject, which costs as much as three streams."""

SAMPLED = 2
"""The cases that run alone as well, to show that a pack changes nothing."""


class Cases:
    """The cases that a subject is asked about. Raises InvalidSubject for one that cannot be tested."""

    def __init__(self, judging: Judging, options: Options) -> None:
        self.runs: Runs = judging.runs
        self._subject = self.runs.subject = self._looked(self.runs.subject)
        self._judging, self._options = judging, options
        self._drawn: dict[int, Asked] = {}
        self._closes = self.runs.driver.closes or bool(self.runs.other and self.runs.other.closes)
        self._wanted = self.runs.driver.packs
        self.unsteady: tuple[Run, dict[int, str]] | None = None
        self.span = self._spanned()
        self.note = self._proved(self.asked(1))

    def asked(self, number: int) -> Asked:
        """What a round asks about: all its cases in one delivery."""
        if number not in self._drawn:
            seed = seeded(self._options.seed, number)
            # A key that cannot be a case's own is a key all the same.
            rows = draw(self._subject, self.span, self._wanted, seed, self._options.sample)
            self._drawn = {number: self._delivered(rows, self.span, seed)}
        return self._drawn[number]

    def deliveries(self, name: str, number: int) -> list[Asked]:
        """What a question is asked about in a round: all cases together, or the streams."""
        whole = self.asked(number)
        if not self.runs.packed:
            return self._streams(whole, name, number)
        seed = seeded(self.runs.subject.name, name, number, self._options.seed)
        return [replace(whole, random=Random(seed))]

    def answers(self) -> dict[str, Json]:
        """The answer to each case, or stream, of the first round."""
        first, runs = self.asked(1), self.runs
        if runs.packed:
            found = runs.cases(runs.run(Run(first.delivery), True), True)
        else:
            ran = [runs.run(Run(each.delivery), False) for each in self._streams(first)]
            found = {number: runs.cases(one, False)[0] for number, one in enumerate(ran)}
        return {str(case): list(rows) for case, rows in sorted(found.items()) if case >= 0}

    # Facts

    def _spanned(self) -> Span:
        subject = self.runs.subject
        durations = [*subject.durations, *self.runs.facts.durations, *self.runs.look_at_the_other()]
        if subject.previous:
            durations += [*subject.previous.durations, *self.runs.driver.look(subject.previous).durations]
        return span_of(durations, subject.delay, self.runs.facts.zones)

    def _looked(self, subject: Subject) -> Subject:
        """The subject with what the engine finds in its function."""
        facts = self.runs.driver.look(subject)
        if facts.columns is not None and subject.keys:
            missing = [key for key in subject.keys if key not in facts.columns]
            if missing:
                raise InvalidSubject(
                    f"subject {subject.name}: the output has no column {missing[0]!r} (it has "
                    f"{', '.join(facts.columns)}); put the key out, or say key=None, and its cases are streams"
                )
        if facts.columns is not None and (strange := [c for c in subject.output.ignored if c not in facts.columns]):
            said = instead(strange[0], facts.columns, "it has")
            raise InvalidSubject(f"subject {subject.name}: ignore {strange[0]!r} is no column of the output; {said}")
        agreed = _agreed(subject, facts)
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
        self.runs.facts = replace(facts, output_key=tuple(output_key))
        return agreed

    # Whether cases can share runs

    def _delivered(
        self, rows: Sequence[Row], span: Span, *seed: Any, random: Random | None = None, parts: int = BATCHES
    ) -> Asked:
        ending = closing(rows, span) if self._closes else ()
        delivery: Delivery = (*cut(rows, parts, random), *ending)
        subject = self.runs.subject
        return Asked(subject, span, delivery, Random(seeded(subject.name, *seed)))

    def _proved(self, asked: Asked) -> str:
        """Finds out whether cases may be told from one another in a run, and says how: it is so if some of them answer
        alone as they do in the pack. Else they are streams."""
        runs, why = self.runs, "no key" if not self.runs.subject.keys else "no key of texts or whole numbers of 32 bits"
        if runs.subject.own_key:
            alike, why = self._compared(asked)
            runs.packed = not why
            if runs.packed:
                return f"{_cases_of(asked)} in a run: {alike}"
        self._wanted, self._drawn = STREAMED * self._wanted, {}
        asked = self.asked(1)
        streams = self._streams(asked)
        for stream in streams:
            ran = runs.run(Run(stream.delivery), packed=False)
            runs.must(ran)
            self._judging.passes &= runs.passed(ran, stream.delivery)
            if self._closes and runs.overwritten(ran, stream.delivery):
                self._closes, self._drawn = False, {}
        return f"{_cases_of(asked)} in {counted(len(streams), 'stream')}: {why}"

    def _compared(self, asked: Asked) -> tuple[str, str]:
        """(why cases can share runs, why they cannot). Other keys than those drawn may not come through, or may be
        answered in another way; the subject then has no key. A column may say how a key is spelled, as a hash does."""
        runs, whole = self.runs, Run(asked.delivery)
        sizes: dict[int, int] = {}
        for row in asked.data:
            sizes[row.case] = sizes.get(row.case, 0) + 1
        sampled = sorted(sizes, key=lambda case: (-sizes[case], case))[:SAMPLED]
        lone = {case: only(Pair(whole, whole), case).plain for case in sampled}
        alone = {case: runs.closed(run) for case, run in lone.items()}
        if runs.driver.parallel > 1:
            runs.begin(whole, True)
            for run in alone.values():
                runs.begin(run, False)
        ran = runs.run(whole, packed=True)
        runs.must(ran)
        kept = runs.keeps_keys(ran)
        if not kept or not runs.passed(ran, asked.delivery):
            runs.subject = replace(runs.subject, keys=())
            return "", "rows with other keys do not move its watermark" if kept else (
                "it puts keys out otherwise than they went in"
            )
        if ran.clocked:
            return "its timers go by the clock", ""  # alone, less time passes
        together, repeated = runs.cases(ran, True), False
        for case, run in alone.items():
            mine, seen = together.get(case, ()), runs.cases(runs.run(run, packed=False), False)[0]
            if not difference(mine, seen):
                continue
            if not repeated and (wrong := self._judging.otherwise(whole, True)):
                self.unsteady = whole, wrong
                return "another time, it answers otherwise", ""
            repeated = True
            as_there = runs.cases(runs.run(runs.named(lone[case]), packed=False), True).get(case, ())
            if difference(mine, as_there):
                return "", "a case answers otherwise among others than alone"
            if _shape(as_there) != _shape(seen):
                runs.subject = replace(runs.subject, keys=())
                return "", "keys of another spelling are answered otherwise"
        return f"{len(sampled)} of them answer alone as they do together", ""

    def _streams(self, asked: Asked, *seed: Any) -> list[Asked]:
        """The cases as streams, since a run costs its micro-batches, and not its rows. With keys of their own, all are
        in one; else one is alone, some end together, and the others are one behind the other."""
        if self.runs.subject.own_key:
            one = self._delivered(asked.data, self.span, *seed, parts=IN_ONE)
            return [replace(one, delivery=self.runs.named(Run(one.delivery)).delivery)]
        numbers = sorted({row.case for row in asked.data})
        middle = (len(numbers) + 1) // 2
        parts = [[row for row in asked.data if row.case in part] for part in (numbers[:1], numbers[1:middle])]
        behind, longer = one_behind_another([row for row in asked.data if row.case in numbers[middle:]], self.span)
        random = Random(seeded(self._options.seed, len(numbers)))  # an even cut would often be between two cases
        found = [
            self._delivered(parts[0], self.span, *seed, 0),
            self._delivered(ending_together(parts[1], self.span), self.span, *seed, 1),
            self._delivered(behind, longer, *seed, 2, random=random),
        ]
        return [one for one in found if one.data]


def _shape(answer: Answer) -> tuple[int, dict[str, int]]:
    """(how many rows, column -> how many values) of an answer."""
    columns = {name for row in answer for name in row}
    return len(answer), {name: len({canonical(row.get(name)) for row in answer}) for name in columns}


def _cases_of(asked: Asked) -> str:
    return counted(len({row.case for row in asked.data}), "case")


def _agreed(subject: Subject, facts: Facts) -> Subject:
    """The subject with the delay of the function's own watermark where it names none. Raises InvalidSubject where the
    two differ, or where no time is named, or another one."""
    delay = facts.delay
    if subject.times and (other := [name for name in facts.timed if name not in subject.times]):
        raise InvalidSubject(
            f"subject {subject.name}: its watermark goes by {other[0]!r}, and time says {subject.times[0]!r}; say "
            "the same in both"
        )
    if facts.timeless and subject.delay is not None:
        raise InvalidSubject(f"subject {subject.name}: it sets no watermark, and has a delay; leave delay out")
    if delay is None or delay == subject.delay:
        return subject
    if not subject.times:
        raise InvalidSubject(f"subject {subject.name}: it has a watermark; name its column of event time as time=…")
    if subject.delay is not None:
        raise InvalidSubject(
            f"subject {subject.name}: its watermark stays {delay} ms behind, and delay says {subject.delay} ms; "
            "say the same in both"
        )
    return replace(subject, delay=delay)
