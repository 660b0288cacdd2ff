"""Digests of what was run: of a program, of a scenario's modules, and of the harness's own code that drives engines.

The digest of a program covers the program's values, the byte code of its callbacks, and everything that this code refers to by
name: functions, classes and constants, also of other modules. Predicates beside the program are left out unless the program uses
them. So a changed predicate leaves the digest as it is, and a changed constant of the program does not. Python's release is not
part of the digest, although it decides the byte code: whoever keeps something by this digest keeps it by Python's release, too.
"""

from __future__ import annotations

import functools
import re
import sys
import types
from collections.abc import Iterable, Mapping
from enum import Enum
from pathlib import Path
from typing import Any

from conformance.model.program import Program
from conformance.model.scenario import Scenario
from conformance.model.values import Json, digest
from conformance.plugins.adapter import modules_digest, source_digest
from conformance.plugins.points import PACKAGE, registered
from conformance.plugins.registry import users

DRIVING = ("model", "plugins", "execution")
"""The packages of the harness that decide what an engine is given, and how its answer is read."""

JUDGING = (*DRIVING, "generation", "judgement")
"""The packages of the harness that decide which cases are drawn."""


class Untold(Exception):
    """A program refers to a value that has no digest. The message says which."""


_of_programs: dict[int, tuple[Program, str]] = {}
"""The digests of the programs that were asked for, by id, beside the program that has it: every engine of a run asks for the same."""


def program_digest(program: Program) -> str:
    """Twelve hex digits that identify what a program does.

    Raises:
        Untold: the program refers to a value whose content cannot be read, such as an open file.
    """
    if id(program) not in _of_programs:
        _of_programs[id(program)] = program, digest(_Teller().told(program))
    return _of_programs[id(program)][1]


def judged_digest(scenario: Scenario) -> str:
    """Twelve hex digits that identify a scenario as it judges: its programs, predicates and promises.

    Raises:
        Untold: as ``program_digest``.
    """
    return digest(_Teller().told([scenario.programs, scenario.guarantees, scenario.stable_under]))


def scenario_digest(scenario: str) -> str:
    """Twelve hex digits that identify the modules of a scenario (an id): its own, and all that these import from packages with
    scenarios. The digest of a scenario of the user's covers all of the user's files."""
    points = registered("scenarios")
    if scenario not in points:
        return digest({path.name: source_digest(path) for path in users().sources})
    packages = frozenset(point.module.partition(".")[0] for point in points.values()) - {PACKAGE}
    return modules_digest([points[scenario].module], packages)


@functools.cache
def harness_digest(packages: tuple[str, ...]) -> str:
    """Twelve hex digits that identify the code of some of the harness's packages."""
    root = Path(__file__).parents[1]
    files = [root / "results" / "tables.py", *(path for name in packages for path in (root / name).rglob("*.py"))]
    return digest({str(path.relative_to(root)): source_digest(path) for path in files})


class _Teller:
    """Tells values as JSON. A value that was told before is told by its number, so that circles end."""

    def __init__(self) -> None:
        self._known: dict[int, int] = {}
        self._kept: list[Any] = []  # a value that is gone could give its id to another one

    def told(self, value: Any) -> Json:
        if isinstance(value, Enum):
            return [_name(type(value)), value.name]
        if value is None or isinstance(value, (bool, int, float, complex, str, bytes, range, slice)) or value is ...:
            return [type(value).__name__, repr(value)]
        if isinstance(value, (tuple, frozenset, types.CodeType)):  # two equal constants may be one object, or may not
            return self._new(value)
        if id(value) in self._known:
            return ["told", self._known[id(value)]]
        self._known[id(value)] = len(self._known)
        self._kept.append(value)
        return self._new(value)

    def _new(self, value: Any) -> Json:
        if isinstance(value, (list, tuple)):
            return [type(value).__name__, [self.told(item) for item in value]]
        if isinstance(value, (set, frozenset)):
            return ["set", sorted(str(_Teller().told(item)) for item in value)]
        if isinstance(value, Mapping):
            return ["mapping", [[self.told(key), self.told(item)] for key, item in value.items()]]
        if isinstance(value, re.Pattern):
            return ["pattern", repr(value.pattern), value.flags]
        if isinstance(value, types.ModuleType):
            return _module(value)
        if isinstance(value, (staticmethod, classmethod)):
            return [type(value).__name__, self.told(value.__func__)]
        if isinstance(value, property):
            return ["property", [self.told(part) for part in (value.fget, value.fset, value.fdel)]]
        if isinstance(value, functools.partial):
            return ["partial", [self.told(part) for part in (value.func, value.args, value.keywords)]]
        if isinstance(value, types.MethodType):
            return ["method", self.told(value.__func__), self.told(value.__self__)]
        if isinstance(value, types.CodeType):
            return self._code(value)
        if isinstance(value, types.FunctionType):
            return self._function(value)
        if isinstance(value, type):
            return self._class(value)
        if isinstance(value, (types.BuiltinFunctionType, types.MemberDescriptorType, types.GetSetDescriptorType)):
            return ["builtin", value.__qualname__]
        return self._instance(value)

    def _function(self, function: types.FunctionType) -> Json:
        if not _is_own(function.__module__):
            return _foreign(function.__module__, function.__qualname__)
        cells = [cell.cell_contents for cell in function.__closure__ or ()]
        values = [function.__defaults__, function.__kwdefaults__, cells]
        used = {}
        for name in sorted(_names(function.__code__)):
            if name in function.__globals__:
                used[name] = self.told(function.__globals__[name])
            elif (module := sys.modules.get(name)) and _is_own(name):
                used[name] = self.told(module)  # imported within the function
        return ["function", self.told(function.__code__), [self.told(value) for value in values], used]

    def _code(self, code: types.CodeType) -> Json:
        plain = [code.co_code, code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars, code.co_flags]
        plain.append(getattr(code, "co_exceptiontable", b""))
        return ["code", repr(plain), [self.told(constant) for constant in code.co_consts]]

    def _class(self, kind: type) -> Json:
        if not _is_own(kind.__module__):
            return _foreign(kind.__module__, kind.__qualname__)
        left_out = {
            "__doc__",
            "__module__",
            "__dict__",
            "__weakref__",
            "__firstlineno__",
            "__static_attributes__",
            "_abc_impl",
        }
        content = {name: self.told(value) for name, value in vars(kind).items() if name not in left_out}
        return ["class", kind.__qualname__, [self.told(base) for base in kind.__bases__], content]

    def _instance(self, value: Any) -> Json:
        kind = type(value)
        slots = [name for base in kind.__mro__ for name in _slots(base) if hasattr(value, name)]
        if not hasattr(value, "__dict__") and not slots:
            if _is_own(kind.__module__) or kind is object:
                return ["instance", self.told(kind)]
            try:
                return ["made by", self.told(value.__reduce_ex__(4))]
            except TypeError:
                raise Untold(f"a value of {_name(kind)}") from None
        content = {name: self.told(getattr(value, name)) for name in slots} | {
            name: self.told(item) for name, item in getattr(value, "__dict__", {}).items()
        }
        return ["instance", self.told(kind), content]


def _names(code: types.CodeType) -> set[str]:
    """The names that a function's code, and the code within it, may look up in its module."""
    inner = (constant for constant in code.co_consts if isinstance(constant, types.CodeType))
    return set(code.co_names).union(*map(_names, inner))


def _slots(kind: type) -> Iterable[str]:
    slots = vars(kind).get("__slots__", ())
    return (slots,) if isinstance(slots, str) else slots


def _name(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


def _module(module: types.ModuleType) -> Json:
    name = module.__name__
    if not _is_own(name):
        return _foreign(name, "")
    file = getattr(module, "__file__", None)
    if file and not name.startswith("loaded_"):
        return ["module", name, modules_digest([name], frozenset([name.partition(".")[0]]))]
    return ["module", source_digest(Path(file))] if file else ["module", name]


def _foreign(module: str, name: str) -> Json:
    """A name of another package. The package's version stands for its content. The harness's own code, and Python's, have digests
    and versions elsewhere."""
    top = sys.modules.get(module.partition(".")[0])
    return ["of", module, name, str(getattr(top, "__version__", ""))]


def _is_own(module: str | None) -> bool:
    """Whether a module belongs to the author of scenarios, and not to Python, to the harness or to an installed package."""
    top = (module or "").partition(".")[0]
    if not top or top == PACKAGE or top in sys.stdlib_module_names:
        return False
    if top in _with_scenarios():
        return True
    file = str(getattr(sys.modules.get(top), "__file__", None) or "")
    return not re.search(r"[/\\](site|dist)-packages[/\\]", file)


def _with_scenarios() -> frozenset[str]:
    return frozenset(point.module.partition(".")[0] for point in registered("scenarios").values()) - {PACKAGE}
