"""Events: a run sends them to its observers."""

from dataclasses import dataclass

from conformance.judgement.cell import MatrixCell


@dataclass(frozen=True)
class RunStarted:
    cases: int
    timelines: int


@dataclass(frozen=True)
class WitnessUnknown:
    """A stored witness is not replayed: its scenario does not exist, or the scenario has no such guarantee of such a
    program."""

    witness: str
    scenario: str
    program: str
    guarantee: str


@dataclass(frozen=True)
class BatchBegun:
    """``packs`` packs of a batch are about to run."""

    engine: str
    batch: int
    batches: int
    packs: int


@dataclass(frozen=True)
class PackDone:
    engine: str


@dataclass(frozen=True)
class TakingApart:
    """Failures under several perturbations are taken apart. ``runs`` more engine runs are about to answer."""

    engine: str
    runs: int


@dataclass(frozen=True)
class Confirming:
    engine: str
    cells: int


@dataclass(frozen=True)
class CellDone:
    cell: MatrixCell


@dataclass(frozen=True)
class EngineDone:
    """An engine's turn is over. ``failure`` is empty for an engine that ran to its end. ``available`` is False for an
    engine that never started."""

    engine: str
    seconds: float
    failure: str
    available: bool


@dataclass(frozen=True)
class Unusable:
    """A file that an earlier run kept cannot be used, or a new one cannot be written. The run goes on without it."""

    line: str


Event = (
    Unusable | RunStarted | WitnessUnknown | BatchBegun | PackDone | TakingApart | Confirming | CellDone | EngineDone
)
