"""The base class of steps: how a step is stored, described and named, which features an engine needs for it, where it
may stand."""

from __future__ import annotations

from dataclasses import Field, dataclass, fields
from typing import Any, ClassVar

from conformance.model.feature import Feature
from conformance.model.values import Json


class InvalidSchedule(ValueError):
    """A schedule, event or case breaks a rule of the model. The message is one sentence."""


@dataclass(frozen=True, slots=True)
class Event:
    """One input element. ``event_time`` is in ms since the epoch; ``id`` is unique within its schedule."""

    id: str
    key: str
    value: Json
    event_time: int


@dataclass(frozen=True, slots=True)
class Place:
    """Where a step stands in a schedule.

    Attributes:
        begun: whether this step or an earlier one is the first that does not set the job up.
        watermark: the watermark (ms) before the step; -1 before the first advance.
        after: the step right after it; None at the end.
    """

    begun: bool
    watermark: int
    after: Step | None


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a schedule. ``id`` rises from step to step.

    Attributes:
        kinds: every kind of step, by the key under which files name it.
        key: the JSON key of a kind. Each kind defines the value under its key; ``id`` stands beside the key.
        moves_time: whether event time or processing time passes. The steps before and after are then in different
            intervals.
    """

    kinds: ClassVar[dict[str, type[Step]]] = {}
    key: ClassVar[str] = ""
    moves_time: ClassVar[bool] = False

    id: int

    def __init_subclass__(cls) -> None:
        # A dataclass with slots is made twice; the second class takes the place of the first.
        other = Step.kinds.get(cls.key)
        if not cls.key or (other and (other.__module__, other.__name__) != (cls.__module__, cls.__name__)):
            raise TypeError(f"{cls.__name__} needs a key that no other kind of step has, not {cls.key!r}")
        Step.kinds[cls.key] = cls

    @property
    def needs(self) -> frozenset[Feature]:
        """The features that an engine needs for this step."""
        return frozenset()

    @property
    def label(self) -> str:
        """The step in a word or two, as pictures name it."""
        return self.key

    def told(self, origin: int) -> str:
        """The step in a line of text, as ``replay`` and ``explain`` print it; times are distances (ms) from ``origin``
        (ms)."""
        raise NotImplementedError

    @property
    def circumstance(self) -> str:
        """The circumstance that coverage counts for a case with this step; "" for none."""
        return ""

    @property
    def setup(self) -> int:
        """The step's rank among the steps that set the job up, before the first advance; -1 if the step is not one of
        them."""
        return -1

    @property
    def binds_next(self) -> bool:
        """Whether the step is about the bundle right after it. Such a bundle must exist, even an empty one."""
        return False

    @property
    def passes(self) -> int:
        """The least processing time (ms) that passes."""
        return 0

    @property
    def skeleton(self) -> Step:
        """The step without its events, which all cases of a pack share."""
        return self

    def shifted(self, by: int) -> Step:
        """The step with all event times and watermarks ``by`` ms later."""
        return self

    def validate(self, place: Place) -> None:
        """Check the step by itself and in its place.

        Raises:
            InvalidSchedule: the step breaks a rule; the message names the step and the rule.
        """

    def to_json(self) -> Json:
        """An object with the first field of the kind (or true) under the kind's key, the id, and each other field that
        differs from its default."""
        first, *others = _own(type(self)) or [None]
        told = {self.key: True if first is None else self.spelled(getattr(self, first.name)), "id": self.id}
        return told | {f.name: value for f in others if f and (value := getattr(self, f.name)) != f.default}

    @staticmethod
    def spelled(value: Any) -> Json:
        """The first field of the kind as JSON."""
        return value

    @staticmethod
    def unspelled(data: Json) -> Any:
        """What ``spelled`` was given."""
        return data

    @staticmethod
    def from_json(data: Json) -> Step:
        """The step that ``to_json`` stored.

        Raises:
            InvalidSchedule: ``data`` names no kind of step.
            KeyError, TypeError: ``data`` lacks something, or is no object.
        """
        for key, kind in Step.kinds.items():
            if key in data:
                first, *others = _own(kind) or [None]
                values = [] if first is None else [kind.unspelled(data[key])]
                return kind(data["id"], *values, **{f.name: data[f.name] for f in others if f and f.name in data})
        raise InvalidSchedule(f"not a step: {str(data)[:80]}")

    def refused(self, rule: str) -> InvalidSchedule:
        return InvalidSchedule(f"step {self.id}: {rule}")


def _own(kind: type[Step]) -> tuple[Field[Any], ...]:
    """The fields of a kind of step beside its id."""
    return fields(kind)[1:]
