"""A user's file, loaded once more: a query that begins again in another process finds nothing of what its modules kept
in memory."""

from __future__ import annotations

import importlib.util
import sys
import threading
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from conformance.subjects.subject import Subject

_LOADING = threading.Lock()


def begun_anew(subject: Subject, modules: Iterable[ModuleType]) -> Subject:
    """The subject of a fresh copy of its file, and of the modules beside that; the subject itself where no file is
    known, or where the file cannot be loaded twice."""
    module = next((m for m in modules if _subject_in(m, subject.name, subject.function)), None)
    if module is None or not module.__file__:
        return subject
    with _LOADING:
        there = dict(sys.modules)
        for name in _beside(Path(module.__file__)):
            del sys.modules[name]
        try:
            spec = importlib.util.spec_from_file_location(module.__name__, module.__file__)
            assert spec
            assert spec.loader
            copy = sys.modules[module.__name__] = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(copy)
            found = _subject_in(copy, subject.name)
        except Exception:
            return subject
        finally:
            for name in _beside(Path(module.__file__)):
                del sys.modules[name]
            sys.modules.update(there)
    return replace(subject, function=found.function, options=found.options) if found else subject


def _subject_in(module: ModuleType, name: str, function: object = None) -> Subject | None:
    from conformance.subjects.subject import Subject

    found = (each for each in vars(module).values() if isinstance(each, Subject) and each.name == name)
    return next((each for each in found if function is None or each.function is function), None)


def _beside(file: Path) -> list[str]:
    """The names of the modules in the folder of a file."""
    return [
        name
        for name, module in sys.modules.items()
        if name != "__main__"
        and (path := getattr(module, "__file__", None))
        and (Path(path).parent == file.parent or Path(path).parent.parent == file.parent)
        and not name.startswith("conformance")
    ]
