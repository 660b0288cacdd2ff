"""Lateness profiles: when an engine's operator refuses a row as late."""

from dataclasses import dataclass
from enum import Enum

from conformance.model.program import FixedWindows, Program


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
