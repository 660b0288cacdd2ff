"""Witnesses: the smallest case that speaks against a guarantee, as a plain file that replays on any engine."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from conformance.guarantees import Scenario
from conformance.model import DRAIN, Case, InvalidSchedule, Json, Schedule, Trace, digest
from conformance.reading import json_of

SCHEMA = "conformance/witness/1"


class UnreadableWitness(ValueError):
    """A file that is not a witness of this version, or that was edited; the message says which."""


@dataclass(frozen=True)
class Confirmation:
    """In how many of some runs alone a witness failed, on one engine with one configuration and one adapter. ``engine`` is an id
    without the release, which ``versions`` has."""

    engine: str
    versions: Mapping[str, str]
    adapter: str
    failed: int
    runs: int

    def same_engine(self, other: Confirmation) -> bool:
        """One engine in one version and configuration, whatever its adapter."""
        return self.engine == other.engine and dict(self.versions) == dict(other.versions)


@dataclass(frozen=True)
class Flip:
    """The one change that makes the claim stand: in words, and the schedule with it."""

    change: str
    schedule: Schedule


@dataclass(frozen=True)
class Witness:
    """One case (and the case it is the twin of, for a relation), where it failed and how.

    Attributes:
        case: what to run. Its perturbation is what it takes to fail, "" where any schedule will do.
        seen, base_seen: the engine's traces.
        specified: the reference's trace: what was expected.
        packed_seen: the engine's trace in a pack, where the case never failed alone.
        reduction: what was tried to make it smaller.
    """

    guarantee: str
    claim: str
    case: Case
    base: Case | None
    engine: str
    versions: Mapping[str, str]
    message: str
    seen: Trace
    specified: Trace
    base_seen: Trace | None = None
    packed_seen: Trace | None = None
    flip: Flip | None = None
    reduction: Mapping[str, Json] = field(default_factory=dict)
    confirmations: tuple[Confirmation, ...] = ()

    @property
    def id(self) -> str:
        """Identifies what to run and what to ask, by content, and the engine it was found on."""
        return digest([self._content(), self.engine])

    def _content(self) -> Json:
        return {
            "scenario": self.case.scenario,
            "program": self.case.program,
            "guarantee": self.guarantee,
            "perturbation": self.case.perturbation,
            "schedule": self.case.schedule.to_json(),
            "base_schedule": self.base.schedule.to_json() if self.base else None,
        }

    def to_json(self) -> Json:
        flip = {"change": self.flip.change, "schedule": self.flip.schedule.to_json()} if self.flip else None
        data = {
            "schema": SCHEMA,
            "id": self.id,
            **self._content(),
            "claim": self.claim,
            "engine": self.engine,
            "versions": dict(self.versions),
            "message": self.message,
            "seen": self.seen.to_json(),
            "specified": self.specified.to_json(),
            "base_seen": self.base_seen.to_json() if self.base_seen else None,
            "packed_seen": self.packed_seen.to_json() if self.packed_seen else None,
            "flip": flip,
            "reduction": dict(self.reduction),
            "confirmations": [asdict(confirmation) for confirmation in self.confirmations],
        }
        return data | {"checksum": digest(data)}

    @classmethod
    def from_json(cls, data: Any, name: str = "witness") -> Witness:
        found = data.get("schema") if isinstance(data, dict) else None
        if found != SCHEMA:
            raise UnreadableWitness(
                f"{name} is not a witness of this version (its schema is {found!r}, not {SCHEMA!r})"
            )
        content = {key: value for key, value in data.items() if key != "checksum"}
        if digest(content) != data.get("checksum"):
            raise UnreadableWitness(f"{name} was edited: its checksum does not fit its content; take the original")
        try:
            base = None
            if data["base_schedule"] is not None:
                base = Case.from_json({**data, "schedule": data["base_schedule"], "perturbation": "", "base": ""})
            case = Case.from_json({**data, "base": base.id if base else ""})
            flip = data["flip"]
            found = cls(
                guarantee=data["guarantee"],
                claim=data["claim"],
                case=case,
                base=base,
                engine=data["engine"],
                versions=data["versions"],
                message=data["message"],
                seen=Trace.from_json(data["seen"]),
                specified=Trace.from_json(data["specified"]),
                base_seen=_trace(data["base_seen"]),
                packed_seen=_trace(data["packed_seen"]),
                flip=Flip(flip["change"], Schedule.from_json(flip["schedule"])) if flip else None,
                reduction=data["reduction"],
                confirmations=tuple(Confirmation(**confirmation) for confirmation in data["confirmations"]),
            )
            for trace in (found.seen, found.specified, found.packed_seen):
                _check_steps(case, trace)
            _check_steps(base, found.base_seen)
            return found
        except InvalidSchedule as error:
            raise UnreadableWitness(f"{name} holds an invalid schedule: {error}") from None
        except (KeyError, TypeError) as error:
            raise UnreadableWitness(f"{name} is not a whole witness: {error!r}") from None

    @classmethod
    def read(cls, path: Path) -> Witness:
        return cls.from_json(json_of(path, UnreadableWitness), str(path))

    def write(self, path: Path) -> None:
        path.write_text(json.dumps(self.to_json(), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def signature(message: str) -> str:
    """How a guarantee failed: a predicate's message without its numbers, times, events, keys and values, so that cases that fail
    the same way have the same."""
    for pattern, put in (
        (r"\{[^{}]*\}", "#"),
        (r"\bkey \S+?(?=[\s,;:.]|$)", "key #"),
        (r"\b[a-z]?\d+\b", "#"),
        (r"#(?:, #)+", "#"),
    ):
        message = re.sub(pattern, put, message)
    return message


def _check_steps(case: Case | None, trace: Trace | None) -> None:
    """Raise InvalidSchedule where a trace has emissions in steps that its schedule does not have."""
    if case is not None and trace is not None:
        known = {step.id for step in case.schedule.steps} | {DRAIN}
        if stray := [e.step for e in trace.emissions if e.step not in known]:
            raise InvalidSchedule(f"an emission in step {stray[0]}, which there is not")


def _trace(data: Json) -> Trace | None:
    return None if data is None else Trace.from_json(data)


def stored_witnesses(folders: Iterable[Path], scenarios: Iterable[Scenario]) -> list[Witness]:
    """The witnesses of some folders, each once, that are of these scenarios, in the order of their names; those of a guarantee or a
    program that is no more are left out.

    Raises:
        UnreadableWitness: a file is not a witness, or was edited.
    """
    known = {(s.id, g.program, name) for s in scenarios for name, g in s.askable.items()}
    found = [Witness.read(path) for folder in folders for path in sorted(folder.glob("*.json"))]
    unique = {witness.id: witness for witness in found}
    return [w for w in unique.values() if (w.case.scenario, w.case.program, w.guarantee) in known]
