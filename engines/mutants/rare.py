"""Bugs that few cases have: those that a case's own content picks out."""

from conformance.engines.case_run import CaseRun, TimerId
from conformance.engines.mutants.registry import bug, bug_of
from conformance.model.program import Output
from conformance.model.schedule import Event


class _Rare(CaseRun):
    """The bug is there in one case of ``one_in``."""

    one_in = 30

    @property
    def hit(self) -> bool:
        return int(self.case.digest[:6], 16) % self.one_in == 0


@bug_of(CaseRun.process, "one case of thirty loses the output of its last element", _Rare)
def one_case_of_thirty_loses_output(run: _Rare, event: Event) -> None:
    kept = len(run.emissions)
    _Rare.process(run, event)
    if run.hit and event is run.case.schedule.arrivals[-1].event:
        del run.emissions[kept:]


@bug_of(CaseRun.settle, "one case of thirty loses its state with an advance", _Rare)
def one_case_of_thirty_loses_state(run: _Rare) -> None:
    if run.hit:
        run.state.clear()
    _Rare.settle(run)


@bug_of(CaseRun.fire, "in one case of thirty timers fire twice", _Rare)
def one_case_of_thirty_fires_twice(run: _Rare, timer: TimerId, time: int) -> None:
    _Rare.fire(run, timer, time)
    if run.hit:
        _Rare.fire(run, timer, time)


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
