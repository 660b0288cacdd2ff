"""An engine as a run asks it: behind the answers that are kept, and started once it is asked for what nobody has
kept."""

import re
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from conformance.execution.carried import AnyEngine
from conformance.execution.host import EngineDown, EngineEnded, NoAnswer
from conformance.execution.installed import installed
from conformance.execution.kept import Kept, now
from conformance.execution.packing import Parts, whole
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
    """The kept answers of one engine. Several threads may use one shelf at a time.

    Attributes:
        name: identifies the engine, its adapter, its installation and the harness that drives it.
        fresh: whether no kept answer is given. New ones are kept all the same.
        used: number of answers that were given in the engine's place.
        oldest: when the oldest of the answers in the engine's place was made, "" for none.
    """

    kept: Kept
    engine: str
    name: str
    programs: Mapping[str, Program]
    fresh: bool = False
    used: int = 0
    oldest: str = ""
    _met: Met | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _times: Counter[str] = field(default_factory=Counter)

    @property
    def age(self) -> tuple[int, str]:
        """Number of answers in the engine's place, and the day of the oldest (YYYY-MM-DD, UTC)."""
        return self.used, self.oldest[:10]

    def met(self) -> Met | None:
        """The engine as this run met it, or an earlier one."""
        if self._met or self.fresh or not (data := self.kept.data(f"{ENGINES}/{self.name}")):
            return self._met
        with suppress(KeyError, TypeError, AttributeError):
            evidence = {Feature[name]: text for name, text in data["evidence"].items()}
            self._met = Met(data["environment"], evidence, data["lacks"], data["answers"])
        return self._met

    def meet(self, met: Met) -> None:
        evidence = {feature.name: text for feature, text in met.evidence.items()}
        said = {"environment": met.environment, "evidence": evidence, "lacks": met.lacks, "answers": met.answers}
        self.kept.keep_data(f"{ENGINES}/{self.name}", {"engine": self.engine, **said, "made": now()})
        self._met = met

    def place(self, pack: Pack, met: Met, hash_seed: int) -> str:
        """The identity of a pack's answers, "" if they cannot be kept: a program cannot be told from a changed one."""
        try:
            with self._lock:
                refs = {c.ref for c in pack.cases}
                programs = {ref: program_digest(self.programs[ref]) for ref in refs}
        except (Untold, KeyError):
            return ""
        cases = [[case.id, case.digest] for case in pack.cases]
        return f"{ANSWERS}/{digest([self.name, met.environment, hash_seed, programs])}-{digest(cases)}"

    def next(self, place: str) -> str:
        """The name of the next answer to a pack: the run asks for each of its answers once."""
        with self._lock:
            self._times[place] += 1
            return f"{place}-{self._times[place]}" if place else ""

    def unanswered(self, place: str) -> None:
        """The pack has no answer of the name that was next."""
        with self._lock:
            self._times[place] -= 1

    def given(self, name: str, pack: Pack) -> PackRun | None:
        """The kept answer of a name."""
        found = self.kept.answer(name, pack) if name and not self.fresh else None
        if found is None:
            return None
        with self._lock:
            self.used += 1
            self.oldest = min(self.oldest or found.made, found.made)
        return found.run

    def keep(self, name: str, pack: Pack, run: PackRun) -> None:
        if name and not says_nothing(pack, run):
            self.kept.keep(name, pack, run)


def says_nothing(pack: Pack, run: PackRun) -> bool:
    """Whether more processing time passed than the schedule waited for. Another run may be quicker."""
    return bool(pack.cases[0].schedule.waits) and all(case.id in run.untouched for case in pack.cases)


def shelf_of(
    engine: Engine, adapter: str, kept: Kept, programs: Mapping[str, Program], fresh: bool, name: str = ""
) -> Shelf | None:
    """The kept answers of an engine; None if it is not known, without a start, what the engine would run on.
    ``adapter`` is the digest of its adapter. ``name`` is the shelf's if the answers were made elsewhere."""
    if not name:
        try:
            ground = installed(engine)
        except CannotRun:
            return None
        if ground is None:
            return None
        name = digest([engine.id, adapter, ground, harness_digest(DRIVING)])
    return Shelf(kept, engine.id, name, programs, fresh)


class GivenUp(EngineEnded):
    """An engine that is not asked any more; the message says why in one line."""


PACKS = 2
"""An engine that fails so many packs in one way, before it gave an answer to any, is given up."""

PROCESSES = 3
"""So is one whose process has ended so often: a process that ends takes the packs beside the guilty one along."""

HUNG = 2
"""So is one that has hung so often."""


class FirstRuns:
    """What the first runs of an engine came to, in all of its processes. Several threads may tell at once."""

    def __init__(self) -> None:
        self._lock, self._answered = threading.Lock(), False
        self._failed: dict[str, set[object]] = {}
        self.given_up = ""

    def answered(self) -> None:
        self._answered = True

    def failed(self, what: object, cause: str, most: int) -> None:
        """Take down what failed, a pack or a process. So many that fail in one way are enough."""
        way = re.sub(r"\d+", "#", cause.partition("; the full log")[0])
        with self._lock:
            found = self._failed.setdefault(way, set())
            found.add(what)
            if len(found) >= most and not self._answered and not self.given_up:
                self.given_up = f"given up, because its first runs failed in one way: {cause}"


class Process:
    """An engine in a process that starts at the first request that no kept answer meets, and again after it has ended.

    Args:
        start: starts the engine. Raises CannotRun.
        shelf: the kept answers, if there are any.
        watch: what the first runs came to. An engine whose first runs failed in one way is not run any more.
        parts: what a pack falls into where it fails as a whole.
        hash_seed: Python's seed for hashes of strings in the process.
        again: whether the process starts again after it has ended.
    """

    def __init__(
        self,
        start: Callable[[], AnyEngine],
        shelf: Shelf | None = None,
        watch: FirstRuns | None = None,
        parts: Parts = whole,
        hash_seed: int = 0,
        again: bool = True,
    ) -> None:
        self._start, self._shelf, self._watch, self._parts = start, shelf, watch or FirstRuns(), parts
        self._hash_seed, self._again = hash_seed, again
        self._starting = threading.Lock()
        self._engine: AnyEngine | None = None
        self._other = ""

    @property
    def given_up(self) -> str:
        """Why the engine is not asked any more, "" while it is."""
        return self._watch.given_up

    def met(self) -> Met:
        """What the engine says of itself, now or in an earlier run. Raises CannotRun, EngineDown."""
        if self._shelf and (known := self._shelf.met()):
            return known
        engine = self._started()
        met = Met(engine.environment, engine.evidence, engine.lacks, dict(engine.answers))
        if self._shelf:
            self._shelf.meet(met)
        return met

    def starts(self) -> bool:
        """Whether the process lives, or starts."""
        try:
            self._started()
        except (CannotRun, EngineDown):
            return False
        return True

    def run(self, pack: Pack) -> PackRun:
        """Runs one pack, or gives the kept answer. Raises NotDriven, EngineDown."""
        if not self._shelf:
            return self._asked(pack)
        name = self._shelf.next(place := self._place(pack))
        if found := self._shelf.given(name, pack):
            self._watch.answered()  # in an earlier run
            return found
        try:
            run = self._asked(pack)
        except Exception:
            self._shelf.unanswered(place)
            raise
        self._shelf.keep(name, pack, run)
        return run

    def keep(self, pack: Pack, run: PackRun) -> None:
        """Keeps an answer that was made of the engine's failures."""
        if self._shelf:
            self._shelf.keep(self._shelf.next(self._place(pack)), pack, run)

    def _place(self, pack: Pack) -> str:
        assert self._shelf
        try:
            return self._shelf.place(pack, self.met(), self._hash_seed)
        except CannotRun as error:
            raise EngineEnded(str(error)) from None

    def _asked(self, pack: Pack) -> PackRun:
        if self.given_up:
            raise GivenUp(self.given_up)
        try:
            engine = self._started()
        except CannotRun as error:
            raise EngineEnded(str(error)) from None
        try:
            run = engine.run(pack)
        except EngineDown as error:
            if "[case " not in str(error):
                if isinstance(error, EngineEnded):
                    self._watch.failed(engine, str(error), HUNG if isinstance(error, NoAnswer) else PROCESSES)
                elif len(self._parts(pack)) == 1:  # parts run by themselves, and tell more
                    self._watch.failed(tuple(case.id for case in pack.cases), str(error), PACKS)
            raise
        self._watch.answered()
        return run

    def _started(self) -> AnyEngine:
        with self._starting:
            if self._other:
                raise EngineEnded(self._other)
            if self._engine is None or (self._again and not self._engine.alive and not self.given_up):
                engine = self._start()
                known = self._shelf.met() if self._shelf else None
                if known and known.environment != engine.environment:
                    assert self._shelf
                    self._shelf.meet(Met(engine.environment, engine.evidence, engine.lacks, dict(engine.answers)))
                    self._other = _other(known.environment, engine.environment)
                    raise EngineEnded(self._other)
                self._engine = engine
            return self._engine


def _other(known: Mapping[str, str], found: Mapping[str, str]) -> str:
    """That an engine is not what it was when its kept answers were made."""
    name = next(name for name in (*found, *known) if known.get(name) != found.get(name))
    return f"{name} is {found.get(name)!r} and was {known.get(name)!r} when the answers were kept: run again"
