"""The power of runs as this project measured it: ``conformance selftest --as ENGINE --json docs/power.json``. A page
shows it for runs with the same options."""

from collections.abc import Sequence
from functools import cache

from conformance.plugins.registry import load_scenarios
from conformance.reports.own import own_file
from conformance.results.record import RunRecord
from conformance.run.options import of_a_quick_run
from conformance.selftest.power import Asked, Power, read_powers

FILES = ("power.json", "power-quick.json", "power-upgrade.json")
"""Of full runs, of quick runs, and of either release in an upgrade."""


@cache
def known_powers() -> tuple[Power, ...]:
    """What was measured, of the files that are at hand."""
    places = [own_file(name) for name in FILES]
    return tuple(power for place in places if place for power in read_powers(place))


def powers_of_run(run: RunRecord, powers: Sequence[Power]) -> list[Power]:
    """Those of them that say what a run with these options would catch; none for a run of some scenarios, of given
    cases or to no end. A brief run may leave out scenarios that wait for processing time, as a quick one does."""
    asked = of_a_quick_run(load_scenarios()) if run.brief else load_scenarios()
    whole = run.seed is not None and {scenario.id for scenario in asked} <= {*run.scenarios}
    return [power for power in powers if whole and not run.partial and _alike(power.asked, run)]


def _alike(asked: Asked, run: RunRecord) -> bool:
    """Whatever the seed."""
    return (asked.wanted, asked.brief) == (run.wanted, run.brief)
