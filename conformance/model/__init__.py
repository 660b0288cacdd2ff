"""The vocabulary: all names that scenarios and engines import.

Modules of this project import the submodules. Scenarios and engines of other projects write ``from conformance.model
import …``.
"""

from conformance.model import types
from conformance.model.case import Case, program_ref
from conformance.model.engine import CannotRun, Capabilities, Engine, EngineGone, Family, NativeOperator, NotDriven
from conformance.model.equivalence import Equivalence
from conformance.model.feature import NATIVE, Feature, Support, emulated, limited, unsupported
from conformance.model.keys import TypedKey
from conformance.model.lateness import Lateness, LatenessProfile
from conformance.model.plan import PlanTwin
from conformance.model.program import Cell, EngineFault, FixedWindows, GlobalWindow, JobKind, Program
from conformance.model.runs import Pack, PackRun, ProgramCount, StepCount
from conformance.model.scenario import Domain, Guarantee, Guarantees, Observation, Scenario, Source, promise
from conformance.model.schedule import (
    Advance,
    Arrival,
    Deliver,
    Event,
    FailOnce,
    InvalidSchedule,
    NoData,
    Partitions,
    Plan,
    Restart,
    Schedule,
    SinkFails,
    Step,
    Wait,
    renumbered,
)
from conformance.model.trace import DRAIN, Emission, Trace
from conformance.model.types import Refused, Type
from conformance.model.values import Json, canonical

__all__ = [
    "DRAIN",
    "NATIVE",
    "Advance",
    "Arrival",
    "CannotRun",
    "Capabilities",
    "Case",
    "Cell",
    "Deliver",
    "Domain",
    "Emission",
    "Engine",
    "EngineFault",
    "EngineGone",
    "Equivalence",
    "Event",
    "FailOnce",
    "Family",
    "Feature",
    "FixedWindows",
    "GlobalWindow",
    "Guarantee",
    "Guarantees",
    "InvalidSchedule",
    "JobKind",
    "Json",
    "Lateness",
    "LatenessProfile",
    "NativeOperator",
    "NoData",
    "NotDriven",
    "Observation",
    "Pack",
    "PackRun",
    "Partitions",
    "Plan",
    "PlanTwin",
    "Program",
    "ProgramCount",
    "Refused",
    "Restart",
    "Scenario",
    "Schedule",
    "SinkFails",
    "Source",
    "Step",
    "StepCount",
    "Support",
    "Trace",
    "Type",
    "TypedKey",
    "Wait",
    "canonical",
    "emulated",
    "limited",
    "program_ref",
    "promise",
    "renumbered",
    "types",
    "unsupported",
]
