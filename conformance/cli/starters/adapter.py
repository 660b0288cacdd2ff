"""starter: an adapter of an engine. Put the calls of your engine in the place of the dictionary that plays one here.

    python FILE

runs the kit on it, which names what is wrong. docs/write-an-adapter.md says how to register it, and what each step
asks.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from conformance.model import (
    NATIVE,
    Advance,
    Capabilities,
    Cell,
    Deliver,
    Emission,
    EngineFault,
    Feature,
    Lateness,
    LatenessProfile,
    NotDriven,
    Pack,
    PackRun,
    Program,
    StepCount,
    Trace,
    unsupported,
)
from conformance.model.program import State, call


class Adapter:
    """Each feature that your engine lacks has the reason, with the version that it was seen on."""

    id = "starter"
    title = "starter (values in memory)"
    capabilities = Capabilities(
        features={
            **dict.fromkeys(Feature, unsupported("starter 1.0 has nothing like it")),
            Feature.SEVERAL_BUNDLES: NATIVE,
            Feature.EMISSIONS: NATIVE,
            Feature.VALUE: NATIVE,
            Feature.UNTYPED: NATIVE,
        },
        lateness=LatenessProfile(Lateness.NEVER, Lateness.NEVER),
    )

    def check(self) -> None:
        """Raise CannotRun, with how to get what is missing. Nothing is missing here."""

    def open(self, folder: Path) -> None:
        """Start the engine. Temporary files go below ``folder``."""

    def close(self) -> None:
        """End the engine. It may be called twice."""

    def environment(self) -> dict[str, str]:
        return {"starter": "1.0"}

    def evidence(self) -> dict[Feature, str]:
        return {}

    def run(self, pack: Pack, programs: Mapping[str, Program]) -> PackRun:
        """Take the pack's steps one after the other; say of each emission in which step it came out, and of each bundle
        its rows."""
        store: dict[tuple[str, ...], Any] = {}
        emissions: dict[str, list[Emission]] = {case.id: [] for case in pack.cases}
        counts = []
        for step in pack.timeline:
            if isinstance(step, Advance):
                continue  # this engine has no watermark
            if not isinstance(step, Deliver):
                raise NotDriven(f"starter 1.0 has nothing for {step}")
            rows = list(pack.bundle(step.id))
            for case, event in rows:
                name = case.ref
                cells = {
                    cell: Value(store, (name, case.id, event.key, cell))
                    for cell, kind in programs[name].cells.items()
                    if kind is Cell.VALUE
                }
                try:
                    outputs = call(programs[name].on_event, event, State(cells), NoTimers())
                except EngineFault as fault:
                    raise RuntimeError(f"[case {case.id}] {fault}") from fault
                emissions[case.id] += [Emission(event.key, o.value, step.id, o.event_time, o.error) for o in outputs]
            counts.append(StepCount(step.id, delivered=len(rows), received=len(rows), reported_late=None))
        return PackRun({case: Trace.collect(found) for case, found in emissions.items()}, tuple(counts))


class Value:
    """A value of one key of one case: cases of a pack must not see each other."""

    def __init__(self, store: dict[tuple[str, ...], Any], at: tuple[str, ...]) -> None:
        self._store, self._at = store, at

    def get(self, default: Any = None) -> Any:
        return self._store.get(self._at, default)

    def set(self, value: Any) -> None:
        self._store[self._at] = value

    def clear(self) -> None:
        self._store.pop(self._at, None)


class NoTimers:
    """Timers are unsupported, so no program that sets one is handed to this adapter."""

    def set(self, name: str, time: int, tag: str = "") -> None:
        raise EngineFault("starter 1.0 has no timers")

    def set_after(self, name: str, ms: int, tag: str = "") -> None:
        raise EngineFault("starter 1.0 has no timers")

    def clear(self, name: str, tag: str = "") -> None:
        raise EngineFault("starter 1.0 has no timers")


if __name__ == "__main__":
    from conformance.testing import check_engine

    print(check_engine(Adapter()))
