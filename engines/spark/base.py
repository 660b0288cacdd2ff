"""What the Spark engines have in common: one session, one folder per pack, and the capabilities that come from how
schedules are driven, whatever the API."""

from __future__ import annotations

import copy
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from packaging.version import Version

from conformance.engines.planned import named, twins
from conformance.engines.spark.plans import plans
from conformance.engines.spark.plans.around import Runs, SparkPlan, composed
from conformance.engines.spark.plans.settings import OTHER_STORES, STORES
from conformance.engines.spark.refused import refusals
from conformance.engines.spark.runtime import releases, session
from conformance.model.engine import CannotRun, Capabilities, EngineGone, Replaced, Setting
from conformance.model.feature import NATIVE, Feature, Support, emulated, limited, unsupported
from conformance.model.lateness import Lateness, LatenessProfile
from conformance.model.program import Program
from conformance.model.runs import Pack, PackRun
from conformance.model.schedule import Schedule
from conformance.support.release import in_release

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from conformance.engines.spark.checkpoint.stored import StoredRow
    from conformance.engines.spark.jobs.job import Job
    from conformance.engines.spark.operators.operator import OperatorInput

DRIVEN: Mapping[Feature, Support] = {
    Feature.SEVERAL_BUNDLES: NATIVE,
    Feature.WATERMARK: NATIVE,
    Feature.PROCESSING_TIME: NATIVE,
    Feature.COALESCED: NATIVE,
    Feature.NO_DATA: NATIVE,
    Feature.PARTITIONS: NATIVE,
    Feature.RESTART: NATIVE,
    Feature.RETRY: NATIVE,
    Feature.RESUME: NATIVE,
    Feature.SINK_FAILURE: NATIVE,
    Feature.CRASH: NATIVE,
    Feature.DAMAGE: NATIVE,
    Feature.NEXT_VERSION: NATIVE,
    Feature.NEXT_QUERY: NATIVE,
    Feature.NEXT_SETTINGS: NATIVE,
    Feature.NEXT_CLIENT: NATIVE,
    Feature.NEXT_API: unsupported("no newer API does what this one does (Spark 4.3.0)"),
    Feature.REPARTITION: NATIVE,
    Feature.NEXT_OPERATOR: unsupported(
        "each version of a program has the one operator that runs programs (Spark 4.3.0)"
    ),
    Feature.FIXED_WINDOWS: emulated("window in key"),
    Feature.LATE_COUNTER: limited(
        "Spark counts late rows of a micro-batch for all programs of the query together; "
        "the rows that a program received are counted for each program"
    ),
    Feature.CURRENT_TIME: unsupported("a program is no expression of the query (Spark 4.3.0)"),
    Feature.EMISSIONS: NATIVE,
    Feature.OUTPUT_TIME: unsupported(
        "a row that an operator puts out has the columns that the program fills, and no time beside them (Spark 4.3.0)"
    ),
}

ROW_FILTER = LatenessProfile(Lateness.AT_OR_BEHIND, Lateness.AT_OR_BEHIND)
"""What the row filter of stateful operators drops (Spark 4.3.0)."""


def capabilities(
    features: Mapping[Feature, Support],
    mine: Mapping[str, SparkPlan],
    each: int = 2,
    largest_pack: int = 2_000,
    quick: bool = False,
    common: bool = False,
) -> Capabilities:
    """Those of a Spark engine with these plans, with what its API adds or lacks."""
    # A query leaves much of two cores idle: two at a time take two thirds of the time (Spark 4.3.0).
    return Capabilities(
        {**DRIVEN, **features},
        ROW_FILTER,
        largest_pack,
        parallel=2,
        heavy=True,
        host="spark",
        each=each,
        common=common,
        quick=quick,
        plans=twins(mine),
    )


@contextmanager
def _telling_of_its_end() -> Iterator[None]:
    """Raises EngineGone in the place of what is raised within, if Spark's JVM has ended."""
    try:
        yield
    except Exception:
        if gone := session.gone():
            raise EngineGone(gone) from None
        raise


class SparkEngine:
    """Base of the Spark engines. Subclasses say who they are, and ``apply`` their operator.

    Attributes:
        can: the capabilities in a release that lacks nothing.
        api: the method of grouped data or of a DataFrame that the engine needs, where older releases of PySpark have
            none.
        mode: the output mode of its queries.
        store: the name of the state store that its state is in.
        chains: a timer set by a timer takes another micro-batch to fire.
        plans: name -> what stands around the operator in a query of that plan.
        asks: the queries (of ``refusals``) that it is asked about.
        compares: those that it is asked about beside, where it runs in a release that is compared with another one.
        sides: how often the operator reads the stream.
        classic: it cannot run through Spark Connect.
        moves_to: the engine of the API that users move such jobs to.
    """

    id: str
    title: str
    can: Capabilities
    package = "pyspark"
    foreign = releases.FOREIGN
    beside = staticmethod(releases.beside)
    settings: Mapping[str, Setting] = session.SETTINGS
    configure = staticmethod(session.configure)
    roots = staticmethod(session.roots)
    api = ""
    mode = "append"
    store = "rocksdb"
    chains = True
    plans: Mapping[str, SparkPlan] = plans.PLANS
    asks: tuple[str, ...] = ()
    compares: tuple[str, ...] = ()
    sides = 1
    classic = False
    moves_to: type[SparkEngine] | None = None

    def __init__(self, variant: str = "") -> None:
        if variant:
            self.id, self.store = f"{self.id}:{variant}", variant
        self._spark: Any = None

    @cached_property
    def capabilities(self) -> Capabilities:
        return self.able_in(releases.installed())

    def date(self, versions: Iterable[Version]) -> None:
        self.capabilities = self.able_in(list(versions))

    def able_in(self, versions: Sequence[Version]) -> Capabilities:
        """The capabilities that all of these releases have."""
        can, lacking = releases.dated(self.can, versions), dict[Feature, Support]()
        if self.classic:
            alone = unsupported("the JVM's Dataset API cannot be reached through Spark Connect (Spark 4.3.0)")
            lacking[Feature.NEXT_CLIENT] = alone
        if session.remote():
            lacks = unsupported("a client of Spark Connect has no StreamingCheckpointManager, and no classic session")
            lacking |= {Feature.NEXT_CLIENT: lacks, Feature.REPARTITION: lacks}
        others = {store: plan for store, plan in OTHER_STORES.items() if plan in self.plans and store != self.store}
        return replace(can, features={**can.features, **lacking}, stores={self.store: "", **others})

    def check(self) -> None:
        session.check()
        if self.classic and session.remote():
            raise CannotRun(f"{self.id}: the JVM's Dataset API cannot be reached through Spark Connect (Spark 4.3.0)")

    def lacks(self) -> str:
        """That the installed release does not have the engine's API."""
        import pyspark
        from pyspark.sql import DataFrame, GroupedData

        if not self.api or hasattr(GroupedData, self.api) or hasattr(DataFrame, self.api):
            return ""
        other = f" (try {self.instead})" if isinstance(self, Replaced) and releases.released() >= (4, 0) else ""
        return f"PySpark {pyspark.__version__} has no {self.api}{other}"

    def open(self, folder: Path) -> None:
        self._folder = folder / self.id.replace(":", "-")
        self._folder.mkdir()
        self._spark = session.start(folder)

    def close(self) -> None:
        if self._spark is not None:
            session.stop()
        self._spark = None

    def environment(self) -> dict[str, str]:
        return session.environment(self._session({}))

    def evidence(self) -> dict[Feature, str]:
        return {}

    @property
    def questions(self) -> Mapping[str, str]:
        return {name: refusals.REFUSALS[name].words for name in (*self.asks, *self.compares)}

    def answers(self) -> Mapping[str, str]:
        return refusals.answers((*self.asks, *(self.compares if in_release() else ())), self._session)

    def run(self, pack: Pack, programs: Mapping[str, Program]) -> PackRun:
        from conformance.engines.spark.jobs import onward

        return onward.joined([self._run(part, programs) for part in onward.apart(pack, programs)])

    def _run(self, pack: Pack, programs: Mapping[str, Program]) -> PackRun:
        folder = Path(tempfile.mkdtemp(prefix="job-", dir=self._folder))
        try:
            if self._plan(pack).runs is Runs.CONNECT and not session.remote():
                return self._through_connect(pack, programs, folder)
            with self._job(pack, programs, folder) as job:
                job.begin()
                return self._rest(job)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _through_connect(self, pack: Pack, programs: Mapping[str, Program], folder: Path) -> PackRun:
        """The run of a pack by a client of a server in this session's JVM. Raises EngineGone."""
        from conformance.engines.spark.jobs import connected

        with _telling_of_its_end():
            return connected.run(self._closed, self._spark, pack, programs, folder)

    @property
    def _closed(self) -> SparkEngine:
        """This engine as a process takes it that opens it anew."""
        closed = copy.copy(self)
        closed._spark = None
        return closed

    def begin(self, pack: Pack, programs: Mapping[str, Program], folder: Path) -> None:
        """Run a pack up to its next restart, and leave in ``folder`` what the rest goes on from."""
        from conformance.engines.spark.jobs import onward

        for number, part in enumerate(onward.apart(pack, programs)):
            again = (folder / str(number)).exists()
            (folder / str(number)).mkdir(exist_ok=True)
            with self._job(part, programs, folder / str(number)) as job:
                if again:
                    job.take_over()
                job.begin()
                job.leave()

    def resume(self, pack: Pack, programs: Mapping[str, Program], folder: Path) -> PackRun:
        """Run the rest of a pack that was begun in ``folder``."""
        from conformance.engines.spark.jobs import onward

        runs = []
        for number, part in enumerate(onward.apart(pack, programs)):
            with self._job(part, programs, folder / str(number)) as job:
                job.take_over()
                runs.append(self._rest(job))
        return onward.joined(runs)

    def _rest(self, job: Job) -> PackRun:
        """The run of a job that was begun. A plan that Spark refuses, or fails in, has answered."""
        from conformance.engines.spark.jobs import batch_plan, onward
        from conformance.engines.spark.jobs.job import QueryFailed

        try:
            return batch_plan.run(job, self.ends(job.programs)) if job.plan.runs is Runs.BATCH else onward.rest(job)
        except QueryFailed as error:
            if session.gone():
                raise
            return job.unanswered(error)

    @contextmanager
    def _job(self, pack: Pack, programs: Mapping[str, Program], folder: Path) -> Iterator[Job]:
        """A pack as a job in a session of its own. Raises EngineGone."""
        from conformance.engines.spark.checkpoint import crashes
        from conformance.engines.spark.driving import proof
        from conformance.engines.spark.jobs.connected import Beside
        from conformance.engines.spark.jobs.job import Api, Job

        spark = None
        try:
            with _telling_of_its_end():
                settings = {"spark.sql.shuffle.partitions": str(proof.partitions_of(pack))}
                settings |= session.NO_EMPTY_BATCHES if Schedule(pack.timeline).waits else {}
                plan = self._plan(pack)
                spark = self._session({**settings, **plan.settings, **crashes.settings_for(pack)})
                reaches = self.capabilities.first_missing({Feature.NEXT_CLIENT}) is None
                api = Api(
                    self.apply,
                    self.mode,
                    self.chains,
                    self.delay(programs),
                    self.sides,
                    self.stored,
                    self.mode_of,
                    Beside(self._closed, self._spark, pack, programs) if reaches else None,
                    self.moves_to().apply if self.moves_to else None,
                )
                yield Job(spark, folder, pack, programs, api, plan)
        finally:
            if spark and session.remote():
                spark.stop()

    def _plan(self, pack: Pack) -> SparkPlan:
        """What stands around the operator. Raises NotDriven if the pack asks for plans that the engine does not build,
        or not at once."""
        return composed(named(Schedule(pack.timeline), self.plans))

    def _session(self, settings: Mapping[str, str]) -> Any:
        """A session with these settings and those of this configuration."""
        return session.own(self._spark, {**STORES[self.store], **settings})

    def delay(self, programs: Mapping[str, Program]) -> int:
        """The watermark's delay (ms). It is the harness's own where the operator does not read it."""
        from conformance.engines.spark.driving import micro_batches

        return micro_batches.DELAY

    def mode_of(self, change: str) -> str:
        """The output mode of the query that goes on with a change of the program."""
        return self.mode

    def stored(self, job: Job, batch: int) -> Iterable[StoredRow]:
        """What is stored after a micro-batch, of what the programs ask for."""
        return ()

    def ends(self, programs: Mapping[str, Program]) -> str:
        """When (ms, in SQL) an output row of a batch query comes out of the stream; "" for at once."""
        return ""

    def apply(self, given: OperatorInput) -> DataFrame:
        """The API's operator on a stream of input rows, or on a table of them."""
        raise NotImplementedError
