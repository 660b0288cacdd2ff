"""The export "teststream" for Beam's own transforms: the pipeline as a user writes it."""

from __future__ import annotations

from typing import NamedTuple

from conformance.engines import exporting
from conformance.model.export import CannotExport, Exportable

NATIVE = {"beam-native:": "beam-direct", "beam-prism-native:": "beam-prism"}
"""How the ids of such engines begin -> the engine whose runner they run on."""


class Transform(NamedTuple):
    """Source of what is applied to ``rows``, with names of the program's parameters, or the ``size`` and ``lateness``
    of its windows, in braces, all in ms; and of the expression that gives the value of an ``element`` in a
    ``window``."""

    apply: str
    value: str


def _in(windows: str) -> str:
    return f"beam.WindowInto({windows})"


FIXED = "window.FixedWindows({size} / 1000)"
COUNTED = "beam.combiners.Count.PerKey()"
IN_WINDOW = "dict(count=element[1], window=window.start.micros // 1000)"

EVERY_ELEMENT = """beam.WindowInto(
            window.GlobalWindows(),
            trigger=trigger.Repeatedly(trigger.AfterCount(1)),
            accumulation_mode=trigger.AccumulationMode.ACCUMULATING,
        )"""
LATE_TOO = """beam.WindowInto(
            window.FixedWindows({size} / 1000),
            trigger=trigger.AfterWatermark(late=trigger.AfterCount(1)),
            accumulation_mode=trigger.AccumulationMode.ACCUMULATING,
            allowed_lateness={lateness} / 1000,
        )"""
SESSION = (
    "dict(end=window.end.micros // 1000, ids=sorted(id for id, _ in element[1]), start=window.start.micros // 1000)"
)

TRANSFORMS = {
    "count": Transform(f"{EVERY_ELEMENT} | {COUNTED}", "dict(count=element[1])"),
    "windows": Transform(f"{_in(FIXED)} | {COUNTED}", IN_WINDOW),
    "late-windows": Transform(f"{LATE_TOO} | {COUNTED}", IN_WINDOW),
    "sliding-windows": Transform(
        f"{_in('window.SlidingWindows({size} / 1000, {slide} / 1000)')} | {COUNTED}", IN_WINDOW
    ),
    "sessions": Transform(f"{_in('window.Sessions({gap} / 1000)')} | beam.GroupByKey()", SESSION),
    "batches": Transform(
        f"{_in(FIXED)} | beam.GroupIntoBatches({{batch}})", "dict(batch=[id for id, _ in element[1]])"
    ),
}
"""By the part of the engine's id behind NATIVE. What a transform leaves out of what the program puts out is not among
them."""

SHOW = """
def show(element, window=beam.DoFn.WindowParam):
    return [element[0], {value}]
"""


def runner_of(engine: str) -> str:
    """The engine whose runner an engine's transform runs on, "" for an engine of another kind."""
    return next((runner for begin, runner in NATIVE.items() if engine.startswith(begin)), "")


def source_of(asked: Exportable) -> tuple[str, str]:
    """Source that defines ``show``, and of the transform with it behind. Raises CannotExport for a transform that
    exports do not have."""
    found = TRANSFORMS.get(asked.engine.partition(":")[2])
    if found is None:
        raise CannotExport(f"witness {asked.witness}: exports do not have the transform of {asked.engine}")
    apply = exporting.filled(found.apply, asked)
    return SHOW.replace("{value}", found.value), f"{apply} | beam.Map(show).with_output_types(Any)"
