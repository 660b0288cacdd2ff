"""The subjects of a user's file or module, and the engines that run them."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import ModuleType
from typing import Any

from conformance.plugins.loading import loaded_modules
from conformance.plugins.points import load, registered
from conformance.subjects.driver import Driver
from conformance.subjects.schema import InvalidSubject
from conformance.subjects.subject import Subject, next_version
from conformance.support.naming import instead, unknown


def subjects_in(module: ModuleType) -> list[Subject]:
    """The subjects that a module has, in the order in which they stand there. A subject is called as the variable that
    it is kept in."""
    return [replace(value, name=name) for name, value in vars(module).items() if isinstance(value, Subject)]


def chosen(found: Sequence[Subject], names: Sequence[str], where: str) -> list[Subject]:
    """The subjects of these names, all without a name.

    Raises:
        InvalidSubject: there is none, or none of a name.
    """
    if not found:
        raise InvalidSubject(
            f"{where} has no subject: put @subject(schema=…, key=…) of `from conformance import subject` above a "
            "function"
        )
    there = {each.name: each for each in found}
    for name in names:
        if name not in there:
            raise InvalidSubject(f"{where}: {unknown('subject', name, there)}")
    return [there[name] for name in names] if names else list(found)


def paired(
    before: Sequence[Subject],
    there: Sequence[Subject],
    name: str,
    where: str,
    pair: Callable[[Subject, Subject], Subject] = next_version,
) -> list[Subject]:
    """Each subject with its next version, or with the query that must answer alike, as ``pair`` makes one of two: that
    of a name, or of the same name, or the only one there.

    Raises:
        InvalidSubject: a subject has none.
    """
    if name and len(before) > 1:
        raise InvalidSubject(f"the second query has a name ({name}); name the first one, too: FILE::NAME")
    found = []
    for subject in before:
        wanted = name or (there[0].name if len(there) == 1 else subject.name)
        [mine] = chosen(there, [wanted], where)
        found.append(pair(subject, mine))
    return found


def files_of_subjects() -> list[str]:
    """Those of the loaded files that have subjects."""
    return [name for name, module in loaded_modules().modules.items() if subjects_in(module) and name.endswith(".py")]


def drivers() -> dict[str, Driver]:
    """The registered engines of subjects, by name."""
    return {name: load(point) for name, point in registered("subjects").items()}


def keeps_checkpoints(package: str) -> bool:
    """Whether an engine of subjects of a package keeps checkpoints that another version, or release, can go on from."""
    mine = [driver for driver in drivers().values() if driver.package == package]
    return any(question.versions for driver in mine for question in driver.questions)


def driver_of(subject: Subject, known: Mapping[str, Driver]) -> str:
    """The name of the engine that runs a subject: the one that it names, or whose type the function is annotated with,
    or the only one.

    Raises:
        InvalidSubject: there is no such engine, or nothing tells which.
    """
    if subject.engine:
        if subject.engine not in known:
            raise InvalidSubject(f"subject {subject.name}: {unknown('engine', subject.engine, known)}")
        return subject.engine
    try:
        signature = inspect.signature(subject.function)
    except (TypeError, ValueError):
        signature = inspect.Signature()
    said = [signature.return_annotation, *(parameter.annotation for parameter in signature.parameters.values())]
    words = " ".join(_words(annotation) for annotation in said)
    module = getattr(subject.function, "__globals__", {})
    for name, driver in known.items():
        if driver.annotation in words:
            return name
    found = [name for name, driver in known.items() if driver.package.replace("-", "_") in _imported(module)]
    if len(found) == 1:
        return found[0]
    if len(known) == 1:
        return next(iter(known))
    raise InvalidSubject(
        f"subject {subject.name}: nothing tells which engine runs it; annotate its argument, or say engine=…: "
        f"{instead('', known)}"
    )


def _words(annotation: Any) -> str:
    return "" if annotation is inspect.Signature.empty else str(getattr(annotation, "__name__", annotation))


def _imported(module: Mapping[str, Any]) -> set[str]:
    """The packages that the names of a module come from."""
    found = set()
    for value in module.values():
        origin = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", "")
        found.add(str(origin).partition(".")[0])
    return found
