"""A user's file, loaded once more: a query that begins again in another process finds nothing of what its modules kept
in memory."""

from __future__ import annotations

import importlib.util
import sys
import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from conformance.subjects.found import subjects_in
from conformance.subjects.scripts import forget_modules_in

if TYPE_CHECKING:
    from conformance.subjects.subject import Subject

_LOADING = threading.Lock()


def begun_anew(subject: Subject, modules: Sequence[ModuleType]) -> Subject:
    """The subject of a fresh copy of its file, and of the modules beside that; the subject itself where no file is
    known, or where the file cannot be loaded twice."""
    own = sys.modules.get(subject.function.__module__)
    there = [
        (module, each.name)
        for module in (*modules, own)
        if module
        for each in subjects_in(module)
        if each.function is subject.function
    ]
    if not there:
        return subject
    module, variable = next((found for found in there if found[1] == subject.name), there[0])
    with _LOADING:
        copy = _copy(module)
    found = next((each for each in subjects_in(copy) if each.name == variable), subject) if copy else subject
    return replace(subject, function=found.function, options=found.options)


def _copy(module: ModuleType) -> ModuleType | None:
    """A module loaded once more, with those in its folder, while others find the modules as they were; None where that
    cannot be."""
    spec, there = module.__spec__, dict(sys.modules)
    if spec is None or spec.loader is None or not spec.origin:
        return None
    folder = Path(spec.origin).parent
    try:
        forget_modules_in(folder)
        copy = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(copy)
    except Exception:
        return None
    else:
        return copy
    finally:
        forget_modules_in(folder)
        sys.modules.update(there)
