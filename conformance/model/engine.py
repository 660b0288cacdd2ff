"""What the core asks of an engine: its capabilities as data, and one method that runs a pack."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import combinations
from pathlib import Path
from typing import Protocol, runtime_checkable

from packaging.version import Version

from conformance.model.case import Case
from conformance.model.feature import ON_A_CHECKPOINT, Feature, Support, unsupported
from conformance.model.lateness import LatenessProfile
from conformance.model.next_version import versions
from conformance.model.plan import PlanTwin
from conformance.model.program import OF_VALUES, Cell, FixedWindows, JobKind, Program
from conformance.model.runs import Pack, PackRun
from conformance.model.schedule import Schedule
from conformance.model.types import has_container


@dataclass(frozen=True)
class NativeOperator:
    """An engine's or a user's own operator that does the job of one program. The operator runs in the program's place.
    The program's guarantees judge its output.

    Attributes:
        program: "scenario/program".
        words: the operator's name for readers, such as ``dropDuplicatesWithinWatermark()``.
        silent: guarantees (ids) that the operator's output says nothing about -> the reason.
        compared: whether the output should equal the program's. If so, it is compared with the reference and other
            engines.
        also: programs like ``program``, of the same parameters, whose job the operator does as well.
        whole: those of its programs all of whose output it should put out, once, and nothing else.
    """

    program: str
    words: str
    silent: Mapping[str, str] = field(default_factory=dict)
    compared: bool = False
    also: tuple[str, ...] = ()
    whole: tuple[str, ...] = ()

    @property
    def programs(self) -> tuple[str, ...]:
        """All programs that the operator does the job of."""
        return self.program, *self.also


UNNAMED = dict.fromkeys(
    (
        Feature.OUTPUT_TIME,
        Feature.SINK_FAILURE,
        Feature.CRASH,
        *ON_A_CHECKPOINT,
        Feature.CURRENT_TIME,
    ),
    unsupported("the adapter does not name it"),
)
"""Features that are younger than adapters may be. Capabilities need not name them."""


@dataclass(frozen=True)
class Capabilities:
    """An engine's abilities as data. ``conformance list engines`` prints them; cells of missing features are
    unsupported.

    Attributes:
        largest_pack: the most cases in one engine run.
        largest_waiting_pack: the most cases in a run with waits. Such a run says nothing if the engine adds much
            processing time to its waits: to 8 steps with TTLs, 863 cases add 8 to 16 s on spark-tws-pandas, 120 add 3
            to 5 s (Spark 4.3.0, 2 cores).
        parallel: how many packs the engine runs at a time. Where that is several, one that waits runs beside them.
        heavy: the engine takes seconds to start and for every run. Heavy engines run one at a time, light ones beside
            them.
        host: engines of one host take turns in one process, and share its slow start (of a JVM).
        plans_together: the most plans in one query: on some engines each makes the query as long again.
        each: in how many rows of the engine's suite each level of each perturbation is. An engine that shares its
            implementation with another one is asked once.
        common: people use it more than most, so that a run in a given time begins with it.
        quick: whether a quick run includes the engine.
        native_operator: the operator that runs in place of a program. Such an engine takes the cases of its programs
            alone.
        ahead: the program's parameter that says how far (ms) an event may lie ahead of the watermark that it meets; ""
            for any distance.
        plans: the queries that the engine can build around its operator beside the plain one.
        stores: where the engine can keep its state -> the plan (id) that has it there, "" for the plain query.
    """

    features: Mapping[Feature, Support]
    lateness: LatenessProfile
    largest_pack: int = 2_000
    largest_waiting_pack: int = 120
    parallel: int = 1
    heavy: bool = False
    host: str = ""
    each: int = 2
    plans_together: int = 14
    common: bool = False
    quick: bool = False
    native_operator: NativeOperator | None = None
    ahead: str = ""
    plans: tuple[PlanTwin, ...] = ()
    stores: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "features", {**UNNAMED, **self.features})
        if missing := [feature.value for feature in Feature if feature not in self.features]:
            raise ValueError(f"capabilities say nothing of: {', '.join(missing)}")

    @property
    def threads(self) -> int:
        """From how many threads at once the engine is asked."""
        return self.parallel + (self.parallel > 1)

    @cached_property
    def _lacks(self) -> frozenset[Feature]:
        return frozenset(feature for feature, support in self.features.items() if support.how == "unsupported")

    def first_missing(self, needs: Iterable[Feature]) -> Feature | None:
        """The first of ``needs`` (in the order of Feature) that the engine cannot express."""
        missing = self._lacks.intersection(needs)
        return next((feature for feature in Feature if feature in missing), None) if missing else None

    def runs(self, program: str) -> bool:
        """Whether the engine runs the program "scenario/program" at all."""
        return self.native_operator is None or program in self.native_operator.programs

    def takes(self, case: Case, program: Program) -> bool:
        """Whether the engine can run a case of this program."""
        if not self.runs(case.ref):
            return False
        if self.ahead:
            ahead = program.parameters[self.ahead]
            if any(a.event.event_time > a.watermark + ahead for a in case.schedule.arrivals):
                return False
        if self.no_plan(case.schedule):
            return False
        needs = schedule_needs(case.schedule) if self.native_operator else case_needs(case, program)
        return self.first_missing(needs) is None

    def plan(self, plan_id: str) -> PlanTwin:
        """The plan with this id. Raises KeyError."""
        return self._plans[plan_id]

    @cached_property
    def _plans(self) -> Mapping[str, PlanTwin]:
        return {plan.id: plan for plan in self.plans}

    def no_plan(self, schedule: Schedule) -> str:
        """Why the engine cannot build the query of a schedule, "" if it can."""
        parts = schedule.plans
        if unknown := next((part for part in parts if part not in self._plans), ""):
            return f"it has no plan {unknown!r}"
        pairs = combinations(parts, 2)
        apart = next((pair for pair in pairs if not self.plan(pair[0]).meets(self.plan(pair[1]))), ())
        return f"its plans {apart[0]!r} and {apart[1]!r} do not stand in one query" if apart else ""

    def leaves_state(self, schedule: Schedule) -> bool:
        """Whether what the query of a schedule stored can be read in the end. Each of its plans has a say."""
        return all(self.plan(part).leaves_state for part in schedule.plans)

    def why_not(self, feature: Feature) -> str:
        """Why a feature is missing, in a line."""
        return f"{feature.value}: {self.features[feature].note}"

    def emulations(self, needs: Iterable[Feature]) -> list[str]:
        """The adapter's emulations among ``needs``, and the bounds of what is native, as cells name them."""
        needs = set(needs)
        offers = [self.features[f] for f in Feature if f in needs]
        prefixes = {"emulated": "emulated: ", "native": ""}
        notes = [prefixes[s.how] + s.note for s in offers if s.how == "emulated" or (s.how == "native" and s.note)]
        return list(dict.fromkeys(notes))


@lru_cache(maxsize=1_000)  # asked for each case
def program_needs(program: Program) -> frozenset[Feature]:
    """The features that a program's declarations ask for, whatever the schedule."""
    needs = {Feature.EMISSIONS} | {Feature[cell.name] for cell in program.cells.values()}
    if program.timers:
        needs.add(Feature.PROCESSING_TIMERS if program.processing_time else Feature.EVENT_TIMERS)
    if program.ttl:
        needs.add(Feature.TTL)
    if any(cell in OF_VALUES and name not in program.types for name, cell in program.cells.items()):
        needs.add(Feature.UNTYPED)
    if program.types:
        needs.add(Feature.TYPED)
    if any(program.cells[name] is Cell.BAG or has_container(kind) for name, kind in program.types.items()):
        needs.add(Feature.CONTAINERS)
    if program.keys:
        needs.add(Feature.TYPED_KEYS)
    if any(key.value is None for key in program.keys.values()):
        needs.add(Feature.NULL_KEYS)
    if program.misfits:
        needs.add(Feature.MISFITS)
    if program.stamped:
        needs.add(Feature.CURRENT_TIME)
    if program.timed:
        needs.add(Feature.OUTPUT_TIME)
    if program.waits:
        needs.add(Feature.PROCESSING_TIME)
    if program.job is not JobKind.PLAIN:
        needs.add(Feature[program.job.name])
    if isinstance(program.windowing, FixedWindows):
        needs.add(Feature.FIXED_WINDOWS)
    return frozenset(needs)


def schedule_needs(schedule: Schedule) -> frozenset[Feature]:
    """The features that a schedule's steps ask for."""
    return schedule.needs


def case_needs(case: Case, program: Program) -> frozenset[Feature]:
    return schedule_needs(case.schedule).union(*map(program_needs, versions(case, program)))


def bare(engine: str) -> str:
    """An engine's id without the release that it asks for: ``spark-tws`` of ``spark-tws@4.0.5``."""
    return engine.partition("@")[0]


class CannotRun(Exception):
    """The engine is not available here. The message says in one line what is missing and how to get it."""


class EngineGone(Exception):
    """The engine's runtime has ended (a JVM crashed). No further pack can run in this process."""


class NotDriven(Exception):
    """The engine did not run the requested schedule. The harness must not judge the output."""


class Engine(Protocol):
    """One engine and API. ``open`` starts the engine. ``run`` may be called many times, from as many threads at once as
    its capabilities have. ``close`` always ends the engine.

    ``evidence`` maps an unsupported feature to the engine's own answer to a request for it. The protocols below declare
    what an engine can do beyond this: ``Released``, ``Dated``, ``Resumable``, ``Configurable``, ``Sourced``. An engine
    implements a protocol by having all of its members; naming the protocol is not needed.
    """

    id: str
    title: str

    @property
    def capabilities(self) -> Capabilities: ...

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
            EngineGone: the engine's runtime has ended.
        """


@runtime_checkable
class Released(Protocol):
    """An engine whose framework comes in releases. ``ID@VERSION`` asks for one of them.

    Attributes:
        package: the framework's name on PyPI.
        foreign: environment variables that would make a release load files of another installation. The engine's
            process does not get them.
    """

    package: str
    foreign: tuple[str, ...] = ()

    def beside(self, version: Version) -> Iterable[str]:
        """Requirements that a version needs but does not declare."""
        return ()

    def lacks(self) -> str:
        """A line that says that the installed release does not have the engine's API at all; "" where it has. ``lacks``
        may be called before ``open``."""
        return ""


@runtime_checkable
class Replaced(Protocol):
    """An engine in whose place a quick run asks another one where a release lacks its API.

    Attributes:
        instead: the id of that engine.
    """

    instead: str


@runtime_checkable
class Dated(Protocol):
    """An engine whose capabilities differ between the releases of its framework."""

    def date(self, versions: Iterable[Version]) -> None:
        """Have the capabilities that all of these releases have. Without a call, they are those of the installed
        release."""


@runtime_checkable
class Resumable(Protocol):
    """An engine that can go on from another release's checkpoint. ``ID@OLD+NEW`` asks for the engine begun in one
    release and resumed in the other, ``ID@NEW+OLD+NEW`` for one that then goes on in the first release again."""

    def begin(self, pack: Pack, programs: Mapping[str, Program], folder: Path) -> None:
        """Run a pack up to its first restart or, in a folder that another release has left, up to the next one. Leave
        in the folder all that ``resume`` needs. Raises as ``run``."""

    def resume(self, pack: Pack, programs: Mapping[str, Program], folder: Path) -> PackRun:
        """Run the rest of the pack, perhaps in another release. Return the run of the whole pack. Raises as ``run``."""


@dataclass(frozen=True)
class Setting:
    """A value that users may give to the engines that declare it.

    Attributes:
        help: the purpose of the value, in a line.
        envvar: the environment variable that gives the value where no option does, "" for none. Only the user's own
            process reads it.
    """

    help: str
    envvar: str = ""


@runtime_checkable
class Configurable(Protocol):
    """An engine, or a checker, that takes settings of its users.

    Attributes:
        settings: the name of an option without dashes (``master`` for ``--master``) -> its setting. Engines that
            declare the same name share its value.
    """

    settings: Mapping[str, Setting]

    def configure(self, values: Mapping[str, str]) -> None:
        """Take values, in each process, before ``check`` and ``open``. A setting without a value keeps its default."""


ACCEPTED = "accepted"
"""The answer to a question that was not refused. ``ACCEPTED: `` and a text tells what the engine did as well."""


def is_accepted(answer: str) -> bool:
    """Whether a question with this answer was not refused."""
    return answer.partition(": ")[0] == ACCEPTED


SQLSTATE = ", SQLSTATE "
"""What stands before the SQLSTATE of an error in an answer."""


def same_answer(one: str, other: str) -> bool:
    """Whether two answers tell no difference. A release whose errors do not tell their SQLSTATE says nothing of it."""
    if SQLSTATE in one and SQLSTATE in other:
        return one == other
    return one.partition(SQLSTATE)[0] == other.partition(SQLSTATE)[0]


@runtime_checkable
class Questioned(Protocol):
    """An engine that is asked whether it takes certain queries or calls.

    Attributes:
        questions: name -> the query or call, in words. Its documents say whether it is refused.
    """

    questions: Mapping[str, str]

    def answers(self) -> Mapping[str, str]:
        """Name -> ACCEPTED, ACCEPTED with what the engine did, or "refused: " and the engine's own class or condition
        of the error. ``answers`` is called after ``open``."""


@runtime_checkable
class Revised(Protocol):
    """An engine whose author identifies the adapter by a text, ``revision``. The adapter's modules then do not
    count."""

    revision: str


@runtime_checkable
class Sourced(Protocol):
    """An engine whose behaviour also depends on files of the user's, ``sources``."""

    sources: Iterable[Path]


@runtime_checkable
class Rooted(Protocol):
    """An engine whose answers also depend on what no package manager of Python lists: Java, a binary, a cluster."""

    def roots(self) -> Mapping[str, str] | None:
        """Name -> version, or another text that changes where the answers may. None if that is not known before
        ``open``: traces are then not kept for later runs. Cheap; starts nothing; may be called before ``open``."""


@dataclass(frozen=True)
class Family:
    """The engines of one entry point: ``id:variant`` for each variant, and plain ``id``.

    Attributes:
        make: variant -> engine; ``make("")`` makes the plain one.
        variants: variant -> its description.
        alone: whether there is a plain one.
        all: whether the variants run by default, too.
        ports: whether the variants are users' own operators, which exist once they are loaded.
        seeded: whether the variants are mutants. Only the self-test runs mutants by default. ``make`` then also takes
            two at once, "one+two".
    """

    make: Callable[[str], Engine]
    variants: Mapping[str, str]
    alone: bool = True
    all: bool = False
    ports: bool = False
    seeded: bool = False


@dataclass
class EngineInfo:
    """An engine as a run met it, for the results. ``lacks`` says that its release does not have the API. ``adapter``
    identifies the source of its adapter. ``packs`` is how many packs it ran, of how many. ``kept`` is how many of its
    answers an earlier run had kept, and the day (YYYY-MM-DD, UTC) of the oldest. ``answers`` has what it refuses
    (``Questioned``)."""

    id: str
    title: str
    capabilities: Capabilities
    environment: dict[str, str] = field(default_factory=dict)
    evidence: dict[Feature, str] = field(default_factory=dict)
    failure: str = ""
    adapter: str = ""
    packs: tuple[int, int] = (0, 0)
    lacks: str = ""
    kept: tuple[int, str] = (0, "")
    answers: dict[str, str] = field(default_factory=dict)
