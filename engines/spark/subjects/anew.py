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
    own = sys.modules.get(subject.function.__module__)
    module, variable = next(
        ((each, name) for each in (*modules, *filter(None, [own])) for name in _variables(each, subject)), (None, "")
    )
    if module is None or not module.__file__:
        return subject
    with _LOADING:
        copy = _copy(module, Path(module.__file__))
    found = vars(copy).get(variable) if copy else None
    return replace(subject, function=found.function, options=found.options) if found else subject


def _variables(module: ModuleType, subject: Subject) -> list[str]:
    """The variables of a module that have a subject's function, first that of its name."""
    from conformance.subjects.subject import Subject

    found = [
        name for name, each in vars(module).items() if isinstance(each, Subject) and each.function is subject.function
    ]
    return sorted(found, key=lambda name: name != subject.name)


def _copy(module: ModuleType, file: Path) -> ModuleType | None:
    """A module loaded once more, with those in its folder, while others find the modules as they were."""
    there = dict(sys.modules)
    try:
        _leave_out(file)
        spec = importlib.util.spec_from_file_location(module.__name__, file)
        assert spec
        assert spec.loader
        copy = sys.modules[module.__name__] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(copy)
    except Exception:
        return None
    else:
        return copy
    finally:
        _leave_out(file)
        sys.modules.update(there)


def _leave_out(file: Path) -> None:
    """Forget the modules in the folder of a file, and in packages there."""
    for name, module in [*sys.modules.items()]:
        path, ours = Path(getattr(module, "__file__", None) or "/"), name.partition(".")[0] == "conformance"
        if file.parent in (path.parent, path.parent.parent) and not ours and name != "__main__":
            sys.modules.pop(name, None)
