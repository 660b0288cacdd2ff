"""The failing pairs of earlier runs, in the folder of a run's scripts: they are asked first."""

import json
from collections.abc import Mapping
from pathlib import Path

from conformance.model.values import Json, digest
from conformance.subjects.questions import Pair
from conformance.subjects.subject import Subject
from conformance.support.writing import write_whole


def read(folder: Path, subject: Subject) -> dict[str, Pair]:
    """Question (id) -> the pair that failed last; none of a subject whose inputs are others by now, and none of a file
    that nobody can read."""
    try:
        known = json.loads(_file(folder, subject).read_text(encoding="utf-8"))
        if known["inputs"] != _inputs(subject):
            return {}
        return {question: Pair.from_json(pair) for question, pair in known["pairs"].items()}
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return {}


def write(folder: Path, subject: Subject, pairs: Mapping[str, Pair]) -> None:
    """Keeps what failed now, in the place of what failed before."""
    file = _file(folder, subject)
    if not pairs:
        file.unlink(missing_ok=True)
        return
    told = {"inputs": _inputs(subject), "pairs": {question: pair.to_json() for question, pair in pairs.items()}}
    write_whole(file, json.dumps(told))


def _file(folder: Path, subject: Subject) -> Path:
    return folder / "failing" / f"{subject.name}.json"


def _inputs(subject: Subject) -> Json:
    return digest({of: [each.schema, each.time] for of, each in subject.inputs.items()})
