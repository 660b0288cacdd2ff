"""beam-port: a user's stateful DoFn in the place of a program, on the bundle-based DirectRunner under TestStream.

It is driven and proved as beam-direct is, and runs in the windows of the program that it does the job of.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from conformance.engine import ALL, NATIVE, CannotRun, Family, Feature, Idiom
from conformance.program import Program, Windowing
from conformance.registry import PortNames, users
from engines.beam.direct import CAPABILITIES, BeamDirect

OWN = dict.fromkeys((Feature.MAP, Feature.SET, Feature.BAG, Feature.VALUE, Feature.COMBINING), NATIVE)
"""What a DoFn does without the adapter's help."""


class BeamPortColumn(BeamDirect):
    """The Beam side of a loaded port."""

    def __init__(self, name: str) -> None:
        loaded = users()
        self._port = next(port for port in loaded.ports if port.name == name)
        assert self._port.beam
        words = self._port.beam.words
        self.id, self.title = f"beam-port:{name}", f"{words} on Beam DirectRunner (Python, bundle-based)"
        idiom = Idiom(self._port.ref, words, compared=True)
        self.capabilities = replace(CAPABILITIES, features={**CAPABILITIES.features, **OWN}, idiom=idiom, packs=ALL)
        self.sources = loaded.sources

    def open(self, folder: Path) -> None:
        from engines.beam import port_dofn

        super().open(folder)
        assert self._port.beam
        try:
            port_dofn.build(self._port.ref, self._port.beam)
        except Exception as error:
            raise CannotRun(f"port {self._port.name}: {' '.join(str(error).split())}") from error

    def apply(self, elements: Any, windowing: Windowing, programs: Mapping[str, Program]) -> Any:
        from engines.beam import pipeline as shared
        from engines.beam import port_dofn

        (ref,) = programs
        assert self._port.beam
        return shared.run_dofn(elements, windowing, programs, port_dofn.build(ref, self._port.beam))


FAMILY = Family(BeamPortColumn, PortNames(lambda port: port.beam), alone=False, all=True, ports=True)
