"""What a run owes a witness: which runs confirm or refute it. One table, by what is known of the witness and by the
kind of run."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import Enum, auto

from conformance.judgement.evidence import FewPrograms
from conformance.model.case import Case
from conformance.model.engine import EngineInfo, bare
from conformance.results.witness import Confirmation, Witness

RUNS_ALONE = 3
"""Number of runs alone of a guarantee's first new witness, and of runs that refute one that fails in a pack."""


class Mode(Enum):
    """The kinds of run: a full one; and a first look, an upgrade, or a run within a budget, in which a fifth of the
    witnesses may speak for all."""

    FULL = auto()
    BRIEF = auto()


class Known(Enum):
    """What is known of a witness on an engine.

    - CONFIRMED: stored, and failed in each of its runs alone on this engine, version and configuration.
    - STORED: stored, and confirmed elsewhere, or in some of its runs.
    - NEW: found in this run, the first of its guarantee.
    - FURTHER: found in this run under other perturbations than the first of its guarantee, or than a stored one that
      fails.
    - ENDED: found in this run; it ends its query, as do cases of ENDED_ALIKE other programs under the same
      perturbations.
    """

    CONFIRMED = auto()
    STORED = auto()
    NEW = auto()
    FURTHER = auto()
    ENDED = auto()


@dataclass(frozen=True)
class Owed:
    """The runs that a witness is owed.

    Attributes:
        packed: it runs in a pack with others first, and a failure there needs no run alone.
        trusted: if it passes in the pack, it is not run alone, unless it fails only sometimes where it is known.
        stands: if a fifth of the engine's witnesses fail again, it need not run.
        alone: runs alone of one that fails, the failing one included; 0 if its failure needs none.
        passes: runs alone without a failure that refute it.
        reduced: it is made smaller in packs.
        tightened: it is tried on tighter timelines before its own.
        beside: if it never fails alone, it runs beside fewer and fewer cases of its pack.
    """

    packed: bool = False
    trusted: bool = False
    stands: bool = False
    alone: int = 1
    passes: int = 1
    reduced: bool = False
    tightened: bool = False
    beside: bool = False


_CONFIRMED = Owed(packed=True, alone=0)
_NEW = Owed(alone=RUNS_ALONE, passes=RUNS_ALONE, reduced=True, tightened=True, beside=True)

OWED: Mapping[tuple[Known, Mode], Owed] = {
    (Known.CONFIRMED, Mode.FULL): _CONFIRMED,
    (Known.CONFIRMED, Mode.BRIEF): replace(_CONFIRMED, stands=True),
    (Known.STORED, Mode.FULL): Owed(alone=RUNS_ALONE),
    (Known.STORED, Mode.BRIEF): Owed(packed=True, trusted=True),
    (Known.NEW, Mode.FULL): _NEW,
    (Known.NEW, Mode.BRIEF): Owed(reduced=True),
    (Known.FURTHER, Mode.FULL): replace(_NEW, alone=1),
    (Known.FURTHER, Mode.BRIEF): Owed(),
    (Known.ENDED, Mode.FULL): replace(_NEW, alone=1, reduced=False),
    (Known.ENDED, Mode.BRIEF): Owed(),
}


def owed_to_stored(witnesses: Iterable[Witness], info: EngineInfo, mode: Mode) -> dict[str, Owed]:
    """Stored witness (id) -> what it is owed on an engine. One that failed alone with an earlier form of the adapter is
    as good as confirmed, but for the first of these: it speaks for the adapter."""
    witnesses = list(witnesses)
    alone = [w for w in witnesses if any(known.failed == known.runs for known in known_here(w, info))]
    earlier = [witness.id for witness in alone if not confirmed_here(witness, info)]
    confirmed = {witness.id for witness in alone} - set(earlier[:1])
    found = {w.id: OWED[Known.CONFIRMED if w.id in confirmed else Known.STORED, mode] for w in witnesses}
    return {w.id: replace(found[w.id], passes=patience(w, bool(known_here(w, info)))) for w in witnesses}


class Kind(tuple[str, str, str]):
    """(scenario, guarantee, perturbation that the failure needs, or ""). Violations of one kind share a witness."""


def owed_to_new(
    kinds: Iterable[Kind], ended: Mapping[Kind, Case], mode: Mode, stored: Iterable[Kind] = ()
) -> dict[Kind, Owed]:
    """New kind of failure -> what its witness is owed. ``ended`` has the cases of those that end with an error;
    ``stored`` are the kinds that stored witnesses show."""
    kinds, shown = list(kinds), {kind[:2] for kind in stored}
    first = set({kind[:2]: kind for kind in reversed(kinds) if kind[:2] not in shown}.values())
    few, found = FewPrograms(), dict[Kind, Owed]()
    for kind in kinds:
        known = Known.NEW if kind in first else Known.FURTHER
        if kind in ended and kind[2] and few.beyond(kind[2], ended[kind]):
            known = Known.ENDED
        found[kind] = OWED[known, mode]
    return found


UNEXPECTED = 3
"""Number of replays that a witness must pass to count as fixed where nothing but chance can have fixed it."""

MOST_REPLAYS = 30
"""Maximum number of replays of a witness that fails only sometimes."""


def patience(witness: Witness, here: bool = False) -> int:
    """Number of replays that a witness must pass before it counts as fixed: 1 if the witness failed in every confirming
    run, UNEXPECTED if one of these was of the very versions that it is replayed on (``here``). If it failed in a share
    p of the confirming runs, here or elsewhere, the number is 3/p, so that an unfixed witness passes them all with a
    probability of 5 %."""
    rates = [known.failed / known.runs for known in witness.confirmations if 0 < known.failed < known.runs]
    least = UNEXPECTED if here else 1
    return max(least, min(math.ceil(3 / min(rates)), MOST_REPLAYS)) if rates else least


def concerns(witness: Witness, info: EngineInfo) -> bool:
    """Whether a stored witness is replayed on an engine. A witness that was found on a named release says nothing new
    of the installed one, unless they are the same."""
    if bare(witness.engine) != bare(info.id):
        return False
    names_one, runs_one = (name != bare(name) for name in (witness.engine, info.id))
    return runs_one or not names_one or bool(known_here(witness, info))


def known_here(witness: Witness, info: EngineInfo) -> list[Confirmation]:
    """The confirmations of a witness on this engine, in its version and configuration."""
    return list(witness.confirmed_on(bare(info.id), info.environment))


def confirmed_here(witness: Witness, info: EngineInfo) -> bool:
    """Whether a witness has failed in each of its runs alone on this engine, with the same version, configuration and
    adapter."""
    return any(known.adapter == info.adapter and known.failed == known.runs for known in known_here(witness, info))
