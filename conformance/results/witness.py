"""Witnesses: the smallest case that speaks against a guarantee, as a plain file that replays on any engine.

A folder of witnesses has SCENARIO/ID.json for each, and ``confirmations.jsonl``: where and how often they failed alone,
a line for each witness, engine and versions, sorted. A witness without a line is confirmed anew where it is replayed.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from conformance.model.case import Case
from conformance.model.scenario import Scenario
from conformance.model.schedule import InvalidSchedule, Schedule
from conformance.model.trace import DRAIN, Trace
from conformance.model.values import Json, canonical, digest
from conformance.plugins.points import HOME, PACKAGE, checkout
from conformance.support.plain import Plain
from conformance.support.reading import BadInput, json_of, text_of
from conformance.support.writing import write_whole

SCHEMA = "conformance/witness/2"

FOLDER = "witnesses"
"""The usual name of a folder of witnesses."""

CONFIRMATIONS = "confirmations.jsonl"
"""The name of the file that says where the witnesses of a folder failed alone."""


SEALED = (
    "sentence",
    "engine",
    "versions",
    "message",
    "seen",
    "specified",
    "base_seen",
    "packed_seen",
    "flip",
    "reduction",
)
"""The parts of a witness beside its id and what that is made of."""

INTERPRETERS = {"python", "java"}
"""Versions that do not affect whether a witness is confirmed on an engine."""


class UnreadableWitness(BadInput):
    """A file that is not a witness of this version, or that was edited; the message says which."""


@dataclass(frozen=True)
class Confirmation(Plain):
    """The number of runs alone in which a witness failed, on one engine with one configuration and one adapter.
    ``engine`` is an id without the release, which ``versions`` has."""

    engine: str
    versions: Mapping[str, str]
    adapter: str
    failed: int
    runs: int

    @property
    def place(self) -> tuple[str, str]:
        """The engine, its versions and its configuration, to be compared: whatever its adapter."""
        return self.engine, canonical(dict(self.versions))


@dataclass(frozen=True)
class Flip(Plain):
    """The single change after which the claim stands: in words, and as the changed schedule."""

    change: str
    schedule: Schedule


@dataclass(frozen=True)
class Witness(Plain):
    """One case (and the case it is the twin of, for a relation), where it failed and how.

    Attributes:
        sentence: what the guarantee says.
        case: what to run. Its perturbation is the one that the failure needs, "" if any schedule fails.
        seen, base_seen: the engine's traces.
        specified: the reference's trace, which is the expected one.
        packed_seen: the engine's trace in a pack, if the case never failed alone.
        reduction: the edits that were tried to make the case smaller.
        neighbours: cases that it fails beside, in one pack and in this order before it; none where it fails alone.
    """

    guarantee: str
    sentence: str
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
    neighbours: tuple[Case, ...] = ()

    def confirmed_on(self, engine: str, versions: Mapping[str, str]) -> tuple[Confirmation, ...]:
        """Its confirmations on an engine (an id without a release) in these versions and this configuration, whatever
        its adapter. The versions of interpreters do not matter: a run alone rules out neighbours."""

        def compared(found: Mapping[str, str]) -> Mapping[str, str]:
            return {name: number for name, number in found.items() if name not in INTERPRETERS}

        return tuple(c for c in self.confirmations if (c.engine, compared(c.versions)) == (engine, compared(versions)))

    @property
    def id(self) -> str:
        """The content digest of what to run and what to ask, and of the engine on which the witness was found."""
        return digest([self._content(), self.engine])

    def _content(self) -> dict[str, Any]:
        beside = {"neighbours": [case.to_json() for case in self.neighbours]} if self.neighbours else {}
        return beside | {
            "scenario": self.case.scenario,
            "program": self.case.program,
            "guarantee": self.guarantee,
            "perturbation": self.case.perturbation,
            "schedule": self.case.schedule.to_json(),
            "base_schedule": self.base.schedule.to_json() if self.base else None,
        }

    def to_json(self) -> dict[str, Any]:
        """The witness as results store it, with its confirmations. The checksum covers the rest."""
        return self._sealed() | {"confirmations": [c.to_json() for c in self.confirmations]}

    def _sealed(self) -> dict[str, Any]:
        told = super().to_json()
        data = {"schema": SCHEMA, "id": self.id, **self._content(), **{name: told.get(name) for name in SEALED}}
        data["reduction"] = dict(self.reduction)
        return data | {"checksum": digest(data)}

    @classmethod
    def from_json(cls, data: Any, name: str = "") -> Witness:
        """Raises UnreadableWitness for anything but a whole witness of this schema."""
        found = data.get("schema") if isinstance(data, dict) else None
        name = name or (f"witness {data.get('id')}" if isinstance(data, dict) else "the witness")
        if found != SCHEMA:
            raise UnreadableWitness(
                f"{name} is not a witness of this version (its schema is {found!r}, not {SCHEMA!r})"
            )
        content = {key: value for key, value in data.items() if key not in ("checksum", "confirmations")}
        if digest(content) != data.get("checksum"):
            raise UnreadableWitness(f"{name} was edited: its checksum does not fit its content; take the original")
        try:
            begun, schedule = None, data["base_schedule"]
            if schedule is not None:
                begun = {**data, "schedule": schedule, "perturbation": "", "base": ""}
            case = {**data, "base": Case.from_json(begun).id if begun else ""}
            found = super().from_json({**data, "case": case, "base": begun})
            for trace in (found.seen, found.specified, found.packed_seen):
                _check_steps(found.case, trace)
            _check_steps(found.base, found.base_seen)
            return found
        except InvalidSchedule as error:
            raise UnreadableWitness(f"{name} holds an invalid schedule: {error}") from None
        except (KeyError, TypeError) as error:
            raise UnreadableWitness(f"{name} is not a whole witness: {error!r}") from None

    @classmethod
    def read(cls, path: Path) -> Witness:
        """The witness of a file, with the confirmations of the folder of witnesses that the file is in.

        Raises:
            UnreadableWitness: the file is not a witness, or was edited.
        """
        found = cls.from_json(json_of(path, UnreadableWitness), str(path))
        return found.confirmed_by(_confirmations_in(path.parent) | _confirmations_in(path.parent.parent))

    def file_text(self) -> str:
        """The text of a witness's file: everything but the confirmations."""
        return json.dumps(self._sealed(), indent=1, ensure_ascii=False) + "\n"

    def confirmed_by(self, known: Mapping[str, Iterable[Confirmation]]) -> Witness:
        """A copy with the confirmations of a folder, by witness id. They replace the witness's own for the same engine
        and versions."""
        by_place = {found.place: found for found in (*self.confirmations, *known.get(self.id, ()))}
        return replace(self, confirmations=tuple(by_place.values()))


def _check_steps(case: Case | None, trace: Trace | None) -> None:
    """Raise InvalidSchedule where a trace has emissions in steps that its schedule does not have."""
    if case is not None and trace is not None:
        known = {step.id for step in case.schedule.steps} | {DRAIN}
        if stray := [e.step for e in trace.emissions if e.step not in known]:
            raise InvalidSchedule(f"an emission in step {stray[0]}, which there is not")


def projects_folder() -> Path:
    """The folder of the witnesses that come with this project, in a checkout or in the installed package."""
    return (checkout() or HOME / PACKAGE) / FOLDER


def file_of(folder: Path, witness: Witness) -> Path:
    """The path of a witness's file in a folder of witnesses."""
    return folder / witness.case.scenario / f"{witness.id}.json"


def write_witnesses(folder: Path, witnesses: Iterable[Witness]) -> None:
    """Writes witnesses into a folder. Their confirmations replace those in the folder."""
    lines = []
    for witness in witnesses:
        write_whole(file_of(folder, witness), witness.file_text())
        lines += [{"witness": witness.id, **found.to_json()} for found in witness.confirmations]
    write_whole(folder / CONFIRMATIONS, "".join(sorted(json.dumps(line) + "\n" for line in lines)))


def read_witnesses(folder: Path) -> list[Witness]:
    """The witnesses of a folder, in the order of their files' names; none where there is no such folder.

    Raises:
        UnreadableWitness: a file is not a witness, or was edited.
    """
    paths = sorted([*folder.glob("*.json"), *folder.glob("*/*.json")], key=lambda path: (path.name, path))
    known = _confirmations_in(folder)
    found = (Witness.from_json(json_of(path, UnreadableWitness), str(path)) for path in paths)
    return [witness.confirmed_by(known) for witness in found]


@dataclass(frozen=True)
class Stored:
    """Stored witnesses: the witnesses to ask, by the current ids of their guarantees, and the witnesses whose scenario,
    program or guarantee no longer exists."""

    asked: list[Witness]
    unknown: list[Witness]


def stored_witnesses(folders: Iterable[Path], scenarios: Iterable[Scenario], there: Iterable[str] = ()) -> Stored:
    """The witnesses of some folders that are of these scenarios, each once, in the order of their names.

    Args:
        there: ids of other scenarios that there are. Their witnesses are left out. A witness is unknown if its scenario
            is none of these and none of ``scenarios``, or if its scenario has no such guarantee of such a program.

    Raises:
        UnreadableWitness: a file is not a witness, or was edited.
    """
    scenarios = list(scenarios)
    known = {(s.id, g.program, name): g.id for s in scenarios for name, g in s.askable.items()}
    others = set(there) - {s.id for s in scenarios}
    unique = {witness.id: witness for folder in folders for witness in read_witnesses(folder)}
    found = Stored([], [])
    for witness in unique.values():
        about = witness.case.scenario, witness.case.program, witness.guarantee
        if about in known:
            found.asked.append(replace(witness, guarantee=known[about]))
        elif witness.case.scenario not in others:
            found.unknown.append(witness)
    return found


def find_witness(named: Path, folders: Iterable[Path]) -> Path:
    """The file of a witness that is named by its file, or by its id and is in one of some folders.

    Raises:
        UnreadableWitness: there is no such file.
    """
    folders = list(folders)
    if named.exists():
        return named
    for folder in (named.parent, *folders):
        for path in sorted(folder.glob(f"*/{named.stem}.json")):
            return path
    there = " or ".join(map(str, folders))
    raise UnreadableWitness(
        f"cannot read {named}: it is no file, and no witness in {there} (another folder: --witnesses)"
    )


def of_scenario(scenario: str, folders: Iterable[Path]) -> Iterator[Witness]:
    """The witnesses of a scenario in some folders, read as they are asked for."""
    for path in dict.fromkeys(path for folder in folders for path in sorted(folder.glob(f"{scenario}/*.json"))):
        yield Witness.read(path)


def _confirmations_in(folder: Path) -> dict[str, list[Confirmation]]:
    """The confirmations of a folder of witnesses, by witness id. Raises UnreadableWitness where a line is none."""
    path, found = folder / CONFIRMATIONS, dict[str, list[Confirmation]]()
    if path.is_file():
        for number, line in enumerate(text_of(path, UnreadableWitness).splitlines(), 1):
            try:
                data = json.loads(line)
                found.setdefault(data.pop("witness"), []).append(Confirmation.from_json(data))
            except (ValueError, TypeError, KeyError, AttributeError) as error:
                raise UnreadableWitness(f"{path}, line {number} is no confirmation: {error!r}") from None
    return found
