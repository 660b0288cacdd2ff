"""Cases that every real engine is compared on with the reference."""

from dataclasses import replace

import interpreter

from conformance.engine import case_needs
from conformance.generation import draw_cases
from conformance.guarantees import program_ref, programs_of
from conformance.model import Advance, Case, Deliver, Event, Schedule, renumbered
from conformance.packing import packs_of
from conformance.registry import load_scenarios
from conformance.runner import exercised_by_any_reading
from engines.reference import Reference

SCENARIOS = load_scenarios()
PROGRAMS = programs_of(SCENARIOS)
CALLS = {"test/calls": interpreter.Interpreter()}
T = 1_000_000

STATE = [
    [["value", "get"], ["value", "set", {"b": [1, None, "é"]}], ["value", "get"]],
    [["value", "get"], ["value", "set", None], ["value", "get", "default"]],
    [["value", "clear"], ["value", "get"], ["value", "get", 7]],
    [["bag", "get"], ["bag", "add", 2], ["bag", "add", [1]], ["bag", "add", 2], ["bag", "get"]],
    [["bag", "get"], ["bag", "clear"], ["bag", "get"]],
    [
        ["map", "get", "x"],
        ["map", "put", "x", 1],
        ["map", "put", "", {"y": None}],
        ["map", "get", "x"],
        ["map", "items"],
    ],
    [
        ["map", "remove", "x"],
        ["map", "get", "x"],
        ["map", "get", "x", 5],
        ["map", "items"],
        ["map", "clear"],
        ["map", "items"],
    ],
    [["set", "add", "q"], ["set", "add", "q"], ["set", "add", "é"], ["set", "get"]],
    [["set", "get"], ["set", "clear"], ["set", "get"]],
    [["sum", "get"], ["sum", "add", 4], ["sum", "add", -1], ["sum", "get"]],
    [["sum", "add", 1], ["sum", "get"], ["sum", "clear"], ["sum", "get"]],
]
TIMERS = [
    [["timers", "set", "one", T + 5_000], ["timers", "set", "two", T + 5_000], ["sum", "add", 1]],
    [["timers", "set", "one", T + 7_000], ["timers", "set", "one", T + 6_000, "t"]],
    [
        ["timers", "set", "one", T + 8_000, "u"],
        ["timers", "clear", "one", "u"],
        ["timers", "clear", "two", "never set"],
    ],
]
FAILS = [[["sum", "add", 1], ["sum", "get"]], [["sum", "get"], ["raise", "no luck"]], [["sum", "get"]]]

COUNTED = Case(
    "per-key-counting",
    "count",
    Schedule(
        (
            Advance(0, T),
            Deliver(1, (Event("e1", "a", None, T + 1), Event("e2", "a", None, T + 3))),
            Advance(2, T + 2),
            Deliver(3, (Event("e3", "a", None, T + 9),)),
            Advance(4, T + 90),
        )
    ),
)
"""Two bundles with an advance between, all on time: the schedule that tests sabotage the driving of."""


def with_steps(*steps):
    """COUNTED with these steps before its second bundle."""
    before, after = COUNTED.schedule.steps[:3], COUNTED.schedule.steps[3:]
    return replace(COUNTED, schedule=renumbered([*before, *steps, *after]))


def failing_and_idle(fails):
    """Two cases of one clock on which the second bundle fails once: one with an element in it, one without."""
    failing = with_steps(fails)
    event = Event("e1", "b", None, T + 1)
    bundles = {step.id: [event] if step.id == 1 else [] for step in failing.schedule.bundles}
    return failing, replace(failing, schedule=failing.schedule.with_bundles(bundles))


def calls_case(bundles):
    """A case that carries out calls: a list of bundles, each a list of (key, calls); then the watermark moves on."""
    steps, number = [Advance(0, T)], 0
    for bundle in bundles:
        events = []
        for key, calls in bundle:
            number += 1
            events.append(Event(f"e{number}", key, calls, T + 1 + number))
        steps.append(Deliver(len(steps), tuple(events)))
    steps.append(Advance(len(steps), T + 200_000))
    return Case("test", "calls", Schedule(tuple(steps)))


def drawn(engine, wanted, seed=11):
    """Cases of all scenarios that the engine can express."""
    cases = draw_cases(SCENARIOS, wanted, seed, exercised_by_any_reading(SCENARIOS))
    programs = {case.id: PROGRAMS[program_ref(case.scenario, case.program)] for case in cases}
    return [c for c in cases if engine.capabilities.first_missing(case_needs(c, programs[c.id])) is None]


def run(engine, cases, programs=PROGRAMS):
    """Case id -> trace, of an engine or of the reference with the engine's reading of lateness."""
    found = {}
    for pack in packs_of(cases, engine.capabilities.largest_pack):
        found |= engine.run(pack, programs).traces
    return found


def specified(engine, cases, programs=PROGRAMS):
    return run(Reference(engine.capabilities.lateness), cases, programs)
