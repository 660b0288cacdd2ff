"""Digests of what was run: of a program, of a scenario's modules, and of the harness's own code that drives engines.

The digest of a program covers its source with all that this needs of its author's modules, without comments and
annotations, and the values of its parameters and constants. Predicates beside the program are left out unless the
program uses them. So a changed predicate leaves the digest as it is, and a changed constant of the program does not.
Python's release and the harness's code have digests elsewhere.
"""

import functools
import re
import sys
from importlib.util import find_spec
from pathlib import Path

from conformance.model.export import CannotExport
from conformance.model.program import Program
from conformance.model.values import canonical, digest
from conformance.plugins.adapter import PARSER, modules_digest, source_digest
from conformance.plugins.inlined import Inlined
from conformance.plugins.points import PACKAGE, package_of, registered

DRIVING = ("model", "plugins", "execution")
"""The packages of the harness that decide what an engine is given, and how its answer is read."""

JUDGING = (*DRIVING, "generation", "judgement")
"""The packages of the harness that decide which cases are drawn."""


class Untold(Exception):
    """A program cannot be told from a changed one. The message says why."""


@functools.cache
def program_digest(program: Program) -> str:
    """Twelve hex digits that identify what a program does.

    Raises:
        Untold: its source cannot be read, or one of its own values is not JSON.
    """
    found = Inlined(own=_is_own)
    try:
        with PARSER:
            found.add(type(program))
        parameters = canonical(vars(program))
    except (CannotExport, TypeError, ValueError) as error:
        raise Untold(str(error)) from None
    packages = {line.split()[1].partition(".")[0] for line in found.imports}
    versions = {name: str(getattr(sys.modules.get(name), "__version__", "")) for name in packages}
    modules = {name: modules_digest([name], frozenset([package_of(name)])) for name in found.modules}
    return digest([found.definitions, sorted(found.imports), found.values, parameters, versions, modules])


@functools.cache
def harness_digest(packages: tuple[str, ...]) -> str:
    """Twelve hex digits that identify the code of some of the harness's packages."""
    root = Path(__file__).parents[1]
    files = [root / "results" / "tables.py", *(path for name in packages for path in (root / name).rglob("*.py"))]
    return digest({str(path.relative_to(root)): source_digest(path) for path in files})


def _is_own(module: str) -> bool:
    """Whether a module belongs to the author of scenarios, and not to Python, to the harness or to an installed
    package."""
    package = package_of(module)
    if package == PACKAGE or package in sys.stdlib_module_names:
        return False
    with_scenarios = package in _with_scenarios()
    if with_scenarios or module.startswith(f"{PACKAGE}."):
        return with_scenarios
    spec = find_spec(package)
    places = [spec.origin or "", *(spec.submodule_search_locations or ())] if spec else ["/site-packages/"]
    return not re.search(r"[/\\](site|dist)-packages[/\\]", " ".join(places))


def _with_scenarios() -> frozenset[str]:
    return frozenset(package_of(point.module) for point in registered("scenarios").values()) - {PACKAGE}
