"""What scenarios of several rooms say or ask in the same way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import partial, wraps

from conformance.model.equivalence import Equivalence
from conformance.model.feature import Feature
from conformance.model.next_version import change_of, ended_well
from conformance.model.perturbation import RESTART, RESUME, RETRY
from conformance.model.program import Program
from conformance.model.scenario import Finding, Guarantee, Observation
from conformance.model.schedule import Arrival
from conformance.model.trace import Emission
from conformance.support.grouping import grouped

Predicate = Callable[[Observation], Iterator[Finding]]


DRIVEN = frozenset({Feature.WATERMARK})
"""What a guarantee needs that is put to the test only where the watermark goes by the schedule."""


def survives(
    what: str, program: str, alike: Equivalence = Equivalence.IDENTICAL, needs: frozenset[Feature] = frozenset()
) -> tuple[Guarantee, Guarantee]:
    """That a program's output is the same after a restart, and after a failure in a bundle. ``what`` is the subject of
    both sentences, with its verb."""
    related = partial(Guarantee, program=program, alike=alike, needs=needs)
    return (
        related(f"{what} the same after a restart", same_under=(RESTART,)),
        related(f"{what} the same after a failure in a bundle", same_under=(RETRY, RESUME)),
    )


def each_once(field: str, told: str) -> Predicate:
    """Each on-time element is named once in this field, or in the lists that it holds. ``told`` says what its name
    being there {} times means; it may name the element's {key}."""

    def predicate(run: Observation) -> Iterator[Finding]:
        named = [found for _, value in run.tagged(field) for found in (value if isinstance(value, list) else [value])]
        times = Counter(named)
        for event in (arrival.event for arrival in run.on_time):
            found = times[event.id]
            yield found == 1 or f"{event.id} {told.format(found, key=event.key)}"

    return predicate


def once(told: str, times: int) -> Finding:
    """Whether something came once. ``told`` says what came, with its verb."""
    return times == 1 or f"{told} {times} times"


def of_one_key(field: str, what: str) -> Predicate:
    """The elements that this field names have the key that it came out under. Exercised where there are several
    keys."""

    def predicate(run: Observation) -> Iterator[Finding]:
        if len(run.arrivals_by_key) > 1:
            for emission, found in named(run, field):
                others = [arrival for arrival in found if arrival.event.key != emission.key]
                told = f"{what} {names(found)} is of key {emission.key}, and {names(others)} is not"
                yield not others or told

    return predicate


def names(arrivals: Iterable[Arrival]) -> str:
    return ", ".join(arrival.event.id for arrival in arrivals)


def named(run: Observation, field: str) -> Iterator[tuple[Emission, list[Arrival]]]:
    """(emission, the arrivals of the elements that this field names, in its order)."""
    arrivals = {arrival.event.id: arrival for arrival in run.arrivals}
    for emission, found in run.tagged(field):
        yield emission, [arrivals[id] for id in (found if isinstance(found, list) else [found])]


def unless_it_ended(predicate: Predicate, may_refuse: bool = True) -> Predicate:
    """The predicate of a next version that goes on. One that ended is asked how, and nothing else."""

    @wraps(predicate)
    def asked(run: Observation) -> Iterator[Finding]:
        if not (ended := [*run.values("refused"), *run.values("failed")]):
            yield from predicate(run)
        else:
            yield from ended_well(ended) if may_refuse else [f"it went on with nothing: {ended[0]}"]

    return asked


def of_change(first: Program, change: str, predicate: Predicate, may_refuse: bool) -> Predicate:
    """The predicate of a next version that goes on, asked of the cases that are about this change of the first one."""
    asked = unless_it_ended(predicate, may_refuse)
    return lambda run: asked(run) if change_of(run.case, first) == change else iter(())


def where_the_watermark_moves(predicate: Predicate) -> Predicate:
    """The predicate, exercised where the watermark moves more than once: with one move, nothing can come in another
    step."""

    @wraps(predicate)
    def asked(run: Observation) -> Iterator[Finding]:
        return predicate(run) if len(run.case.schedule.advances) > 2 else iter(())

    return asked


def in_its_step(run: Observation, what: str, time: int, step: int, how: str = "came out") -> Finding:
    """Whether something came in the step of the first advance that reaches its time (ms)."""
    due = run.case.schedule.due(time)
    return step == due or f"{what} is due in step {due} and {how} in step {step}"


def reached(run: Observation, step: int) -> int:
    """The watermark (ms) that a step is behind."""
    return max(advance.watermark for advance in run.case.schedule.advances if advance.id <= step)


def not_before(run: Observation, what: str, time: int, step: int, how: str = "came out") -> Finding:
    """Whether the watermark had reached the time (ms) of something by the step that it came in."""
    watermark = reached(run, step)
    return watermark >= time or f"{what} {how} at the watermark {watermark}"


def in_order(field: str, told: str) -> Predicate:
    """What a key puts out in one step comes out in the order of this field. ``told`` names the key, and what came."""

    def predicate(run: Observation) -> Iterator[Finding]:
        found = grouped(((emission.key, emission.step), value) for emission, value in run.tagged(field))
        for (key, step), values in found.items():
            if len(values) > 1:
                yield values == sorted(values) or f"in step {step} {told.format(key, values)}"

    return predicate
