"""What is wrong with a pair of runs."""

import time
from collections.abc import Callable, Mapping
from dataclasses import replace

from conformance.subjects.answers import Ran, difference
from conformance.subjects.questions import (
    AGAIN,
    BOUNDED,
    OTHERS,
    SAME,
    STATE,
    TAKES_NO_RUN,
    NotAsked,
    Pair,
    Question,
    Run,
    Seen,
    of_its_keys,
    same,
)
from conformance.subjects.rows import CLOSING, rows_in
from conformance.subjects.runs import Runs
from conformance.subjects.setup import NOBODY, PREVIOUS, Setup

RESERVED = 20
"""The seconds of a budget that are kept for the reduction of a failure; of a small one a quarter."""

REPEATS, PATIENCE = 3, 3.0
"""How often each run of a pair that fails is made again, before what differs between the two is blamed; once where that
takes more seconds."""

FAILS = "the query fails: "
"""What is said of a run that ended with an error."""

BY_THE_CLOCK = (
    "the answer differs, and its timers go by the clock (processing time): nothing tells which of the two it is"
)
"""Why nothing is said of what may differ because it took longer."""


class OutOfTime(Exception):
    """The budget is spent."""


class Refused(Exception):
    """The engine refuses a next version. The message is the engine's."""


class Budget:
    """Seconds that are spent from now on; None for any number."""

    def __init__(self, seconds: float | None, clock: Callable[[], float] = time.monotonic) -> None:
        self.seconds, self.clock = seconds, clock
        self._begun = clock()

    @property
    def spent(self) -> float:
        return self.clock() - self._begun

    @property
    def left(self) -> float:
        return float("inf") if self.seconds is None else self.seconds - self.spent

    def has(self, part: float = 1) -> bool:
        """Whether there is time for more than a part of what is kept for the reduction of a failure."""
        return self.left > part * min(RESERVED, (self.seconds or 0) / 4)

    def check(self, part: float = 1) -> None:
        """Raises OutOfTime."""
        if not self.has(part):
            raise OutOfTime


class Judging:
    """What is wrong with pairs of a subject. ``passes``: its closing rows move the watermark past everything."""

    def __init__(self, runs: Runs) -> None:
        self.runs = runs
        self.passes = True

    def failures(self, question: Question, pair: Pair) -> tuple[dict[int, str], int, int]:
        """(case -> what is wrong, the cases asked, the rows compared). A question about runs has one entry for all."""
        packed = self.runs.packed
        plain = self.runs.run(pair.plain, packed)
        varied = plain if question in TAKES_NO_RUN else self.runs.run(pair.varied, packed, anew=True)
        return self.judged(question, pair, plain, varied, packed)

    def judged(
        self, question: Question, pair: Pair, plain: Ran, varied: Ran, packed: bool
    ) -> tuple[dict[int, str], int, int]:
        """What ``failures`` says, of two runs that were made."""
        if question in (STATE, BOUNDED) and not self.passes:
            raise NotAsked("no row that it keeps moves its watermark past everything")
        subject = self.runs.subject
        if question is SAME and self.runs.other and not subject.own_key and subject.output.mode == "append":
            raise NotAsked("without a key, what comes out for the last rows is not told from what the cases answer")
        if varied.error and (varied.refused or (question.refusable and not pair.varied.setup.begun)):
            raise NotAsked(f"refused: {varied.error}")
        if varied.error and question.versions:
            raise Refused(varied.error)
        if plain.error:
            return {}, 0, 0
        asked = sorted({row.case for row in rows_in(pair.plain.delivery) if row.case >= 0}) or [0]
        if varied.error:
            return {asked[0] if packed else 0: FAILS + varied.error}, len(asked), 0
        if question is SAME:
            self.runs.named_alike(plain, varied)
        before, after = self.runs.cases(plain, packed), self.runs.cases(varied, packed)
        wrong: dict[int, str] = {}
        compared = 0
        if question.of_runs:
            if said := question.judge(pair, Seen((), plain), Seen((), varied)):
                wrong[CLOSING] = said
        else:
            for case in asked if packed else [0]:
                seen = Seen(before.get(case, ()), plain), Seen(after.get(case, ()), varied)
                if question is OTHERS and not packed:
                    seen = of_its_keys(pair, subject.own_key, *seen)
                compared += len(seen[0].rows)
                if said := question.judge(pair, *seen):
                    wrong[case if packed else self._where(plain, varied)] = said
        if wrong and (plain.clocked or varied.clocked):
            raise NotAsked(BY_THE_CLOCK)
        return wrong, len(asked), compared

    def _where(self, plain: Ran, varied: Ran) -> int:
        """A case of a stream whose rows differ, if their keys tell; else 0."""
        before, after = (self.runs.cases(ran, bool(self.runs.subject.own_key)) for ran in (plain, varied))
        differing = [case for case in {*before, *after} if difference(before.get(case, ()), after.get(case, ()))]
        return max(differing, default=0)

    def otherwise(self, run: Run, packed: bool) -> dict[int, str]:
        """Case -> how it is answered otherwise, where a run is made once more in the same way."""
        once, again = (self.runs.run(run, packed, anew) for anew in (False, True))
        if once.error and not again.error:
            once, again = again, once
        return self.judged(AGAIN, Pair(run, run), once, again, packed)[0]

    def unsteady(self, pair: Pair, packed: bool, times: int = REPEATS) -> tuple[Run, dict[int, str]] | None:
        """A run of a pair's rows that does not answer each time alike, and what differs; None where none was seen. Each
        such run is made in the plain way: a restart, or a setting, may be why another one is not steady."""
        plain = replace(pair.plain, setup=Setup(passed=pair.plain.setup.passed))
        as_plain = pair.varied.setup == Setup(passed=pair.varied.setup.passed)
        begun = time.monotonic()
        for _ in range(times):
            for run in (plain, pair.varied) if as_plain else (plain,):
                if wrong := self.otherwise(run, packed):
                    return run, wrong
            if time.monotonic() - begun > PATIENCE:
                return None
        return None

    def fails(self, question: Question, pair: Pair) -> str:
        """What is wrong with a pair by itself, "" for nothing."""
        runs = self.runs
        pair = question.fair(pair, runs.subject.keys)
        try:
            plain = runs.run(runs.closed(pair.plain), packed=False)
            takes_none = question in TAKES_NO_RUN
            varied = plain if takes_none else runs.run(runs.closed(pair.varied), packed=False, anew=True)
            wrong, _, _ = self.judged(question, pair, plain, varied, packed=False)
        except (NotAsked, Refused):
            return ""
        return next(iter(wrong.values()), "")

    def must_tell(self, question: Question, pair: Pair) -> None:
        """Raises NotAsked where a query that begins behind the restart answers like one that had always run: then no
        case shows that state was kept."""
        anew = replace(pair, varied=replace(pair.varied, setup=replace(pair.varied.setup, by=NOBODY)))
        if not self.failures(replace(question, judge=same), anew)[0]:
            raise NotAsked(
                "no case tells a state that is kept from one that is gone: give rows that meet (--sample, values=)"
            )

    def what_of_the_state(self, pair: Pair) -> str:
        """What became of the previous version's state in a pair that fails, as the beginning of a sentence; "" without
        such a version."""
        runs, setup = self.runs, pair.varied.setup
        if setup.by != PREVIOUS:
            return ""
        varied = runs.run(runs.closed(pair.varied), packed=False)
        if varied.exchanged:
            return ""
        anew = replace(pair.varied, setup=replace(setup, by=NOBODY))
        fresh = runs.run(runs.closed(anew), packed=False)
        if varied.error or fresh.error:
            return ""
        gone = not difference(runs.cases(varied, False)[0], runs.cases(fresh, False)[0])
        return "the state is silently gone: " if gone else ""


def error_in(said: Mapping[int, str] | str) -> str:
    """The kind of error in what is wrong with a pair, the first word of it; "" for answers that differ."""
    if not isinstance(said, str):
        return next(filter(None, map(error_in, said.values())), "")
    return said.removeprefix(FAILS).partition(" ")[0] if said.startswith(FAILS) else ""
