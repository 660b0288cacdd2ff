"""The digest of an engine's adapter: of the statements of its own modules.

A confirmation of a witness is valid as long as the adapter does the same. The digest covers the statements of the
adapter's modules, without comments, blank lines and docstrings. No module is imported for it. Imports, also inside
functions, lead from module to module within the packages that engines come from. ``conformance.engines`` is one of
these, the rest of ``conformance`` is not.

A module that decides how much is run, and not what an engine does, says ``ADAPTER = False`` at its top level. The
digest leaves it out.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from threading import RLock
from typing import Any

from conformance.model.engine import Engine, Revised, Sourced
from conformance.model.values import digest
from conformance.plugins.points import PACKAGE, package_of, registered

LEFT_OUT = "ADAPTER"
"""A module that sets this name to False at its top level does not belong to an adapter."""


def adapter_digest(engine: Engine) -> str:
    """Twelve hex digits that identify an engine's adapter.

    The digest covers the modules of the engine's class, of its base classes and of its entry point; all modules that
    these import; the Java files beside them that they name; and the files that the engine lists in ``sources``. If the
    engine has a ``revision``, a text, the digest covers that text in place of the modules.
    """
    sources = {path.name: _Source.of(path) for path in (engine.sources if isinstance(engine, Sourced) else ())}
    parts = {name: source.digest for name, source in sources.items()}
    if isinstance(engine, Revised):
        return digest(parts | {"revision": engine.revision})
    points = registered("engines")
    begun = {kind.__module__ for kind in type(engine).__mro__}
    begun |= {point.module for name, point in points.items() if name == re.split("[:@]", engine.id)[0]}
    packages = frozenset(map(package_of, [type(engine).__module__, *(point.module for point in points.values())])) - {
        PACKAGE
    }
    for module, path in _closure(begun, list(sources.values()), packages).items():
        source = _Source.of(path)
        parts[module] = source.digest
        parts |= {java.name: _digest_of_java(java.read_text("utf-8")) for java in _java_beside(path, source)}
    return digest(parts)


def modules_digest(modules: Iterable[str], packages: frozenset[str]) -> str:
    """Twelve hex digits that identify some modules, and all modules of these packages that they import."""
    found = _closure(modules, [], packages)
    return digest({module: source_digest(path) for module, path in found.items()})


def source_digest(path: Path) -> str:
    """Twelve hex digits that identify the statements of a source file."""
    return _Source.of(path).digest


@dataclass(frozen=True)
class _Source:
    """A source file: a digest of its statements, and the names in it.

    Attributes:
        imports: (level, module, name) of each import; level and name are 0 and "" for ``import module``.
        texts: the string constants in the file, without docstrings.
        left_out: whether the file says ``ADAPTER = False``.
    """

    digest: str
    imports: tuple[tuple[int, str, str], ...] = ()
    texts: frozenset[str] = frozenset()
    left_out: bool = False

    @classmethod
    def of(cls, path: Path) -> _Source:
        text = path.read_text(encoding="utf-8")
        return _parsed(text) if path.suffix == ".py" else cls(digest(text))


PARSER = RLock()
"""CPython 3.11 fails ("AST constructor recursion depth mismatch") if two threads have syntax trees made at the same
time."""


@cache
def _parsed(text: str) -> _Source:
    with PARSER:
        tree = ast.parse(text)
    found = _Statements()
    told = found.told(tree)
    assigned = (ast.unparse(statement) for statement in tree.body if isinstance(statement, ast.Assign))
    return _Source(digest(told), tuple(found.imports), frozenset(found.texts), f"{LEFT_OUT} = False" in assigned)


class _Statements:
    """What a syntax tree says, docstrings left out: see ``_Source``."""

    def __init__(self) -> None:
        self.imports: list[tuple[int, str, str]] = []
        self.texts: set[str] = set()

    def told(self, node: Any) -> Any:
        """A node as plain data. ``ast.dump`` would give another text in each version of Python."""
        if not isinstance(node, ast.AST):
            return [self.told(part) for part in node] if isinstance(node, list) else repr(node)
        if isinstance(node, ast.Import):
            self.imports += [(0, alias.name, "") for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            self.imports += [(node.level, node.module or "", alias.name) for alias in node.names]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            self.texts.add(node.value)
        parts = {}
        for name in node._fields:
            value = getattr(node, name, None)
            if isinstance(value, list):
                value = [part for part in value if not _is_docstring(part)] or None
            if value is not None:
                parts[name] = self.told(value)
        return [type(node).__name__, parts]


def _is_docstring(node: Any) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _closure(begun: Iterable[str], sources: Iterable[_Source], packages: frozenset[str]) -> dict[str, Path]:
    """Module -> file, for all modules within the packages that imports lead to from some modules and files."""
    found: dict[str, Path] = {}
    waiting = {module for module in begun if package_of(module) in packages}
    waiting |= {module for source in sources for module in _named(source, "", False, packages)}
    while waiting:
        module = waiting.pop()
        path = None if module in found else _file_in(module)
        if path and not (source := _Source.of(path)).left_out:
            found[module] = path
            waiting |= {*_named(source, module, path.name == "__init__.py", packages)}
    return dict(sorted(found.items()))


def _named(source: _Source, module: str, is_package: bool, packages: frozenset[str]) -> Iterator[str]:
    """The imported names that may be modules, and the packages around them and around the importing module."""
    names = {module}
    for level, base, name in source.imports:
        if level:
            above = module.split(".")[: len(module.split(".")) - level + is_package]
            base = ".".join([*above, base] if base else above)
        names |= {base, f"{base}.{name}"} if name else {base}
    for name in names:
        if (package := package_of(name)) in packages:
            parts = name.split(".")
            yield from (".".join(parts[:n]) for n in range(package.count(".") + 1, len(parts) + 1))


def _file_in(module: str) -> Path | None:
    """The file of a module, which is not imported for it; None if there is no such module or it has no source."""
    if loaded := getattr(sys.modules.get(module), "__file__", None):
        return Path(loaded) if loaded.endswith(".py") else None
    top, *rest = module.split(".")
    try:
        spec = find_spec(top)
    except ValueError:  # a module made by hand has no spec
        return None
    if spec and not rest:
        return Path(spec.origin) if spec.origin and spec.origin.endswith(".py") else None
    paths = [Path(folder, *rest) for folder in (spec and spec.submodule_search_locations) or ()]
    files = (file for path in paths for file in (path.with_suffix(".py"), path / "__init__.py"))
    return next((file for file in files if file.is_file()), None)


def _java_beside(path: Path, source: _Source) -> list[Path]:
    """The Java files in a module's folder that a string constant of the module names, by file or by class."""
    words = {word for text in source.texts for word in re.findall(r"\w+", text)}
    return [java for java in sorted(path.parent.glob("*.java")) if java.stem in words]


JAVA = re.compile(r'//[^\n]*|/\*.*?\*/|\s+|("(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'|\w+|.)', re.DOTALL)
"""A comment, white space, or (in the group) a word, a string or a sign of Java."""


@cache
def _digest_of_java(text: str) -> str:
    return digest([sign for sign in JAVA.findall(text) if sign])
