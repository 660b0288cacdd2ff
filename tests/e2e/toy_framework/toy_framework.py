"""A framework in several releases: the reference engine, with a bug in some of them. ``TOY_RELEASE`` says which one is installed."""

import os
from dataclasses import replace
from pathlib import Path

from engines import mutants
from engines.reference import Reference

BUGS = {"2.0": "late-at-the-watermark", "2.1": "late-at-the-watermark"}
"""Release -> the bug that it has."""

BROKEN_UPGRADE = "3.0"
"""The release that loses timers where it goes on from another release's checkpoint, and only there."""


class Released(Reference):
    id = "released"
    title = "The reference, in releases"
    package = "toy-framework"

    def __init__(self):
        super().__init__()
        self.release = os.environ.get("TOY_RELEASE", "")
        self.capabilities = replace(self.capabilities, host="toy")

    def lacks(self):
        return "toy-framework 0.9 has no operator" if self.release == "0.9" else ""

    def environment(self):
        return {"toy": self.release}

    def run(self, pack, programs):
        return self._with(BUGS.get(self.release), pack, programs)

    def begin(self, pack, programs, folder: Path):
        (folder / "begun-in").write_text(self.release)

    def resume(self, pack, programs, folder: Path):
        if self.release == "4.0":
            raise RuntimeError("checkpoints of other releases cannot be read")
        carried = (folder / "begun-in").read_text() != self.release
        bug = "timers-lost-on-restart" if carried and self.release == BROKEN_UPGRADE else BUGS.get(self.release)
        return self._with(bug, pack, programs)

    def _with(self, bug, pack, programs):
        return mutants.FAMILY.make(bug).run(pack, programs) if bug else super().run(pack, programs)
