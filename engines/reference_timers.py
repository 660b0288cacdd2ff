"""The timers of a case on the reference, as a program sees them."""

from typing import Protocol

from conformance.model.program import Program, check_timer


class Run(Protocol):
    """What sets timers: each has a key, the start of a window, a name and a tag."""

    program: Program
    now: int

    def set_timer(self, timer: tuple[str, int, str, str], time: int) -> None: ...
    def clear_timer(self, timer: tuple[str, int, str, str]) -> None: ...


class CaseTimers:
    """The timers of one scope: of a key, and of the start of a window."""

    def __init__(self, run: Run, scope: tuple[str, int]) -> None:
        self._run, self._scope = run, scope

    def set(self, name: str, time: int, tag: str = "") -> None:
        check_timer(self._run.program.timers, name)
        self._run.set_timer((*self._scope, name, tag), time)

    def set_after(self, name: str, ms: int, tag: str = "") -> None:
        self.set(name, self._run.now + ms, tag)

    def clear(self, name: str, tag: str = "") -> None:
        check_timer(self._run.program.timers, name)
        self._run.clear_timer((*self._scope, name, tag))
