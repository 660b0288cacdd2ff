"""How much the harness adds to an engine's time: the same rows by an adapter, and by the framework alone.

    python -m benchmarks.overhead [--engine NAME]... [--elements N] [--times K]

The framework alone runs the file that ``conformance replay --export`` writes: the program on the engine's own state, in
a query or a pipeline as a user writes it. Both run in one process, in turn, after a first run of each; the figures are
medians. Both must put out the same rows. An engine that no export is for is one line; one that takes longer than
--limit seconds ends the benchmark with the exit code 3.
"""

from __future__ import annotations

import argparse
import logging
import statistics
import sys
import time
from collections.abc import Callable

from benchmarks.throughput import LIMIT, limited, opened
from conformance.model.case import Case
from conformance.model.engine import CannotRun, Engine
from conformance.model.export import CannotExport, Exportable, rows
from conformance.model.runs import Pack
from conformance.model.schedule import Advance, Deliver, Event, Schedule, Step
from conformance.model.trace import Emission, Trace
from conformance.model.values import Json, canonical
from conformance.plugins.registry import load_engine, load_export, load_scenarios

ENGINES = ("beam-direct", "beam-fnapi", "spark-tws", "spark-tws-pandas", "spark-fmgws-pandas", "spark-native:count")

START, BUNDLES, KEYS = 1_000_000, 5, 20

(COUNTING,) = load_scenarios(["per-key-counting"])
PROGRAMS = {"per-key-counting/count": COUNTING.programs["count"]}


def counted(elements: int, bundles: int) -> Case:
    """A case of per-key counting: this many elements in all, on time, in bundles with an advance of the watermark
    behind each."""
    steps: list[Step] = [Advance(0, START)]
    each = elements // bundles
    for bundle in range(bundles):
        base = START + bundle * 10_000
        events = (Event(f"e{bundle}-{n}", f"k{n % KEYS}", None, base + 1 + n) for n in range(each))
        steps += [Deliver(len(steps), tuple(events)), Advance(len(steps) + 1, base + 10_000)]
    return Case("per-key-counting", "count", Schedule(tuple(steps)))


def alone(engine: Engine, case: Case) -> Callable[[], list[list[Json]]]:
    """The function that runs a case on the framework alone. Raises CannotExport."""
    # An export is of output that is not the specified one.
    other = Trace((Emission("k0", None, case.schedule.steps[-1].id),))
    asked = Exportable(
        "0" * 12, COUNTING.name, "", "", COUNTING.programs["count"], case, engine.id, {}, Trace(()), other
    )
    scope: dict[str, object] = {"__name__": "alone"}
    exec(load_export("pytest")(asked), scope)
    run = scope["run"]
    assert callable(run)
    return run


def timed(run: Callable[[], list[list[Json]]]) -> tuple[float, list[str]]:
    """The seconds that a run took, and its rows in no order."""
    started = time.monotonic()
    found = run()
    return time.monotonic() - started, sorted(map(canonical, found))


def measure(name: str, elements: int, times: int) -> str:
    """Measure an engine. Gives its line of the table."""
    engine = load_engine(name)
    several = engine.capabilities.takes(case := counted(elements, BUNDLES), PROGRAMS["per-key-counting/count"])
    case = case if several else counted(elements, 1)
    with opened(engine):
        sides = [lambda: rows(engine.run(Pack((case,)), PROGRAMS).traces[case.id]), alone(engine, case)]
        seconds: list[list[float]] = [[], []]
        for turn in range(times + 1):
            told = [timed(side) for side in sides]
            assert told[0][1] == told[1][1], f"{name} gives other rows alone"
            for mine, (took, _) in zip(seconds, told, strict=True):
                mine += [took] if turn else []  # the first warms up
    by_adapter, by_framework = map(statistics.median, seconds)
    added = by_adapter / by_framework - 1
    return f"{name:24} {len(case.schedule.arrivals):8} {by_adapter:9.2f} s {by_framework:15.2f} s {added:8.0%}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engine", action="append", help=f"default: {', '.join(ENGINES)}")
    parser.add_argument("--elements", type=int, default=2_000, help="how many elements: %(default)s")
    parser.add_argument("--times", type=int, default=5, help="how often each side runs: %(default)s")
    parser.add_argument("--limit", type=float, default=LIMIT, help="seconds that one engine may take: %(default)s")
    options = parser.parse_args()
    logging.disable(logging.WARNING)
    print(f"{'engine':24} {'elements':>8} {'adapter':>11} {'framework alone':>17} {'added':>8}")
    for name in options.engine or ENGINES:
        try:
            with limited(name, options.limit):
                print(measure(name, options.elements, options.times), flush=True)
        except (CannotRun, CannotExport) as error:
            print(f"{name}: {error}", file=sys.stderr)


if __name__ == "__main__":
    main()
