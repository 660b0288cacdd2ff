"""Bugs that few cases have: those that a case's own content picks out."""

from __future__ import annotations

from conformance.engines.case_run import CaseRun, TimerId
from conformance.engines.mutants.registry import bug
from conformance.model.program import Output
from conformance.model.schedule import Event


class _Rare(CaseRun):
    """The bug is there in one case of ``one_in``."""

    one_in = 30

    @property
    def hit(self) -> bool:
        return int(self.case.digest[:6], 16) % self.one_in == 0


@bug("one case of thirty loses the output of its last element")
class OneCaseOfThirtyLosesOutput(_Rare):
    def process(self, event: Event) -> None:
        kept = len(self.emissions)
        super().process(event)
        if self.hit and event is self.case.schedule.arrivals[-1].event:
            del self.emissions[kept:]


@bug("one case of thirty loses its state with an advance")
class OneCaseOfThirtyLosesState(_Rare):
    def settle(self) -> None:
        if self.hit:
            self.state.clear()
        super().settle()


@bug("in one case of thirty timers fire twice")
class OneCaseOfThirtyFiresTwice(_Rare):
    def fire(self, timer: TimerId, time: int) -> None:
        super().fire(timer, time)
        if self.hit:
            super().fire(timer, time)


@bug("one case of a hundred puts everything out twice")
class OneCaseOfAHundredDoubled(_Rare):
    one_in = 100

    def emit(self, key: str, outputs: list[Output]) -> None:
        super().emit(key, outputs)
        if self.hit:
            super().emit(key, outputs)


@bug("one case of a hundred drops the last element of a bundle")
class OneCaseOfAHundredDrops(_Rare):
    one_in = 100

    def arrange(self, events: tuple[Event, ...]) -> tuple[Event, ...]:
        return events[:-1] if self.hit else events
