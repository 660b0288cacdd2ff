"""Which guarantees stateful stream processing really gives, engine by engine and version by version.

Modules that scenarios, ports and adapters of 0.1 import have moved; their old names still work for them, with a warning.
"""

import importlib
import sys
import warnings
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

MOVED = {
    "conformance.engine": "conformance.model",
    "conformance.equivalence": "conformance.model.equivalence",
    "conformance.guarantees": "conformance.model.scenario",
    "conformance.perturbation": "conformance.model.perturbation",
    "conformance.port": "conformance.plugins.port",
    "conformance.program": "conformance.model.program",
    "conformance.registry": "conformance.plugins.registry",
}
"""Old name -> where what users import of it is now."""


class _Moved(MetaPathFinder, Loader):
    """Finds a module under its old name."""

    def find_spec(self, name: str, path: object, target: object = None) -> ModuleSpec | None:
        return ModuleSpec(name, self) if name in MOVED else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        new = MOVED[spec.name]
        warnings.warn(f"{spec.name} is now {new}; import from there", DeprecationWarning, stacklevel=2)
        module = importlib.import_module(new)
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """The module has been run under its new name, and keeps it."""
        module.__spec__ = module.__spec__ and module.__spec__.loader_state


sys.meta_path.append(_Moved())
