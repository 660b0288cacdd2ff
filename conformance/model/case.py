"""A case: one schedule for one program of a scenario."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from conformance.model.schedule import (
    InvalidSchedule,
    Schedule,
)
from conformance.model.values import Json, digest


@dataclass(frozen=True)
class Case:
    """One schedule for one program of a scenario.

    ``perturbation`` names the changes that made this case from the case ``base`` (an id), see
    ``perturbation.together``. Both are empty for a case as drawn.
    """

    scenario: str
    program: str
    schedule: Schedule
    perturbation: str = ""
    base: str = ""

    @cached_property
    def digest(self) -> str:
        """Identifies what is run (scenario, program, schedule), whatever its origin."""
        return digest([self.scenario, self.program, self.schedule.to_json()])

    @cached_property
    def id(self) -> str:
        # A case has many twins under several perturbations: short digests of these would collide.
        return (
            f"{self.base}~{digest(self.perturbation)[: 8 if '+' in self.perturbation else 4]}"
            if self.base
            else self.digest
        )

    @property
    def ref(self) -> str:
        """How packs, engines and files name its program."""
        return program_ref(self.scenario, self.program)

    @property
    def size(self) -> tuple[int, int, int, str]:
        """A key to sort by, simplest first: events, bundles in use, keys. The digest makes the order total."""
        arrivals = self.schedule.arrivals
        return (len(arrivals), len({a.step for a in arrivals}), len({a.event.key for a in arrivals}), self.digest)

    def to_json(self) -> Json:
        data = {"scenario": self.scenario, "program": self.program, "schedule": self.schedule.to_json()}
        return data | ({"perturbation": self.perturbation, "base": self.base} if self.base else {})

    @classmethod
    def from_json(cls, data: Json) -> Case:
        try:
            return cls(
                data["scenario"],
                data["program"],
                Schedule.from_json(data["schedule"]),
                data.get("perturbation", ""),
                data.get("base", ""),
            )
        except (KeyError, TypeError, AttributeError) as error:
            raise InvalidSchedule(f"not a case: {error!r} in {str(data)[:80]}") from None


def program_ref(scenario: str, program: str) -> str:
    """How packs, engines and files name a program."""
    return f"{scenario}/{program}"
