"""beam-native: Beam's own transforms in the place of programs, on the bundle-based DirectRunner as beam-direct drives
and proves it.

Nothing in these transforms is ours, so nothing can be made to fail after they wrote state. ``Distinct`` is not among
them: its output does not say which of several equal elements came out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from conformance.engines.beam.pipelines import framework as beam
from conformance.engines.beam.runners.direct import CAPABILITIES, BeamDirect
from conformance.engines.native import FORGETS_SILENTLY, NO_TIMERS, windows_of
from conformance.model.engine import Capabilities, Family, NativeOperator
from conformance.model.feature import NATIVE, Feature, unsupported
from conformance.model.lateness import Lateness, LatenessProfile
from conformance.model.program import Cell, Program

if TYPE_CHECKING:
    from conformance.engines.beam.pipelines.pipeline import Branch

NO_PROGRAM = unsupported("a transform of Beam's own (2.77.0) runs no program")

LACKING = {
    **dict.fromkeys(
        (
            *(Feature[cell.name] for cell in Cell),
            *(
                Feature.UNTYPED,
                Feature.NULL,
                Feature.NULL_KEYS,
                Feature.TYPED,
                Feature.CONTAINERS,
                Feature.MISFITS,
                Feature.TYPED_KEYS,
                Feature.EVENT_TIMERS,
                Feature.PROCESSING_TIMERS,
            ),
        ),
        NO_PROGRAM,
    ),
    Feature.RETRY: unsupported(
        "the transform is Beam's own (2.77.0): nothing in it can be made to fail after it wrote state"
    ),
}
"""What no transform has, on any runner."""

COMPARES_KEYS = dict.fromkeys((Feature.TYPED_KEYS, Feature.NULL_KEYS), NATIVE)


def count(elements: Any, program: Program) -> Any:
    from apache_beam.transforms import trigger, window

    from conformance.engines.beam.native import outputs

    every_element = beam.WindowInto(
        window.GlobalWindows(),
        trigger=trigger.Repeatedly(trigger.AfterCount(1)),
        accumulation_mode=trigger.AccumulationMode.ACCUMULATING,
    )
    return elements | every_element | beam.combiners.Count.PerKey() | beam.ParDo(outputs.Counts())


def deduplicate(elements: Any, program: Program) -> Any:
    from apache_beam.transforms.deduplicate import DeduplicatePerKey

    from conformance.engines.beam.native import outputs

    horizon = program.parameters["horizon"]
    return elements | DeduplicatePerKey(event_time_duration=horizon / 1000) | beam.ParDo(outputs.Accepted())


def sessions(elements: Any, program: Program) -> Any:
    from apache_beam.transforms import window

    from conformance.engines.beam.native import outputs

    into = beam.WindowInto(window.Sessions(program.parameters["gap"] / 1000))
    return elements | into | beam.GroupByKey() | beam.ParDo(outputs.Sessions())


def windows(elements: Any, program: Program) -> Any:
    from apache_beam.transforms import window

    return _counts(elements, window.FixedWindows(windows_of(program).size / 1000))


def sliding_windows(elements: Any, program: Program) -> Any:
    from apache_beam.transforms import window

    size, slide = (program.parameters[name] / 1000 for name in ("size", "slide"))
    return _counts(elements, window.SlidingWindows(size, slide))


def _counts(elements: Any, windows: Any) -> Any:
    from conformance.engines.beam.native import outputs

    return elements | beam.WindowInto(windows) | beam.combiners.Count.PerKey() | beam.ParDo(outputs.WindowCounts())


def windows_joined(elements: Any, program: Program) -> Any:
    from apache_beam.transforms import window

    from conformance.engines.beam.native import outputs

    in_windows = elements | beam.WindowInto(window.FixedWindows(windows_of(program).size / 1000))
    counted = {
        name: in_windows
        | f"the {name}" >> beam.Filter(outputs.of_side, name)
        | f"count the {name}" >> beam.combiners.Count.PerKey()
        for name in ("lefts", "rights")
    }
    return counted | beam.CoGroupByKey() | beam.ParDo(outputs.JoinedCounts())


def revised(elements: Any, program: Program) -> Any:
    from apache_beam.transforms import trigger, window

    from conformance.engines.beam.native import outputs

    late_too = beam.WindowInto(
        window.FixedWindows(windows_of(program).size / 1000),
        trigger=trigger.AfterWatermark(late=trigger.AfterCount(1)),
        accumulation_mode=trigger.AccumulationMode.ACCUMULATING,
        allowed_lateness=windows_of(program).allowed_lateness / 1000,
    )
    return elements | late_too | beam.combiners.Count.PerKey() | beam.ParDo(outputs.WindowCounts())


def batches(elements: Any, program: Program) -> Any:
    from apache_beam.transforms import window

    from conformance.engines.beam.native import outputs

    into = beam.WindowInto(window.FixedWindows(windows_of(program).size / 1000))
    return elements | into | beam.GroupIntoBatches(program.parameters["batch"]) | beam.ParDo(outputs.Batches())


def panes(words: str, *programs: str) -> NativeOperator:
    """What stands in the place of some of the programs of ``panes``."""
    first, *others = (f"panes/{program}" for program in programs)
    return NativeOperator(first, words, also=tuple(others))


PARTS = "triggers and other parts of pipelines"


@dataclass(frozen=True)
class Transform:
    """A native operator as Beam runs it: ``apply`` puts it on elements, with the parameters of the program that it does
    the job of; None where each program has a transform of its own (``native_panes``). ``lateness`` is what it is
    documented to refuse."""

    native_operator: NativeOperator
    apply: Callable[[Any, Program], Any] | None
    lateness: Lateness = Lateness.NEVER


TRANSFORMS = {
    "count": Transform(
        NativeOperator("per-key-counting/count", "Count.PerKey(), fired at every element, accumulating"),
        count,
    ),
    "deduplicate": Transform(
        NativeOperator(
            "dedup-within-watermark/dedup",
            "DeduplicatePerKey(event_time_duration)",
            FORGETS_SILENTLY,
        ),
        deduplicate,
    ),
    "sessions": Transform(
        NativeOperator(
            "session-timeout/sessions",
            "Sessions and GroupByKey()",
            NO_TIMERS,
            whole=("session-timeout/sessions",),
        ),
        sessions,
        Lateness.WINDOW_EXPIRED,
    ),
    "windows": Transform(
        NativeOperator(
            "windowed-counting/windows", "FixedWindows and Count.PerKey()", whole=("windowed-counting/windows",)
        ),
        windows,
        Lateness.WINDOW_EXPIRED,
    ),
    "sliding-windows": Transform(
        NativeOperator(
            "sliding-windows/windows", "SlidingWindows and Count.PerKey()", whole=("sliding-windows/windows",)
        ),
        sliding_windows,
        Lateness.WINDOW_EXPIRED,
    ),
    "windows-joined": Transform(
        NativeOperator(
            "operators-in-a-row/joined windows",
            "FixedWindows, Count.PerKey() of both sides and CoGroupByKey()",
            whole=("operators-in-a-row/joined windows",),
        ),
        windows_joined,
        Lateness.WINDOW_EXPIRED,
    ),
    "late-windows": Transform(
        NativeOperator(
            "windowed-counting/revised",
            "FixedWindows with allowed lateness and Count.PerKey()",
            whole=("windowed-counting/revised",),
        ),
        revised,
        Lateness.WINDOW_EXPIRED,
    ),
    "batches": Transform(
        NativeOperator("batching-per-key/batches", "GroupIntoBatches()", whole=("batching-per-key/batches",)), batches
    ),
    "count-typed-keys": Transform(
        NativeOperator("typed-keys-of-operators/count", "Count.PerKey() of typed keys, fired at every element"), count
    ),
    "deduplicate-typed-keys": Transform(
        NativeOperator("typed-keys-of-operators/dedup", "DeduplicatePerKey(event_time_duration) of typed keys"),
        deduplicate,
    ),
    "panes": Transform(
        panes(PARTS, "early", "either", "accumulated", "paused", "two outputs"), None, Lateness.WINDOW_EXPIRED
    ),
    "grouped-batches": Transform(
        panes("GroupIntoBatches() and GroupByKey()", "grouped batches"), None, Lateness.WINDOW_EXPIRED
    ),
    "never-firing": Transform(
        panes("GroupByKey() with a trigger that never fires", "never"), None, Lateness.WINDOW_EXPIRED
    ),
}
"""By variant. What ends the pipelines of a runner has pipelines for itself."""


def capabilities_of(transform: Transform, runner: Capabilities, host: str) -> Capabilities:
    """The capabilities of a transform, from those of the engine that runs programs on the same runner. ``host`` is the
    transform's own."""
    by_key = transform.native_operator.program.startswith("typed-keys-of-operators/")
    return Capabilities(
        {**runner.features, **LACKING, **(COMPARES_KEYS if by_key else {})},
        LatenessProfile(transform.lateness, transform.lateness),
        largest_pack=runner.largest_pack,
        host=host,
        each=1,
        native_operator=transform.native_operator,
        plans=runner.plans,
        plans_together=runner.plans_together,
    )


def applied(transform: Transform, branch: Branch) -> Any:
    """What comes out of a branch with a transform in the place of its programs."""
    if transform.apply is None:
        from conformance.engines.beam.native.panes import Applied

        return branch.own | f"on {branch.name}" >> Applied(branch.programs)
    program = branch.programs[transform.native_operator.program]
    if branch.typed is None:
        return transform.apply(branch.own, program)
    from conformance.engines.beam.native.outputs import ByTypedKey

    return branch.own | f"on {branch.name}" >> ByTypedKey(transform.apply, program, branch.typed)


class BeamNative(BeamDirect):
    asks, compares = (), ()

    def __init__(self, variant: str) -> None:
        self._variant = variant
        self.id, self.title = f"beam-native:{variant}", f"Beam {TRANSFORMS[variant].native_operator.words}"
        self.capabilities = capabilities_of(TRANSFORMS[variant], CAPABILITIES, "beam-native")
        self.apart = TRANSFORMS[variant].apply is None

    def apply(self, branch: Branch) -> Any:
        return applied(TRANSFORMS[self._variant], branch)


FAMILY = Family(
    BeamNative,
    {variant: transform.native_operator.words for variant, transform in TRANSFORMS.items()},
    alone=False,
    all=True,
)
