"""A port with a next version: the job begins with the port, and goes on with the next version behind a restart.

The scenario of such a port is made of the port's own: the same program and inputs, and one guarantee, which the
guarantees of the program decide.
"""

from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

from conformance.model.feature import Feature
from conformance.model.next_version import Versioned, ended_well
from conformance.model.program import JobKind, Program
from conformance.model.scenario import Finding, Guarantee, Observation, Scenario
from conformance.model.trace import Trace
from conformance.plugins.port import InvalidPort


@dataclass(frozen=True)
class GoesOn:
    """The predicate of the guarantee. ``decide`` are those of the program's guarantees.

    Exercised by a refusal, by a guarantee that does not stand, and by a case that tells whether state was kept: what
    comes out behind the restart cannot be that of a job that begins there, or what came before asks for more.
    """

    decide: tuple[Callable[[Observation], Iterator[Finding]], ...]

    def __call__(self, run: Observation) -> Iterator[Finding]:
        begun = run.case.schedule.restart
        values = [e.value for e in run.emissions if e.step == begun and isinstance(e.value, dict)]
        if ended := [value for value in values if value.keys() & {"refused", "failed"}]:
            yield from ended_well(ended)
            return
        ends, begins = (self._is_whole(_part(run, side)) for side in (lambda id_: id_ < begun, lambda id_: id_ > begun))
        if not (wrong := self._wrong(run)):
            yield from () if ends and begins else (True,)
        elif ends and begins:
            yield f"the state is silently gone: the next version goes on as if nothing had come before it ({wrong})"
        else:  # a fault of the version before, too, would look like this
            yield f"the next version goes on without a word, and a guarantee does not stand: {wrong}"

    def _wrong(self, run: Observation) -> str:
        """What a guarantee says against a run, "" if none does."""
        findings = (finding for predicate in self.decide for finding in predicate(run))
        return next((finding for finding in findings if isinstance(finding, str)), "")

    def _is_whole(self, part: Observation) -> bool:
        """Whether a part of a run could be all of it. A predicate may fail on what could not."""
        try:
            return not self._wrong(part)
        except Exception:
            return False


def _part(run: Observation, has: Callable[[int], bool]) -> Observation:
    """The events and the emissions of some steps (ids), in a job that has all steps."""
    schedule = run.case.schedule
    others = {bundle.id: () for bundle in schedule.bundles if not has(bundle.id)}
    trace = Trace(tuple(emission for emission in run.emissions if has(emission.step)))
    return Observation(replace(run.case, schedule=schedule.with_bundles(others)), trace)


def with_next_version(scenario: Scenario, name: str, where: str) -> Scenario:
    """The scenario of a job that begins with a program, and goes on with the next version of what does its job.

    Raises:
        InvalidPort: the program has no such job. The message begins with ``where``.
    """
    program = scenario.programs[name]
    decide = tuple(g.predicate for g in scenario.guarantees if g.program == name and g.predicate)
    none = f"{where}: {scenario.id}/{name} can have no next version"
    if program.job is not JobKind.PLAIN or program.waits:
        raise InvalidPort(f"{none}: its job is a special one, or goes by processing time")
    if not decide:
        raise InvalidPort(f"{none}: no predicate tells whether state is kept")
    claim = "the next version refuses, or the guarantees of the program stand across the restart"
    return Scenario(
        name=f"{scenario.name}, {name}, next version",
        summary=f"{scenario.summary.rstrip('.')}; the job begins with a port, and its next version goes on.",
        programs={name: _with_successor(program)},
        domain={name: scenario.domain[name]},
        guarantees=(Guarantee(claim, name, GoesOn(decide), needs=frozenset({Feature.NEXT_OPERATOR})),),
        complete=False,
        planned=False,
    )


def _with_successor(program: Program) -> Program:
    """The program, with itself behind a restart: the specification is the same for both versions."""

    def version(**declared: Any) -> Program:
        kind, made = type(program), copy(program)
        versioned = type(kind.__name__, (Versioned, kind), {"job": JobKind.NEXT_OPERATOR, **declared})
        object.__setattr__(made, "__class__", versioned)  # a program may be a frozen dataclass
        return made

    return version(next_versions={"next version": version()})
