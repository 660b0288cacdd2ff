"""Features: what a case or a guarantee may need of an engine, and how an engine offers them."""

from dataclasses import dataclass
from enum import Enum


class Feature(Enum):
    """What a case or a guarantee may need of an engine."""

    SEVERAL_BUNDLES = "several bundles"
    WATERMARK = "a watermark driven between bundles"
    FIXED_WINDOWS = "fixed windows"
    COALESCED = "an advance that does not settle before the next bundle"
    NO_DATA = "a bundle without any element"
    PARTITIONS = "a number of partitions to choose"
    RESTART = "a restart from the checkpoint"
    RETRY = "a failed attempt that is retried within the job"
    RESUME = "a failed job that resumes from its checkpoint"
    SINK_FAILURE = "a failure of the sink, after which the job resumes from its checkpoint"
    CRASH = "a kill at a chosen point of a bundle, after which the job resumes from what it had written"
    DAMAGE = "a restart on a damaged checkpoint"
    NEXT_VERSION = "a next version of the program behind a restart"
    NEXT_OPERATOR = "another operator behind a restart"
    NEXT_QUERY = "another query around a program behind a restart"
    NEXT_SETTINGS = "other settings behind a restart"
    NEXT_CLIENT = "another kind of client behind a restart"
    NEXT_API = "a job of another API that begins with what a reader of the state finds"
    REPARTITION = "stored state that is partitioned anew between two jobs"
    PROCESSING_TIME = "processing time driven between bundles"
    EVENT_TIMERS = "event-time timers"
    PROCESSING_TIMERS = "processing-time timers"
    TTL = "a time to live of state"
    INITIAL_STATE = "state that a job starts with"
    INSPECTION = "stored state read from outside the job"
    ROW_COUNT = "the engine's own count of stored rows"
    LATE_COUNTER = "a counter of rows dropped as late"
    VALUE = "value state"
    UNTYPED = "values of state without a type"
    NULL = "a null as a value of state"
    BAG = "bag state"
    MAP = "map state"
    SET = "set state"
    COMBINING = "combining state"
    TYPED = "typed state"
    CONTAINERS = "arrays and maps as typed state"
    MISFITS = "an answer to a write that does not fit its type"
    TYPED_KEYS = "typed keys"
    NULL_KEYS = "a null as a key"
    EMISSIONS = "any number of emissions per call"
    CURRENT_TIME = "the query's own current time in its output"
    OUTPUT_TIME = "an event time that the engine gives each output"


ON_A_CHECKPOINT = (
    Feature.DAMAGE,
    Feature.NEXT_VERSION,
    Feature.NEXT_OPERATOR,
    Feature.NEXT_QUERY,
    Feature.NEXT_SETTINGS,
    Feature.NEXT_CLIENT,
    Feature.NEXT_API,
    Feature.REPARTITION,
)
"""What may change while nothing runs, between a job and the one that goes on from its checkpoint."""


@dataclass(frozen=True, slots=True)
class Support:
    """How an engine offers a feature. ``how`` is native, emulated or unsupported. ``note`` names the emulation, the
    bounds of what is native, or the reason for the lack and the version that showed it."""

    how: str
    note: str = ""


NATIVE = Support("native")


def limited(note: str) -> Support:
    """The engine's own, in the bounds that the note gives; cells that need the feature say so."""
    return Support("native", note)


def emulated(note: str) -> Support:
    return Support("emulated", note)


def unsupported(reason: str) -> Support:
    return Support("unsupported", reason)
