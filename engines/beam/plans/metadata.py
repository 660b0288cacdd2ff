"""What Beam keeps beside an output: its time, window and pane. Noted before a transform, and compared behind it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import apache_beam as beam

Told = dict[str, Any]


def _told(time: Any, window: Any, pane: Any) -> Told:
    """Times are in ms."""
    return {"time": time.micros // 1000, "window end": window.end.micros // 1000, "pane": str(pane)}


class Noted(beam.DoFn):
    def process(
        self,
        element: Any,
        time: Any = beam.DoFn.TimestampParam,
        window: Any = beam.DoFn.WindowParam,
        pane: Any = beam.DoFn.PaneInfoParam,
    ) -> Iterator[tuple[Told, Any]]:
        yield _told(time, window, pane), element


class Compared(beam.DoFn):
    """Puts an output out as it was. An output whose metadata changed has a value that says how."""

    def process(
        self,
        element: tuple[Told, Any],
        time: Any = beam.DoFn.TimestampParam,
        window: Any = beam.DoFn.WindowParam,
        pane: Any = beam.DoFn.PaneInfoParam,
    ) -> Iterator[Any]:
        (before, given), now = element, _told(time, window, pane)
        if changed := [
            f"its {name} was {before[name]}, and is {now[name]}" for name in now if now[name] != before[name]
        ]:
            *place, output = given
            given = (*place, replace(output, value={"value": output.value, "changed": ", ".join(changed)}))
        yield given
