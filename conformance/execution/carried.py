"""One engine in two releases: begun in the old one, resumed in the new one from the checkpoint."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from conformance.execution.host import EngineDown, EngineEnded, Host, OpenEngine
from conformance.model.feature import Feature
from conformance.model.runs import Pack, PackRun
from conformance.model.schedule import Restart
from conformance.model.trace import Emission, Trace


class CarriedEngine:
    """One engine in two releases. The old one begins a case with a restart, and the new one resumes the case from the
    checkpoint.

    A case without a restart runs in both releases. If the two differ on it, it counts as untouched: no output of a
    restarted twin could equal both.
    """

    def __init__(self, old: OpenEngine, new: OpenEngine) -> None:
        self._old, self._new = old, new
        names = dict.fromkeys([*old.environment, *new.environment])
        both = {name: [e.environment.get(name, "") for e in (old, new)] for name in names}
        self.environment = {name: told[0] if told[0] == told[1] else " then ".join(told) for name, told in both.items()}
        self.lacks = old.lacks or new.lacks
        self.answers = dict[str, str]()  # each release has its own

    @property
    def evidence(self) -> dict[Feature, str]:
        return self._old.evidence | self._new.evidence

    @property
    def alive(self) -> bool:
        return self._old.alive and self._new.alive

    def run(self, pack: Pack) -> PackRun:
        """Run one pack, up to its first restart in the old release. A pack that waits runs in both as a whole, because
        processing time would pass between the two. Raises NotDriven, EngineDown."""
        if pack.cases[0].schedule.waits or not any(isinstance(step, Restart) for step in pack.timeline):
            return self._run_in_both(pack)
        folder = self._new.host.folder()
        try:
            self._old.host.run(self._old.id, pack, "begin", folder)
            return self._new.host.run(self._new.id, pack, "resume", folder)
        except EngineEnded:
            raise
        except EngineDown as error:
            return self._not_resumed(pack, str(error))
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _run_in_both(self, pack: Pack) -> PackRun:
        old, new = self._old.run(pack), self._new.run(pack)
        differ = frozenset(name for name, trace in new.traces.items() if old.traces[name] != trace)
        return PackRun(new.traces, new.counts, old.untouched | new.untouched | differ, {**old.notes, **new.notes})

    def _not_resumed(self, pack: Pack, cause: str) -> PackRun:
        """The run of a pack that the new release did not resume. If each release resumes from its own checkpoint, this
        is an answer.

        Raises:
            EngineDown: one of the releases does not resume from its own checkpoint.
        """
        whole = self._old.run(pack)
        self._new.run(pack)
        first = pack.cases[0].schedule.restart
        traces = {}
        for case in pack.cases:
            before = [emission for emission in whole.traces[case.id].emissions if emission.step < first]
            failed = Emission("", {"not resumed": cause.partition("; the full log")[0]}, first)
            traces[case.id] = Trace.collect([*before, failed])
        return PackRun(traces, whole.counts, whole.untouched, whole.notes)


AnyEngine = OpenEngine | CarriedEngine


def open_in(engine: str, hosts: Sequence[Host]) -> AnyEngine:
    """An engine in its host. ``ID@OLD+NEW`` takes two hosts, one of each release. Raises CannotRun."""
    if len(hosts) == 1:
        return hosts[0].start(engine)
    name, _, versions = engine.partition("@")
    with ThreadPoolExecutor(max_workers=2) as pool:
        old, new = pool.map(Host.start, hosts, (f"{name}@{version}" for version in versions.split("+")))
    return CarriedEngine(old, new)
