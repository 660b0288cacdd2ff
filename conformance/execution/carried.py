"""One engine in several releases: begun in the first, and gone on with in each later one from the checkpoint of the one
before."""

import shutil
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from conformance.execution.host import EngineDown, EngineEnded, Host, OpenEngine
from conformance.model.feature import Feature
from conformance.model.runs import Pack, PackRun
from conformance.model.schedule import Restart
from conformance.model.trace import Emission, Trace


class CarriedEngine:
    """One engine in several releases, in the order in which they go on from each other. The first one begins a case,
    and each restart hands the case on to the next one, as far as there is one. The first release may be the last one,
    too.

    A case without a restart runs in each release. If two of them differ on it, it counts as untouched: no output of a
    restarted twin could equal both.
    """

    def __init__(self, legs: Sequence[OpenEngine]) -> None:
        self._legs = legs
        self._each = list({engine.id: engine for engine in legs}.values())
        names = dict.fromkeys(name for engine in legs for name in engine.environment)
        told = {name: [engine.environment.get(name, "") for engine in legs] for name in names}
        self.environment = {name: " then ".join(dict.fromkeys(t) if len({*t}) == 1 else t) for name, t in told.items()}
        self.lacks = next((engine.lacks for engine in legs if engine.lacks), "")
        self.answers = dict[str, str]()  # each release has its own

    @property
    def evidence(self) -> dict[Feature, str]:
        return {feature: told for engine in self._each for feature, told in engine.evidence.items()}

    @property
    def alive(self) -> bool:
        return all(engine.alive for engine in self._each)

    def run(self, pack: Pack) -> PackRun:
        """Run one pack, up to each restart in another release. A pack that waits runs in each as a whole, because
        processing time would pass between two of them. Raises NotDriven, EngineDown."""
        restarts = [step.id for step in pack.timeline if isinstance(step, Restart)]
        if pack.cases[0].schedule.waits or not restarts:
            return self._run_in_each(pack)
        *before, last = self._legs[: len(restarts) + 1]
        folder = last.host.folder()
        resumed = -1
        try:
            for engine in before:
                engine.host.run(engine.id, pack, "begin", folder)
                resumed += 1
            return last.host.run(last.id, pack, "resume", folder)
        except EngineEnded:
            raise
        except EngineDown as error:
            return self._not_resumed(pack, restarts[max(resumed, 0)], str(error))
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _run_in_each(self, pack: Pack) -> PackRun:
        *others, last = [engine.run(pack) for engine in self._each]
        differ = {name for name, trace in last.traces.items() if any(run.traces[name] != trace for run in others)}
        untouched = last.untouched.union(differ, *(run.untouched for run in others))
        notes = {name: note for run in (*others, last) for name, note in run.notes.items()}
        return PackRun(last.traces, last.counts, untouched, notes)

    def _not_resumed(self, pack: Pack, restart: int, cause: str) -> PackRun:
        """The run of a pack that a release did not go on with behind a restart (its step). If each release resumes from
        its own checkpoint, this is an answer.

        Raises:
            EngineDown: one of the releases does not resume from its own checkpoint.
        """
        whole, *_ = [engine.run(pack) for engine in self._each]
        traces = {}
        for case in pack.cases:
            before = [emission for emission in whole.traces[case.id].emissions if emission.step < restart]
            failed = Emission("", {"not resumed": cause.partition("; the full log")[0]}, restart)
            traces[case.id] = Trace.collect([*before, failed])
        return PackRun(traces, whole.counts, whole.untouched, whole.notes)


AnyEngine = OpenEngine | CarriedEngine


def open_in(engine: str, hosts: Sequence[Host]) -> AnyEngine:
    """An engine in its host. ``ID@OLD+NEW`` takes a host of each release, in that order. Raises CannotRun."""
    if len(hosts) == 1:
        return hosts[0].start(engine)
    name, _, versions = engine.partition("@")
    legs = [f"{name}@{version}" for version in versions.split("+")]
    each = dict(zip(legs, hosts, strict=True))
    with ThreadPoolExecutor(max_workers=len(each)) as pool:
        opened = dict(zip(each, pool.map(Host.start, each.values(), each), strict=True))
    return CarriedEngine([opened[leg] for leg in legs])
