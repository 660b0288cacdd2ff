"""beam-port, beam-fnapi-port and beam-prism-port: a user's stateful DoFn in the place of a program.

Each is driven and proved as beam-direct, beam-fnapi and beam-prism are. The DoFn runs in the windows of the program
that it does the job of.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conformance.engines.beam.ports.side import BeamPort
from conformance.engines.beam.runners.direct import BeamDirect
from conformance.engines.beam.runners.environment import OfBeam
from conformance.engines.beam.runners.fnapi import BeamFnApi
from conformance.engines.beam.runners.prism import BeamPrism
from conformance.model.engine import CannotRun, Capabilities, Family, NativeOperator
from conformance.model.feature import NATIVE, Feature
from conformance.plugins.registry import PortNames, users

SIDE = "beam"
"""The side of a port that runs here."""

if TYPE_CHECKING:
    from conformance.engines.beam.pipelines.pipeline import Branch

OWN = dict.fromkeys((Feature.MAP, Feature.SET, Feature.BAG, Feature.VALUE, Feature.UNTYPED, Feature.COMBINING), NATIVE)
"""What a DoFn does without the adapter's help."""


class OfPort(OfBeam):
    """The Beam side of a loaded port, on the engine that a subclass derives from as well.

    Attributes:
        family: the name of the engine's entry point.
    """

    asks: tuple[str, ...] = ()
    family: str
    id: str
    title: str
    capabilities: Capabilities

    def __init__(self, name: str) -> None:
        super().__init__()
        loaded = users()
        self._port = next(port for port in loaded.ports if port.name == name)
        side = self._port.sides[SIDE]
        assert isinstance(side, BeamPort)
        self._side, words = side, side.words
        self.id, self.title = f"{self.family}:{name}", f"{words} on {self.title}"
        self.capabilities = replace(
            self.capabilities,
            features={**self.capabilities.features, **OWN},
            native_operator=NativeOperator(self._port.ref, words, compared=True),
        )
        self.sources = loaded.sources

    def open(self, folder: Path) -> None:
        from conformance.engines.beam.ports import dofn as port_dofn

        try:
            port_dofn.build(self._port.ref, self._side)
        except Exception as error:
            raise CannotRun(f"port {self._port.name}: {' '.join(str(error).split())}") from error
        super().open(folder)

    def apply(self, branch: Branch) -> Any:
        from conformance.engines.beam.ports import dofn as port_dofn

        (ref,) = branch.programs
        return branch.run(port_dofn.build(ref, self._side))


class BeamPortEngine(OfPort, BeamDirect):
    family = "beam-port"


class BeamFnApiPort(OfPort, BeamFnApi):
    family = "beam-fnapi-port"


class BeamPrismPort(OfPort, BeamPrism):
    family = "beam-prism-port"


FAMILY = Family(BeamPortEngine, PortNames(SIDE), alone=False, all=True, ports=True)
FNAPI = Family(BeamFnApiPort, PortNames(SIDE), alone=False, ports=True)
PRISM = Family(BeamPrismPort, PortNames(SIDE), alone=False, ports=True)
