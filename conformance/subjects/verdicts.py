"""What is asked of a subject, and what is said of it: options, verdicts, reports."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum

from conformance.model.values import Json
from conformance.subjects.questions import Pair
from conformance.subjects.rows import Row
from conformance.support.plain import Plain


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


def held(before: Finding, cases: int, rows: int) -> Finding:
    """The finding on a question that holds for some more cases."""
    return replace(before, verdict=Verdict.HOLDS, cases=before.cases + cases, rows=before.rows + rows, why="")


def in_words_of(batch: str, means: str) -> str:
    """What a question means, for users who call a micro-batch ``batch``."""
    several = batch + ("es" if batch.endswith("ch") else "s")
    for words, mine in (("micro-batches", several), ("micro-batch", batch)):
        means = means.replace(words, mine).replace(words.capitalize(), mine.capitalize())
    return means
