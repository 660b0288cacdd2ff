"""The input of a subject: each micro-batch is a file of JSON, or several."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from conformance.model.values import Json
from conformance.subjects.setup import PLAIN, Given, Setup

if TYPE_CHECKING:
    from conformance.subjects.subject import Subject


def write(subject: Subject, folder: Path, given: Given, numbers: Sequence[int], setup: Setup = PLAIN) -> None:
    """The files of some micro-batches, each input in a folder of its own. A source reads its files in order of
    modification time."""
    for of in subject.inputs:
        place = folder / f"input{'-' if of else ''}{of}"
        place.mkdir(exist_ok=True)
        for number in numbers:
            rows = given[number].get(of, ())
            for part in range(setup.files if rows or not setup.sparse else 0):
                path = place / f"{number:05d}-{part}.json"
                path.write_text("".join(map(_line, rows[part :: setup.files])), encoding="utf-8")
                os.utime(path, (1_600_000_000 + number * setup.files + part,) * 2)


def _line(row: Json) -> str:
    return json.dumps(row, ensure_ascii=False) + "\n"
