"""A failing pair of a subject made small: its rows are tried many at a time, each part as a case of its own."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from conformance.subjects.judging import RESERVED, Budget, Judging, Refused, error_in
from conformance.subjects.questions import NotAsked, Pair, Question, Run, numbers, only, without
from conformance.subjects.reduction import fewer_rows, plainer
from conformance.subjects.rows import Row, rows_in

CHECKS, CHECKED = 60, 60
"""How many pairs of runs the reduction of a failure may take, and how many seconds; of a budget a third. The second
reduction of a subject has half of the seconds, the third a third."""

NOT_AGAIN = "run once more, the pair that is shown did not differ: that may be a race"
"""What is said of a pair that did not fail each time."""

TRIED = 3
"""How many failing cases are tried alone."""

First = Callable[[Sequence[Pair]], Pair | None]


class Smaller:
    """Small pairs of a subject that fail alone."""

    def __init__(self, judging: Judging, budget: Budget) -> None:
        self._judging, self._runs, self._budget = judging, judging.runs, budget
        self._made = 0

    def reduced(self, question: Question, pair: Pair, wrong: Mapping[int, str]) -> tuple[Pair, str]:
        """A small pair that fails alone, and what differs; one that fails among others where none fails alone."""
        runs, budget = self._runs, self._budget
        self._made += 1
        seconds = max(RESERVED, CHECKED / self._made)
        checks, end = [CHECKS], budget.clock() + min(seconds, max(RESERVED, budget.left / 3))
        inputs = list(runs.subject.inputs)
        case, why = next(iter(wrong.items()))

        def first(candidates: Sequence[Pair]) -> Pair | None:
            for candidate in candidates:
                if checks[0] <= 0 or budget.left <= 0 or budget.clock() > end:
                    return None
                checks[0] -= 1
                if (said := self._judging.fails(question, candidate)) and error_in(said) == error_in(why):
                    return candidate
            return None

        if not runs.packed:
            smallest = self._alone_at_last(pair, first, [case] if runs.subject.own_key else [])
        elif question.of_runs or case < 0 or error_in(why):  # an error is of no case
            smallest = self._alone_at_last(pair, first, sorted({r.case for r in rows_in(pair.plain.delivery)}))
        else:
            small = fewer_rows(
                only(pair, case, hollow=True), lambda found: self._first_packed(question, found), inputs, True
            )
            kept = {*numbers(small)}
            small = without(
                pair, [nr for nr in numbers(pair) if nr not in kept]
            )  # and no micro-batch that has no row any more
            smallest = small if first([small]) else self._alone_at_last(pair, first, list(wrong))
        smallest = plainer(question.fair(smallest, runs.subject.keys), runs.subject, first, inputs)
        smallest = question.fair(smallest, runs.subject.keys)
        shown = smallest.both(runs.closed)
        why = self._judging.fails(question, smallest) or f"{why} ({NOT_AGAIN})"
        together = len({row.case for row in rows_in(smallest.varied.delivery) if row.case >= 0})
        if runs.packed and together > 1:
            why += f" ({together} cases together, each with keys of its own: none was seen to fail alone)"
        return shown, why

    def _alone_at_last(self, pair: Pair, first: First, cases: Sequence[int]) -> Pair:
        """The first of some cases that fails alone, or beside rows that move the watermark as the others do; else all
        of them together. It has as few rows as still fail."""
        runs = self._runs
        tried = [case for case in cases if case >= 0][:TRIED]
        single = first([only(pair, case) for case in tried] + [self._beside_clocks(pair, case) for case in tried])
        if single is None and runs.subject.own_key:
            single = pair.both(runs.named)
        return fewer_rows(single or pair, first, list(runs.subject.inputs), hollow=False)

    def _beside_clocks(self, pair: Pair, case: int) -> Pair:
        """A pair with one case's rows, and with the latest row of each micro-batch and input."""
        latest: dict[tuple[str, int, str], Row] = {}
        for side, run in (("plain", pair.plain), ("varied", pair.varied)):
            for number, batch in enumerate(run.delivery):
                for row in batch:
                    known = latest.setdefault((side, number, row.input), row)
                    if (row.at or 0) > (known.at or 0):
                        latest[side, number, row.input] = row
        kept = {row.nr for row in latest.values()} | {row.nr for row in pair.rows if row.case == case}
        mine = without(pair, [nr for nr in numbers(pair) if nr >= 0 and nr not in kept])

        def others(row: Row) -> bool:
            return row.case != case and not row.closing

        return mine.both(lambda run: self._runs.named(run, others))

    def _first_packed(self, question: Question, candidates: Sequence[Pair]) -> Pair | None:
        """The smallest of some pairs of one shape that fails; all of them share two runs, each as a case of its own."""
        if not candidates or self._budget.left <= 0:
            return None
        keys = self._runs.subject.keys
        numbered = [(number, _as_case(question.fair(pair, keys), number)) for number, pair in enumerate(candidates)]
        plain = _together([pair.plain for _, pair in numbered])
        varied = _together([pair.varied for _, pair in numbered])
        both = replace(candidates[0], plain=plain, varied=varied)
        try:
            wrong, _, _ = self._judging.failures(question, both)
        except (NotAsked, Refused):
            return None
        failing = [candidates[number] for number in wrong if 0 <= number < len(candidates)]
        return min(failing, key=lambda pair: sum(1 for _ in rows_in(pair.varied.delivery)), default=None)


def _as_case(pair: Pair, case: int) -> Pair:
    return pair.both(lambda run: run.with_rows(lambda row: row if row.closing else replace(row, case=case)))


def _together(runs: Sequence[Run]) -> Run:
    """Runs of one shape as one: the rows of each micro-batch one after the other, closing rows once."""
    batches = []
    for parts in zip(*(run.delivery for run in runs), strict=True):
        ending = {row.nr: row for part in parts for row in part if row.closing}
        batches.append((*(row for part in parts for row in part if not row.closing), *ending.values()))
    return replace(runs[0], delivery=tuple(batches))
