"""The steps of a schedule. Each kind of step has one class. The class says how the step is stored, described and named,
which features an engine needs for it, and where in a schedule it may stand.

A subclass of ``Step`` with a ``key`` of its own is a new kind. Schedules, files, needs, texts, pictures and coverage
then know it. Adapters map each kind to a construct of their engine. An engine that lacks one of the kind's ``needs``
never gets that kind.

All times are integers, milliseconds since the epoch, UTC.
"""

from conformance.model.steps.kinds import (
    CRASH_POINTS,
    DONE_POINTS,
    PLUS,
    SLACK,
    Advance,
    Crash,
    Deliver,
    FailOnce,
    NoData,
    Partitions,
    Plan,
    Restart,
    SinkFails,
    Wait,
)
from conformance.model.steps.step import Event, InvalidSchedule, Place, Step

__all__ = [
    "CRASH_POINTS",
    "DONE_POINTS",
    "PLUS",
    "SLACK",
    "Advance",
    "Crash",
    "Deliver",
    "Event",
    "FailOnce",
    "InvalidSchedule",
    "NoData",
    "Partitions",
    "Place",
    "Plan",
    "Restart",
    "SinkFails",
    "Step",
    "Wait",
]
