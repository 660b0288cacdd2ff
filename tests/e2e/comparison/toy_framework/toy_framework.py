"""A framework in several releases: the reference engine, with a bug in some of them. ``TOY_RELEASE`` says which one is
installed."""

import os
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

from conformance.engines import mutants
from conformance.engines.reference import Reference
from conformance.model import Program
from conformance.model.engine import Family, NativeOperator
from conformance.model.trace import Trace
from conformance.plugins.registry import PortNames, users

BUGS = {"2.0": "late-at-the-watermark", "2.1": "late-at-the-watermark"}
"""Release -> the bug that it has."""

BROKEN_UPGRADE = "3.0"
"""The release that loses timers where it goes on from another release's checkpoint, and only there."""

TALKATIVE = "3.1"
"""The release that says more in each output than the others; no guarantee speaks of that."""

UNSTEADY = "3.2"
"""The release that the variant ``unsteady`` cannot run in."""


class Released(Reference):
    id = "released"
    title = "The reference, in releases"
    package = "toy-framework"
    foreign = ()

    def __init__(self):
        super().__init__()
        self.release = os.environ.get("TOY_RELEASE", "")
        self.capabilities = replace(self.capabilities, host="toy")

    def beside(self, version):
        return ()

    def lacks(self):
        if self.id.startswith("released:new") and self.release < "2.0":
            return f"toy-framework {self.release} has no new operator"
        return "toy-framework 0.9 has no operator" if self.release == "0.9" else ""

    def environment(self):
        return {"toy": self.release}

    def run(self, pack, programs):
        return self._with(BUGS.get(self.release), pack, programs)

    def begin(self, pack, programs, folder: Path):
        self._went_through(folder)

    def resume(self, pack, programs, folder: Path):
        carried = any(two[1] == BROKEN_UPGRADE != two[0] for two in pairwise(self._went_through(folder)))
        return self._with("timers-lost-on-restart" if carried else BUGS.get(self.release), pack, programs)

    def _went_through(self, folder: Path):
        """The releases that had a job, this one the last."""
        file = folder / "releases"
        before = file.read_text().split() if file.exists() else []
        if before and self.release == "4.0":
            raise RuntimeError("checkpoints of other releases cannot be read")
        file.write_text(" ".join([*before, self.release]))
        return [*before, self.release]

    def _with(self, bug, pack, programs):
        if self.id.startswith("released:unsteady") and self.release == UNSTEADY:
            raise RuntimeError("not today")
        found = mutants.FAMILY.make(bug).run(pack, programs) if bug else super().run(pack, programs)
        return replace(found, traces={n: _more(t) for n, t in found.traces.items()}) if self.talks else found

    @property
    def talks(self):
        return self.release == TALKATIVE


def _more(trace):
    return Trace(
        tuple(replace(e, value=e.value | {"said": 1}) if isinstance(e.value, dict) else e for e in trace.emissions)
    )


def make(variant):
    found = Released()
    if variant:
        found.id = f"released:{variant}"
    return found


FAMILY = Family(make, {"unsteady": "fails in a release", "new": "an operator that old releases lack"})


@dataclass(frozen=True)
class ToyPort:
    """A user's program in the place of a scenario's."""

    program: Program
    words: str = "a user's program"


class ToyPortEngine(Released):
    def __init__(self, name):
        super().__init__()
        self._port = next(port for port in users().ports if port.name == name)
        self.id = f"toy-port:{name}"
        operator = NativeOperator(self._port.ref, "a user's program", compared=True)
        self.capabilities = replace(self.capabilities, native_operator=operator)
        self.sources = users().sources

    def run(self, pack, programs):
        return super().run(pack, {self._port.ref: self._port.sides["toy"].program})


PORTS = Family(ToyPortEngine, PortNames("toy"), alone=False, all=True, ports=True)
