"""What the core asks of an engine: its capabilities as data, and one method that runs a pack."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Protocol

from conformance.model import Advance, Case, FailOnce, Pack, PackRun, Partitions, Restart, Schedule, Wait, program_ref
from conformance.program import FixedWindows, Program

ALL = 10**6
"""As many packs as there are."""


class Feature(Enum):
    """What a case or a guarantee may need of an engine."""

    SEVERAL_BUNDLES = "several bundles"
    WATERMARK = "a watermark driven between bundles"
    FIXED_WINDOWS = "fixed windows"
    COALESCED = "an advance that does not settle before the next bundle"
    PARTITIONS = "a number of partitions to choose"
    RESTART = "a restart from the checkpoint"
    RETRY = "a failed attempt that is retried within the job"
    RESUME = "a failed job that resumes from its checkpoint"
    PROCESSING_TIME = "processing time driven between bundles"
    EVENT_TIMERS = "event-time timers"
    PROCESSING_TIMERS = "processing-time timers"
    TTL = "a time to live of state"
    INITIAL_STATE = "state that a job starts with"
    INSPECTION = "stored state read from outside the job"
    LATE_COUNTER = "a counter of rows dropped as late"
    VALUE = "value state"
    NULL = "a null as a value of state"
    BAG = "bag state"
    MAP = "map state"
    SET = "set state"
    COMBINING = "combining state"
    EMISSIONS = "any number of emissions per call"


class Lateness(Enum):
    """When an operator refuses a row, given its event time and the watermark at delivery."""

    NEVER = "never"
    BEHIND = "event time < watermark"
    AT_OR_BEHIND = "event time <= watermark"
    WINDOW_EXPIRED = "window end + allowed lateness <= watermark"

    def refuses(self, event_time: int, watermark: int, program: Program) -> bool:
        if self is Lateness.NEVER:
            return False
        if self is Lateness.BEHIND:
            return event_time < watermark
        if self is Lateness.AT_OR_BEHIND:
            return event_time <= watermark
        windowing = program.windowing
        return isinstance(windowing, FixedWindows) and windowing.expiry(event_time) <= watermark


@dataclass(frozen=True, slots=True)
class LatenessProfile:
    """How one engine's operator reads *late*: in the global window, and in fixed windows."""

    global_window: Lateness
    fixed_windows: Lateness

    def refuses(self, event_time: int, watermark: int, program: Program) -> bool:
        reading = self.fixed_windows if isinstance(program.windowing, FixedWindows) else self.global_window
        return reading.refuses(event_time, watermark, program)


@dataclass(frozen=True, slots=True)
class Support:
    """How an engine offers a feature. ``how`` is native, emulated or unsupported; ``note`` names the emulation, or
    gives the reason with the version it was seen on."""

    how: str
    note: str = ""


NATIVE = Support("native")


def emulated(note: str) -> Support:
    return Support("emulated", note)


def unsupported(reason: str) -> Support:
    return Support("unsupported", reason)


@dataclass(frozen=True)
class Idiom:
    """An engine's own operator, or a user's, that does the job of one program. It runs in the program's place, and its output
    is judged by the program's guarantees.

    Attributes:
        program: "scenario/program".
        words: what it is called, ``dropDuplicatesWithinWatermark()``.
        silent: guarantees (ids) that its output says nothing of -> why not.
        compared: its output is meant to be the program's own, so it is compared with that of the reference and of others.
    """

    program: str
    words: str
    silent: Mapping[str, str] = field(default_factory=dict)
    compared: bool = False


@dataclass(frozen=True)
class Capabilities:
    """An engine's abilities as data: what ``conformance list engines`` prints and what cells call unsupported.

    Attributes:
        largest_pack: bounds the cases of one engine run.
        largest_waiting_pack: bounds those of a run with waits, which says nothing where much more processing time passes: beside the waits
            of 8 steps with TTLs 863 cases take 8 to 16 s on spark-tws-pandas, 120 take 3 to 5 s (Spark 4.3.0, 2 cores).
        parallel: how many packs it runs at a time.
        heavy: takes seconds to start and for every run; heavy engines run one at a time, light ones beside them.
        host: engines of one host share a process, one after the other, and with it what is slow to start (a JVM).
        packs: bounds the packs of a run: a slow engine runs a choice of them.
        quick: it is one of those that a quick run looks at.
        idiom: what it runs instead of programs; such an engine takes the cases of one program alone.
        ahead: how far (ms) an event may lie ahead of the watermark that it meets.
    """

    features: Mapping[Feature, Support]
    lateness: LatenessProfile
    largest_pack: int = 2_000
    largest_waiting_pack: int = 120
    parallel: int = 1
    heavy: bool = False
    host: str = ""
    packs: int = ALL
    quick: bool = False
    idiom: Idiom | None = None
    ahead: int = 10**15

    def __post_init__(self) -> None:
        if missing := [feature.value for feature in Feature if feature not in self.features]:
            raise ValueError(f"capabilities say nothing of: {', '.join(missing)}")

    def first_missing(self, needs: Iterable[Feature]) -> Feature | None:
        """The first of ``needs`` (in the order of Feature) that the engine cannot express."""
        needs = set(needs)
        return next((f for f in Feature if f in needs and self.features[f].how == "unsupported"), None)

    def runs(self, program: str) -> bool:
        """Whether it runs the program "scenario/program" at all."""
        return self.idiom is None or self.idiom.program == program

    def takes(self, case: Case, program: Program) -> bool:
        """Whether it can be given a case of this program."""
        if not self.runs(program_ref(case.scenario, case.program)):
            return False
        if any(a.event.event_time > a.watermark + self.ahead for a in case.schedule.arrivals):
            return False
        needs = schedule_needs(case.schedule)
        return self.first_missing(needs if self.idiom else needs | program_needs(program)) is None

    def why_not(self, feature: Feature) -> str:
        """Why a feature is missing, in a line."""
        return f"{feature.value}: {self.features[feature].note}"

    def emulations(self, needs: Iterable[Feature]) -> list[str]:
        """What the adapter emulates of ``needs``, as cells name it."""
        needs = set(needs)
        return [
            f"emulated: {self.features[f].note}" for f in Feature if f in needs and self.features[f].how == "emulated"
        ]


def program_needs(program: Program) -> frozenset[Feature]:
    """The features that a program's declarations ask for, and every schedule of it."""
    needs = {Feature.EMISSIONS} | {Feature[cell.name] for cell in program.cells.values()}
    if program.timers:
        needs.add(Feature.PROCESSING_TIMERS if program.processing_time else Feature.EVENT_TIMERS)
    if program.ttl:
        needs.add(Feature.TTL)
    if program.waits:
        needs.add(Feature.PROCESSING_TIME)
    if program.initial:
        needs.add(Feature.INITIAL_STATE)
    if program.inspected:
        needs.add(Feature.INSPECTION)
    if isinstance(program.windowing, FixedWindows):
        needs.add(Feature.FIXED_WINDOWS)
    return frozenset(needs)


def schedule_needs(schedule: Schedule) -> frozenset[Feature]:
    """The features that a schedule's steps ask for."""
    needs = set()
    if any(bundle.initial for bundle in schedule.bundles):
        needs.add(Feature.INITIAL_STATE)
    if sum(not bundle.initial for bundle in schedule.bundles) > 1:
        needs.add(Feature.SEVERAL_BUNDLES)
    for step in schedule.steps:
        if isinstance(step, Restart):
            needs.add(Feature.RESTART)
        elif isinstance(step, FailOnce):
            needs.add(Feature.RESUME if step.resume else Feature.RETRY)
        elif isinstance(step, Partitions):
            needs.add(Feature.PARTITIONS)
        elif isinstance(step, Wait):
            needs.add(Feature.PROCESSING_TIME)
        elif isinstance(step, Advance) and step.coalesced:
            needs.add(Feature.COALESCED)
    moved_between = len(schedule.advances) > 2
    if moved_between or not all(arrival.on_time for arrival in schedule.arrivals):
        needs.add(Feature.WATERMARK)
    return frozenset(needs)


def case_needs(case: Case, program: Program) -> frozenset[Feature]:
    return program_needs(program) | schedule_needs(case.schedule)


def bare(engine: str) -> str:
    """An engine's id without the release that it asks for: ``spark-tws`` of ``spark-tws@4.0.5``."""
    return engine.partition("@")[0]


class CannotRun(Exception):
    """The engine is not to be had here; the message says in one line what is missing and how to get it."""


class EngineGone(Exception):
    """What the engine runs on has ended (a JVM that crashed), so that no further pack can run in this process."""


class NotDriven(Exception):
    """The engine did not run the schedule that was asked for: the harness must not judge what came out."""


class Engine(Protocol):
    """One engine and API. ``open`` starts it, ``run`` may be called many times (from as many threads at once as its
    capabilities say), ``close`` always ends it.

    ``evidence`` maps an unsupported feature to what the engine itself answered when it was asked for it. An engine may also
    have ``package``, what it is installed from on PyPI: then it can be asked for in a release (``ID@VERSION``), with
    ``beside(version)``, requirements that a version does not declare itself; and ``lacks()``, which says in a line that the
    installed release does not have its API at all, or "".

    It may have ``begin(pack, programs, folder)``, which runs a pack up to its first restart, leaving all that the rest needs in
    the folder, and ``resume(pack, programs, folder)``, which runs the rest, perhaps in another release, and gives the whole
    ``PackRun``. Then it can be asked for as ``ID@OLD+NEW``: begun in one release, resumed in the other.
    """

    id: str
    title: str
    capabilities: Capabilities

    def check(self) -> None:
        """Raise CannotRun where the engine's framework or runtime is missing. Cheap; starts nothing."""

    def open(self, folder: Path) -> None:
        """Start the engine; temporary files go below ``folder``."""

    def close(self) -> None: ...

    def environment(self) -> dict[str, str]:
        """Versions and the settings that can change an answer."""

    def evidence(self) -> dict[Feature, str]: ...

    def run(self, pack: Pack, programs: Mapping[str, Program]) -> PackRun:
        """Run the cases of a pack together. ``programs`` maps "scenario/program" to the program.

        Raises:
            NotDriven: the engine's own progress does not match the schedule.
            EngineGone: what it runs on has ended.
        """


@dataclass(frozen=True)
class Family:
    """Engines that one entry point stands for: ``id`` alone, where ``alone`` says so, and ``id:variant``. ``variants``
    says of each what it is, in words; ``make("")`` makes the plain one. ``all`` says that the variants are run by default,
    too. ``ports`` says that they are users' own operators, there when they are loaded."""

    make: Callable[[str], Engine]
    variants: Mapping[str, str]
    alone: bool = True
    all: bool = False
    ports: bool = False


@dataclass
class EngineInfo:
    """An engine as a run met it: what results record of it. ``lacks`` says that its release does not have the API; ``adapter``
    identifies the source of its adapter; ``packs`` is how many it ran, of how many."""

    id: str
    title: str
    capabilities: Capabilities
    environment: dict[str, str] = field(default_factory=dict)
    evidence: dict[Feature, str] = field(default_factory=dict)
    failure: str = ""
    adapter: str = ""
    packs: tuple[int, int] = (0, 0)
    lacks: str = ""
