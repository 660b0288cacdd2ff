"""beam-port: a user's stateful DoFn in the place of a program, on the bundle-based DirectRunner under TestStream.

It is driven and proved as beam-direct is, and runs in the windows of the program that it does the job of.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conformance.model.engine import ALL, CannotRun, Family, NativeOperator
from conformance.model.feature import NATIVE, Feature
from conformance.plugins.registry import PortNames, users
from engines.beam.direct import CAPABILITIES, BeamDirect
from engines.beam.port_side import BeamPort

SIDE = "beam"
"""The side of a port that runs here."""

if TYPE_CHECKING:
    from engines.beam.pipeline import Branch

OWN = dict.fromkeys((Feature.MAP, Feature.SET, Feature.BAG, Feature.VALUE, Feature.COMBINING), NATIVE)
"""What a DoFn does without the adapter's help."""


class BeamPortEngine(BeamDirect):
    """The Beam side of a loaded port."""

    def __init__(self, name: str) -> None:
        loaded = users()
        self._port = next(port for port in loaded.ports if port.name == name)
        side = self._port.sides[SIDE]
        assert isinstance(side, BeamPort)
        self._side, words = side, side.words
        self.id, self.title = f"beam-port:{name}", f"{words} on Beam DirectRunner (Python, bundle-based)"
        native_operator = NativeOperator(self._port.ref, words, compared=True)
        self.capabilities = replace(
            CAPABILITIES, features={**CAPABILITIES.features, **OWN}, native_operator=native_operator, packs=ALL
        )
        self.sources = loaded.sources

    def open(self, folder: Path) -> None:
        from engines.beam import port_dofn

        super().open(folder)
        try:
            port_dofn.build(self._port.ref, self._side)
        except Exception as error:
            raise CannotRun(f"port {self._port.name}: {' '.join(str(error).split())}") from error

    def apply(self, branch: Branch) -> Any:
        from engines.beam import port_dofn

        (ref,) = branch.programs
        return branch.run(port_dofn.build(ref, self._side))


FAMILY = Family(BeamPortEngine, PortNames(SIDE), alone=False, all=True, ports=True)
