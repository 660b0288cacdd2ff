"""What a run found of subjects: queries and pipelines that it tests without an oracle."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from conformance.judgement.cell import Verdict
from conformance.support.plain import Plain

FOLDER = "subjects"
"""The folder of a run that has a script for each violated question."""


@dataclass(frozen=True)
class AnswerRecord(Plain):
    """The verdict on one question.

    Attributes:
        question: its id, "" for why the subject could not be tested.
        means: what it means.
        verdict: unsupported where the question was not asked.
        cases: the cases that it was asked about.
        rows: the rows of answers that were compared.
        why: why it was not asked, or what differs in the smallest case.
        script: the text of a file that shows a violation, "" for none.
    """

    question: str
    verdict: Verdict
    means: str = ""
    cases: int = 0
    rows: int = 0
    why: str = ""
    script: str = ""


@dataclass(frozen=True)
class SubjectRecord(Plain):
    """A subject of a run.

    Attributes:
        engine: what asks the subjects of a framework, such as ``spark-subjects``.
        subject: its name.
        summary: what it puts out.
        versions: the framework's, as ``EngineRecord.versions`` has them.
        packed: how its cases ran.
        answers: the verdicts, in the order of the questions.
    """

    engine: str
    subject: str
    summary: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)
    packed: str = ""
    answers: tuple[AnswerRecord, ...] = ()

    def script_of(self, answer: AnswerRecord) -> str:
        """The path of the script that shows a violation, below the folder of the run; "" for none."""
        return f"{FOLDER}/{self.subject}-{answer.question}.py" if answer.script else ""
