"""Queries and pipelines: the subjects of a run against the questions, a table for each framework."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from conformance.judgement.cell import Verdict
from conformance.results.results import Results
from conformance.results.subject import SubjectRecord


@dataclass(frozen=True)
class Table:
    """The subjects of a framework.

    Attributes:
        title: the framework, with its release.
        questions: id -> what it means, in their order.
        failed: (subject, question, why, path of the script) of what is violated or failed.
    """

    title: str
    questions: Mapping[str, str]
    records: list[SubjectRecord]
    failed: tuple[tuple[str, str, str, str], ...]


def tables(results: Results) -> Iterator[Table]:
    for engine in dict.fromkeys(record.engine for record in results.subjects):
        mine = [record for record in results.subjects if record.engine == engine]
        questions = {answer.question: answer.means for record in mine for answer in record.answers if answer.question}
        yield Table(
            ", ".join(" ".join(version) for version in mine[0].versions.items()),
            questions,
            mine,
            tuple(
                (record.subject, answer.question, answer.why, record.script_of(answer))
                for record in mine
                for answer in record.answers
                if answer.verdict in (Verdict.VIOLATED, Verdict.ERROR)
            ),
        )
