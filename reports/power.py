"""The power of runs as this project measured it: ``conformance selftest --as ENGINE --json docs/power.json``. A page shows it for runs with the
same options."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

from conformance.plugins.points import HOME
from conformance.plugins.registry import load_scenarios
from conformance.results.record import RunRecord
from conformance.run.options import of_a_quick_run
from conformance.selftest.power import Asked, Power, read_powers

FILES = ("power.json", "power-quick.json", "power-upgrade.json")
"""Of full runs, of quick runs, and of either release in an upgrade."""


@cache
def known_powers() -> tuple[Power, ...]:
    """What was measured: beside this module where it is installed, under docs/ in a checkout; none elsewhere."""
    folders = (Path(__file__).parent, HOME / "docs")
    places = [next((place for folder in folders if (place := folder / name).exists()), None) for name in FILES]
    return tuple(power for place in places if place for power in read_powers(place))


def powers_of_run(run: RunRecord, powers: Sequence[Power]) -> list[Power]:
    """Those of them that say what a run with these options would catch; none for a run of some scenarios, of given cases or to no end.
    A brief run may leave out scenarios that wait for processing time, as a quick one does."""
    asked = of_a_quick_run(load_scenarios()) if run.brief else load_scenarios()
    whole = run.seed is not None and {scenario.id for scenario in asked} <= {*run.scenarios}
    return [power for power in powers if whole and not run.partial and _alike(power.asked, run)]


def _alike(asked: Asked, run: RunRecord) -> bool:
    """Whatever the seed."""
    return (asked.wanted, asked.brief) == (run.wanted, run.brief)
