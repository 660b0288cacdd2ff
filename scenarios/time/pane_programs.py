"""The programs of ``panes``: what the parts of a pipeline do, as stateful operators."""

from __future__ import annotations

from conformance.model.program import Cell, Emit, Program, State, Timer, Timers
from conformance.model.schedule import Event
from conformance.scenarios.stories.windowed_counting import REVISED, WINDOW

COUNT = 2
"""How many elements an early pane waits for."""

BATCH = 10
"""How many elements make a batch full: more than a case has. One full batch in a pipeline lets the bundle-based runner
end well (Beam 2.77.0)."""

PAUSE = 14_000
"""How long (ms of processing time) a pane waits: longer than one wait of a schedule, and shorter than two."""


class Panes(Program):
    """Puts out what is left of a window when the window ends. How many elements are left is counted apart from them."""

    cells = {"pane": Cell.BAG, "left": Cell.COMBINING}
    timers = ("end",)
    times = ("window",)
    windowing = WINDOW

    def on_event(self, event: Event, state: State, timers: Timers, emit: Emit) -> None:
        state.pane.add(event.id)
        state.left.add(1)
        timers.set("end", WINDOW.expiry(event.event_time))

    def on_timer(self, timer: Timer, state: State, timers: Timers, emit: Emit) -> None:
        if state.left.get():
            self.fire(timer.time - WINDOW.size, state, emit)

    def fire(self, start: int, state: State, emit: Emit) -> None:
        emit({"pane": sorted(state.pane.get()), "window": start})
        state.pane.clear()
        state.left.clear()


class Never(Panes):
    """A trigger that waits for more elements than come, so a window comes out at its end alone."""

    parameters = {"count": 1_000}


class GroupedBatches(Panes):
    """Batches of BATCH elements, none of which gets full before its window ends, are grouped again."""

    parameters = {"batch": BATCH}


class Early(Panes):
    """A pane as soon as there are COUNT elements for it."""

    parameters = {"count": COUNT}

    def on_event(self, event: Event, state: State, timers: Timers, emit: Emit) -> None:
        super().on_event(event, state, timers, emit)
        if state.left.get() >= COUNT:
            self.fire(WINDOW.start(event.event_time), state, emit)


class Either(Early):
    """A pane whenever one of two triggers fires: at COUNT elements, and when the window ends."""


class Accumulated(Program):
    """A pane after each COUNT elements, at the window's end, and after each element from then on. Each has all elements
    so far."""

    cells = {"all": Cell.BAG, "new": Cell.COMBINING, "ended": Cell.VALUE}
    timers = ("end", "expire")
    times = ("window",)
    windowing = REVISED
    parameters = {"count": COUNT}

    def on_event(self, event: Event, state: State, timers: Timers, emit: Emit) -> None:
        start = REVISED.start(event.event_time)
        state.all.add(event.id)
        state.new.add(1)
        if not state.ended.get():
            timers.set("end", start + REVISED.size)
            timers.set("expire", REVISED.expiry(event.event_time))
        if state.ended.get() or state.new.get() >= COUNT:
            self.fire(start, state, emit)

    def on_timer(self, timer: Timer, state: State, timers: Timers, emit: Emit) -> None:
        if timer.name == "end":
            state.ended.set(True)
            self.fire(timer.time - REVISED.size, state, emit)
        else:
            for cell in (state.all, state.new, state.ended):
                cell.clear()

    def fire(self, start: int, state: State, emit: Emit) -> None:
        emit({"pane": sorted(state.all.get()), "window": start})
        state.new.clear()


class Paused(Program):
    """A pane PAUSE after its first element."""

    cells = {"pane": Cell.BAG}
    timers = ("pause",)
    processing_time = True
    parameters = {"pause": PAUSE}

    def on_event(self, event: Event, state: State, timers: Timers, emit: Emit) -> None:
        if not state.pane.get():
            timers.set_after("pause", PAUSE)
        state.pane.add(event.id)

    def on_timer(self, timer: Timer, state: State, timers: Timers, emit: Emit) -> None:
        emit({"pane": sorted(state.pane.get())})
        state.pane.clear()


class BesideCounts(Panes):
    """When the window ends, each element with the number of its key's elements in the window."""

    def fire(self, start: int, state: State, emit: Emit) -> None:
        for event in sorted(state.pane.get()):
            emit({"pane": [event], "count": state.left.get(), "window": start})
        state.pane.clear()
        state.left.clear()


class TwoOutputs(Panes):
    """Each element at once, and all of them when the window ends."""

    def on_event(self, event: Event, state: State, timers: Timers, emit: Emit) -> None:
        super().on_event(event, state, timers, emit)
        emit({"now": event.id})
