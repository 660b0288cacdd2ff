"""An adapter that is complete. Its engine, a ledger, keeps sums and values by key and knows nothing else."""

import json

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
    PackRun,
    StepCount,
    Trace,
    emulated,
    program_ref,
    unsupported,
)
from conformance.model.program import State, call


class Ledger:
    id = "ledger"
    title = "ledger (sums and values in memory)"
    capabilities = Capabilities(
        features={
            **dict.fromkeys(Feature, unsupported("ledger 1.0 has nothing like it")),
            Feature.SEVERAL_BUNDLES: NATIVE,
            Feature.EMISSIONS: NATIVE,
            Feature.VALUE: NATIVE,
            Feature.UNTYPED: NATIVE,
            Feature.COMBINING: emulated("sum in a value"),
        },
        lateness=LatenessProfile(Lateness.NEVER, Lateness.NEVER),
    )

    def check(self):
        """There is nothing to install."""

    def open(self, folder):
        """There is nothing to start."""

    def close(self):
        """There is nothing to end."""

    def environment(self):
        return {"ledger": "1.0"}

    def evidence(self):
        return {}

    def run(self, pack, programs):
        store, emissions, counts = {}, {case.id: [] for case in pack.cases}, []
        for step in pack.timeline:
            if isinstance(step, Advance):
                continue  # the watermark means nothing to this engine
            if not isinstance(step, Deliver):
                raise NotDriven(f"ledger 1.0 has nothing for {step}")
            rows = list(pack.bundle(step.id))
            for case, event in rows:
                name = program_ref(case.scenario, case.program)
                kinds = {Cell.VALUE: Entry, Cell.COMBINING: Sum}
                cells = {
                    cell: kinds[kind](store, (name, case.id, event.key, cell))
                    for cell, kind in programs[name].cells.items()
                }
                try:
                    outputs = call(programs[name].on_event, event, State(cells), None)
                except EngineFault as fault:
                    raise RuntimeError(f"[case {case.id}] {fault}") from fault
                emissions[case.id] += [Emission(event.key, o.value, step.id, o.event_time, o.error) for o in outputs]
            counts.append(StepCount(step.id, delivered=len(rows), received=len(rows), reported_late=None))
        return PackRun({case: Trace.collect(found) for case, found in emissions.items()}, tuple(counts))


class Entry:
    """A value of one key."""

    def __init__(self, store, at):
        self.store, self.at = store, at

    def get(self, default=None):
        text = self.store.get(self.at)
        return default if text is None else json.loads(text)

    def set(self, value):
        self.store[self.at] = json.dumps(value)

    def clear(self):
        self.store.pop(self.at, None)


class Sum(Entry):
    """A sum, kept in a value."""

    def get(self):
        return super().get(0)

    def add(self, value):
        self.set(self.get() + value)
