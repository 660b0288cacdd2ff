"""Witnesses: the smallest case that speaks against a guarantee, as a plain file that replays on any engine."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conformance.model import Case, InvalidSchedule, Json, Trace, digest

SCHEMA = "conformance/witness/1"


class UnreadableWitness(ValueError):
    """A file that is not a witness of this version, or that was edited; the message says which."""


@dataclass(frozen=True)
class Witness:
    """One case (and the case it is the twin of, for a relation), where it failed and how.

    ``seen`` is the engine's trace, ``specified`` the reference's; for a relation both also exist for the base.
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
        return {
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
        }

    @classmethod
    def from_json(cls, data: Any, name: str = "witness") -> Witness:
        found = data.get("schema") if isinstance(data, dict) else None
        if found != SCHEMA:
            raise UnreadableWitness(
                f"{name} is not a witness of this version (its schema is {found!r}, not {SCHEMA!r})"
            )
        try:
            base = None
            if data["base_schedule"] is not None:
                base = Case.from_json({**data, "schedule": data["base_schedule"], "perturbation": "", "base": ""})
            case = Case.from_json({**data, "base": base.id if base else ""})
            witness = cls(
                guarantee=data["guarantee"],
                claim=data["claim"],
                case=case,
                base=base,
                engine=data["engine"],
                versions=data["versions"],
                message=data["message"],
                seen=Trace.from_json(data["seen"]),
                specified=Trace.from_json(data["specified"]),
                base_seen=Trace.from_json(data["base_seen"]) if data["base_seen"] is not None else None,
            )
        except InvalidSchedule as error:
            raise UnreadableWitness(f"{name} holds an invalid schedule: {error}") from None
        except (KeyError, TypeError) as error:
            raise UnreadableWitness(f"{name} is not a whole witness: {error!r}") from None
        if witness.id != data.get("id"):
            raise UnreadableWitness(f"{name} was edited: its content is {witness.id}, it says {data.get('id')!r}")
        return witness

    @classmethod
    def read(cls, path: Path) -> Witness:
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError) as error:
            raise UnreadableWitness(f"cannot read {path}: {error}") from None
        except ValueError as error:
            raise UnreadableWitness(f"{path} is not JSON: {error}") from None
        return cls.from_json(data, str(path))

    def write(self, path: Path) -> None:
        path.write_text(json.dumps(self.to_json(), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
