"""An engine that answers from kept traces, and is started once it is asked for what nobody has kept."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from conformance.execution.host import EngineDown
from conformance.execution.installed import installed
from conformance.execution.kept import Kept, now
from conformance.execution.watched import Watched
from conformance.model.case import program_ref
from conformance.model.engine import CannotRun, Engine
from conformance.model.feature import Feature
from conformance.model.program import Program
from conformance.model.runs import Pack, PackRun
from conformance.model.values import digest
from conformance.plugins.source import DRIVING, Untold, harness_digest, program_digest

ENGINES, ANSWERS = "engines", "answers"
"""Kinds of kept files: engines as they were met, and their answers to packs."""


@dataclass
class Met:
    """An engine as its process describes it. Fields are those of ``AnyEngine``."""

    environment: dict[str, str]
    evidence: dict[Feature, str]
    lacks: str
    answers: dict[str, str]


@dataclass
class Shelf:
    """The kept traces of one engine. Several threads may use one shelf at a time.

    Attributes:
        name: identifies the engine, its adapter, its installation and the harness that drives it.
        fresh: whether no kept answer is given. New ones are kept all the same.
        elsewhere: whether the traces are those of a shard of this run. An answer in doubt is then as good as it was there.
        used: number of answers that were given in the engine's place.
        asked: number of answers that the engine gave.
        oldest: when the oldest of the answers in the engine's place was made, "" for none.
    """

    kept: Kept
    engine: str
    name: str
    programs: Mapping[str, Program]
    fresh: bool = False
    elsewhere: bool = False
    used: int = 0
    asked: int = 0
    oldest: str = ""
    _met: Met | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _digests: dict[str, str] = field(default_factory=dict)

    @property
    def age(self) -> tuple[int, str]:
        """Number of answers in the engine's place, and the day of the oldest (YYYY-MM-DD, UTC)."""
        return self.used, self.oldest[:10]

    def met(self) -> Met | None:
        """The engine as this run met it, or an earlier one."""
        if self._met:
            return self._met
        data = None if self.fresh else self.kept.data(f"{ENGINES}/{self.name}")
        try:
            return data and Met(
                data["environment"],
                {Feature[n]: t for n, t in data["evidence"].items()},
                data["lacks"],
                data["answers"],
            )
        except (KeyError, TypeError, AttributeError):
            return None

    def meet(self, engine: Any) -> Met:
        met = Met(engine.environment, engine.evidence, engine.lacks, dict(engine.answers))
        evidence = {feature.name: text for feature, text in met.evidence.items()}
        said = {"environment": met.environment, "evidence": evidence, "lacks": met.lacks, "answers": met.answers}
        self.kept.keep_data(f"{ENGINES}/{self.name}", {"engine": self.engine, **said, "made": now()})
        self._met = met
        return met

    def place(self, pack: Pack, met: Met, hash_seed: int) -> str:
        """The name of the answer to a pack, "" if it cannot be kept: a program cannot be told from a changed one."""
        try:
            with self._lock:
                programs = {ref: self._digest(ref) for ref in {program_ref(c.scenario, c.program) for c in pack.cases}}
        except Untold:
            return ""
        cases = [[case.id, case.digest] for case in pack.cases]
        return f"{ANSWERS}/{digest([self.name, met.environment, hash_seed, programs])}-{digest(cases)}"

    def given(self, place: str, pack: Pack, before: int) -> PackRun | None:
        """The kept answer to a pack that was asked ``before`` times already. The answer that an engine gave in k runs stands for
        k runs and no more; one that differed between runs stands for none."""
        found = self.kept.answer(place, pack) if place and not self.fresh else None
        if found is None or found.differed or max(found.times, int(self.elsewhere)) <= before:
            return None
        with self._lock:
            self.used += 1
            self.oldest = min(self.oldest or found.made, found.made)
        return found.run

    def keep(self, place: str, pack: Pack, run: PackRun) -> None:
        with self._lock:
            self.asked += 1
        if not place or _says_nothing(pack, run):
            return
        self.kept.keep(place, pack, run)

    def doubt(self, place: str, pack: Pack) -> None:
        """Says that another run of a pack may give another answer."""
        self.kept.doubt(place, pack)

    def _digest(self, ref: str) -> str:
        if ref not in self.programs:
            raise Untold(f"the unknown program {ref}")
        if ref not in self._digests:
            self._digests[ref] = program_digest(self.programs[ref])
        return self._digests[ref]


def _says_nothing(pack: Pack, run: PackRun) -> bool:
    """Whether more processing time passed than the schedule waited for. Another run may be quicker."""
    return pack.cases[0].schedule.waits and all(case.id in run.untouched for case in pack.cases)


def shelf_of(
    engine: Engine, adapter: str, kept: Kept, programs: Mapping[str, Program], fresh: bool, name: str = ""
) -> Shelf | None:
    """The kept traces of an engine; None if it is not known, without a start, what the engine would run on. ``adapter`` is the
    digest of its adapter. ``name`` is the shelf's if the traces were made elsewhere."""
    if name:
        return Shelf(kept, engine.id, name, programs, elsewhere=True)
    try:
        ground = installed(engine)
    except CannotRun:
        return None
    if ground is None:
        return None
    name = digest([engine.id, adapter, ground, harness_digest(DRIVING)])
    return Shelf(kept, engine.id, name, programs, fresh)


class Cached:
    """An engine as ``AnyEngine``, behind its kept traces. ``start`` starts the engine. It is called at the first request that no
    kept trace answers; at once if no earlier run met this engine.

    Raises:
        CannotRun: the engine cannot run here.
    """

    def __init__(self, shelf: Shelf, start: Callable[[], Any], hash_seed: int = 0) -> None:
        self._shelf, self._start, self._hash_seed = shelf, start, hash_seed
        self._starting, self._counting = threading.Lock(), threading.Lock()
        self._engine: Any = None
        self._failed = False
        self._times: Counter[str] = Counter()
        self._known = shelf.met()
        self._met = self._known or shelf.meet(self._started())

    @property
    def environment(self) -> dict[str, str]:
        return self._met.environment

    @property
    def evidence(self) -> dict[Feature, str]:
        return self._met.evidence

    @property
    def lacks(self) -> str:
        return self._met.lacks

    @property
    def answers(self) -> dict[str, str]:
        return self._met.answers

    @property
    def alive(self) -> bool:
        """Whether the engine can be asked: it has not ended, or is not started yet."""
        return not self._failed and (self._engine is None or bool(self._engine.alive))

    @property
    def given_up(self) -> str:
        return str(getattr(self._engine, "given_up", ""))

    def run(self, pack: Pack) -> PackRun:
        """Runs one pack, or gives the kept answer. Raises NotDriven, EngineDown."""
        place = self._shelf.place(pack, self._met, self._hash_seed)
        with self._counting:
            before = self._times[place]
            self._times[place] += 1
        if found := self._shelf.given(place, pack, before):
            return found
        run: PackRun = self._living().run(pack)
        self._shelf.keep(place, pack, run)
        return run

    def keep(self, pack: Pack, run: PackRun) -> None:
        """Keeps an answer that was made of the engine's failures."""
        self._shelf.keep(self._shelf.place(pack, self._met, self._hash_seed), pack, run)

    def doubt(self, pack: Pack) -> None:
        """Says that another run of a pack may give another answer: the next run asks the engine."""
        if place := self._shelf.place(pack, self._met, self._hash_seed):
            self._shelf.doubt(place, pack)

    def _living(self) -> Any:
        try:
            return self._started()
        except CannotRun as error:
            raise EngineDown(str(error)) from None

    def _started(self) -> Any:
        with self._starting:
            if self._engine is None:
                try:
                    self._engine = self._start()
                except (CannotRun, EngineDown):
                    self._failed = True
                    raise
                if self._known and self._known.environment != self._engine.environment:
                    self._failed = True
                    self._shelf.meet(self._engine)
                    raise EngineDown(_other(self._known.environment, self._engine.environment))
            return self._engine


def _other(known: Mapping[str, str], found: Mapping[str, str]) -> str:
    """That an engine is not what it was when its kept traces were made."""
    name = next(name for name in (*found, *known) if known.get(name) != found.get(name))
    return f"{name} is {found.get(name)!r} and was {known.get(name)!r} when the traces were kept: run again"


Process = Watched | Cached
"""An engine in its process, or behind its kept traces."""
