"""The words that the scripts of every framework have in the place of names."""

import os
from pathlib import Path
from typing import Any

from conformance.subjects.questions import FIRST, LAST, Pair
from conformance.subjects.scripts import moving_back
from conformance.subjects.subject import Subject


def path_from(out: Path, file: Path) -> str:
    """The path of a file, or of a folder, from the folder of a script."""
    return os.path.relpath(file.resolve(), out.resolve().parent)


def words_of(subject: Subject, pair: Pair, title: str, file: Path, out: Path, version: str) -> dict[str, Any]:
    """What stands in the place of names in a script ``out`` about the function of a file, whatever the framework."""
    return {
        "title": title,
        "file": out.name,
        "version": version,
        "folder": path_from(out, file.parent),
        "module": file.stem,
        "path": path_from(out, file),
        "name": subject.name,
        "ignored": list(subject.output.ignored),
        "back": moving_back(),
        "moved": pair.varied.moved,
        "first": FIRST,
        "last_time": LAST,
    }
