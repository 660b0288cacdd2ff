"""Exports: a witness as one file that runs on its engine's framework alone, without this project.

The entry points ``conformance.exports`` register formats: a name -> a function from ``Exportable`` to the text of a
Python file. The function raises ``CannotExport`` where the format does not fit.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from enum import Enum
from typing import Any

from conformance.model.case import Case
from conformance.model.program import JobKind, Program
from conformance.model.steps import Advance, Deliver, Restart, Step
from conformance.model.trace import Trace
from conformance.model.types import Type
from conformance.model.values import Json, canonical

LONG = 40
"""A text of more characters is written as a shorter one times a number, if it is one."""


class CannotExport(ValueError):
    """A format does not fit a witness. The message says why, in one line."""


class OfSibling(CannotExport):
    """A format has no files for a witness's engine, but has them for siblings of it.

    Attributes:
        siblings: engines with the operator of this one in another language, the nearest first -> their names in words.
    """

    def __init__(self, asked: Exportable, siblings: Mapping[str, str]) -> None:
        self.siblings = siblings
        super().__init__(f"witness {asked.witness} is of {asked.engine}, which has no files")


class Difference(Enum):
    """What tells an engine's output from the reference's: the rows, only the order of a key's rows, or only the steps
    that they come out in."""

    ROWS = "rows"
    ORDER = "order"
    STEPS = "steps"


@dataclass(frozen=True)
class Exportable:
    """A witness, as a format sees it.

    Attributes:
        witness: its id.
        scenario, claim: what is claimed, in words.
        message: how the engine's output speaks against the claim.
        program: the program of ``case``.
        source: the source of its class where that is not in a module, "" where it is.
        uses: functions that this source calls.
        engine, versions: where it was found; the engine's id names no release.
        seen, specified: what the engine put out, and what the reference put out.
        one_of_two: the claim is that two schedules give the same, and ``case`` is one of the two.
        observed: whether the file is to fail where the engine puts out anything else than what was seen, and not where
            it puts out anything else than the reference.
        stands_for: a sentence on the witness of another engine that the file is written for, "" for none.
    """

    witness: str
    scenario: str
    claim: str
    message: str
    program: Program
    case: Case
    engine: str
    versions: Mapping[str, str]
    seen: Trace
    specified: Trace
    one_of_two: bool = False
    observed: bool = False
    stands_for: str = ""
    source: str = ""
    uses: tuple[Callable[..., Any], ...] = ()

    @property
    def test_name(self) -> str:
        """The name of its test function."""
        return f"test_witness_{self.witness}"

    @property
    def difference(self) -> Difference:
        """What tells the engine's output from the reference's.

        Raises:
            CannotExport: nothing that was put out does.
        """
        seen, specified = rows(self.seen), rows(self.specified)
        if Counter(map(canonical, seen)) != Counter(map(canonical, specified)):
            return Difference.ROWS
        if _by_key(seen) != _by_key(specified):
            return Difference.ORDER
        if _with_steps(self.seen) != _with_steps(self.specified):
            return Difference.STEPS
        raise CannotExport(
            f"witness {self.witness}: {self.engine} put out the rows that the reference put out, so no file can "
            "show them differ"
        )

    def by_step(self, trace: Trace) -> list[list[Json]]:
        """The rows of ``rows``, each behind the number of its step, from 0, among the steps that move the watermark,
        bring rows or restart the job. For schedules that ``check_steps`` takes."""
        counted = (step.id for step in self.case.schedule.steps if isinstance(step, Advance | Deliver | Restart))
        numbers = {step: number for number, step in enumerate(counted)}
        return [[numbers[e.step], *row] for e, row in zip(trace.judged, rows(trace), strict=True)]

    @property
    def typed_keys(self) -> tuple[Type, Mapping[str, Any]] | None:
        """The type of the keys, and what each key of the case stands for by its name; None for texts.

        Raises:
            CannotExport: the keys have several types, or one is a null.
        """
        names = dict.fromkeys(arrival.event.key for arrival in self.case.schedule.arrivals)
        found = {name: self.program.typed_key(name) for name in names} if self.program.keys else {}
        if not found:
            return None
        if len({key.type for key in found.values()}) > 1 or any(key.value is None for key in found.values()):
            raise CannotExport(
                f"witness {self.witness} needs keys of several types, or a null, which exports do not have"
            )
        return next(iter(found.values())).type, {name: key.value for name, key in found.items()}

    def check_steps(self, others: tuple[type[Step], ...] = ()) -> None:
        """Raises CannotExport for a schedule with other steps than bundles, advances that settle and ``others``, and
        for a program that an export has no cells or no clock for."""
        for step in self.case.schedule.steps:
            plain = isinstance(step, Deliver) and not step.initial
            settles = isinstance(step, Advance) and not step.coalesced
            if not (plain or settles or isinstance(step, others)):
                raise CannotExport(
                    f"witness {self.witness} needs a step that exports do not have: {type(step).__name__}, step "
                    f"{step.id}"
                )
        lacks = {
            "processing time": self.program.waits,
            "initial state": self.program.job is JobKind.INITIAL_STATE,
            "a damaged checkpoint": self.program.job is JobKind.DAMAGE,
            "a next version of the program": self.program.job in (JobKind.NEXT_VERSION, JobKind.NEXT_OPERATOR),
            "reading stored state": self.program.read_from_outside,
        }
        if lacking := [words for words, used in lacks.items() if used]:
            raise CannotExport(f"witness {self.witness}: its program needs {lacking[0]}, which exports do not have")
        if any(e.error for e in (*self.seen.emissions, *self.specified.emissions)):
            raise CannotExport(
                f"witness {self.witness}: its program stops with an exception, which exports do not show"
            )


def literal(value: Any) -> str:
    """The source of a value of a type."""
    if isinstance(value, tuple | list):
        within = ", ".join(map(literal, value))
        return f"({within},)" if isinstance(value, tuple) else f"[{within}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{literal(key)}: {literal(each)}' for key, each in value.items())}}}"
    if isinstance(value, str | bytes) and len(value) > LONG:
        period = (2 * value).find(value, 1)  # type: ignore[arg-type]
        return f"{value[:period]!r}{f' * {len(value) // period}' * (period < len(value))}"
    if isinstance(value, float) and (math.isnan(value) or math.isinf(value)):
        return f'float("{value}")'
    if isinstance(value, date):
        return f"{type(value).__name__}.fromisoformat({value.isoformat()!r})"
    return repr(value)


def rows(trace: Trace) -> list[list[Json]]:
    """What was put out in a schedule's steps, as rows: key, value, and the event time (ms) where one was given."""
    return [[e.key, e.value, *([] if e.event_time is None else [e.event_time])] for e in trace.judged]


def _with_steps(trace: Trace) -> Counter[str]:
    return Counter(canonical([e.step, *row]) for e, row in zip(trace.judged, rows(trace), strict=True))


def _by_key(found: list[list[Json]]) -> dict[str, list[Json]]:
    keys: dict[str, list[Json]] = {}
    for key, *rest in found:
        keys.setdefault(str(key), []).append(rest)
    return keys
