"""What a run found on one engine."""

from dataclasses import dataclass, field

from conformance.confirmation.replay import Replay
from conformance.judgement.cell import MatrixCell
from conformance.judgement.stability import Stability
from conformance.model.engine import EngineInfo
from conformance.results.witness import Witness


@dataclass
class EngineOutcome:
    """The results of one engine. ``answered`` says whether the engine gave any trace, ``available`` whether the engine
    could start. ``left_out`` counts the packs that a budget left no time for."""

    info: EngineInfo
    cells: list[MatrixCell] = field(default_factory=list)
    stabilities: list[Stability] = field(default_factory=list)
    witnesses: dict[str, Witness] = field(default_factory=dict)
    replays: list[Replay] = field(default_factory=list)
    answered: bool = False
    seconds: dict[str, float] = field(default_factory=dict)
    effort: dict[str, int] = field(default_factory=dict)
    available: bool = True
    left_out: int = 0
