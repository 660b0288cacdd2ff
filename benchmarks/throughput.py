"""Cases per second of each engine, packed and one by one, and how the time grows with the number of cases.

    python -m benchmarks.throughput [--engine NAME]... [--alone N]

The cases are of all scenarios that the engine runs, on one timeline of several bundles. For an engine that takes one
bundle only, the timeline has one. Programs that go by processing time are left out: a query of theirs ends only where
the schedule waits. So are jobs whose checkpoint is damaged or whose program changes: they need a restart. "One by one"
means a query or a pipeline per case, in the same warm session. Each case must emit the same, step by step, alone and in
the pack. Order does not count: windows of Spark's native operators come out in no order (number 19 of
docs/findings.md). An engine that takes longer than --limit seconds is given up with one line, and ends the benchmark
with the exit code 3.
"""

from __future__ import annotations

import argparse
import logging
import os
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import zip_longest
from pathlib import Path

from conformance.execution.packing import packs_of
from conformance.generation.examples import examples
from conformance.generation.schedules import schedules
from conformance.generation.timelines import Family, draw_timelines
from conformance.model.case import Case, program_ref
from conformance.model.engine import CannotRun, Engine
from conformance.model.program import BEGUN_AGAIN, Program
from conformance.model.runs import Pack, PackRun
from conformance.model.scenario import programs_of
from conformance.model.trace import Trace
from conformance.plugins.registry import engine_ids, load_engine, load_scenarios

SIZES = (100, 500, 2_000)

LIMIT = 600
"""Seconds that one engine may take."""

SCENARIOS = load_scenarios()
PROGRAMS = programs_of(SCENARIOS)


def draw(engine: Engine, number: int) -> list[Case]:
    """At most ``number`` cases that the engine takes, on one timeline, taken in turn from all programs that the engine
    runs."""
    can = engine.capabilities
    sources = [
        (s, name)
        for s in SCENARIOS
        for name, program in s.programs.items()
        if can.runs(program_ref(s.id, name)) and not program.waits and program.job not in BEGUN_AGAIN
    ]
    for family in (Family.SEVERAL, Family.ONE):
        timeline = draw_timelines(1)[family][0]
        share = 2 * -(-number // len(sources))  # some cases lie too far ahead of the watermark for a native operator
        drawn = [
            [
                Case(s.id, name, schedule)
                for schedule in examples(schedules(timeline, s.domain[name]), share, 1, lambda x: x)
            ]
            for s, name in sources
        ]
        found = [case for group in zip_longest(*drawn) for case in group if case and can.takes(case, _program(case))]
        if found:
            return found[:number]
    return []


def _program(case: Case) -> Program:
    return PROGRAMS[program_ref(case.scenario, case.program)]


def _output(runs: PackRun, case: Case) -> list[str]:
    return sorted(map(repr, runs.traces[case.id].emissions))


def run(engine: Engine, cases: list[Case]) -> tuple[float, PackRun]:
    """Run cases in packs of the engine's largest size. Gives the seconds that it took, and the traces."""
    started = time.monotonic()
    traces: dict[str, Trace] = {}
    for pack in packs_of(cases, engine.capabilities.largest_pack):
        traces |= engine.run(pack, PROGRAMS).traces
    return time.monotonic() - started, PackRun(traces)


def measure(name: str, sizes: list[int], alone: int) -> str:
    """Measure an engine. Gives its line of the table."""
    engine = load_engine(name)
    cases = draw(engine, sizes[-1])
    with opened(engine):
        run(engine, cases[:20])  # warm up
        seconds = {}
        for size in sizes:
            seconds[size], packed = run(engine, cases[:size])
        sample = cases[:: max(1, len(cases) // alone)][:alone]
        started = time.monotonic()
        for case in sample:
            alone_too = engine.run(Pack((case,)), PROGRAMS)
            assert _output(alone_too, case) == _output(packed, case), f"{case.id} gave another trace alone"
        one_by_one = len(sample) / (time.monotonic() - started)
    rate = len(cases) / seconds[sizes[-1]]
    growth = "  ".join(f"{size}: {seconds[size]:6.1f} s" for size in sizes)
    return f"{name:52} {rate:9.1f} {one_by_one:11.3f} {rate / one_by_one:7.0f}   {growth}"


def given_up(name: str, limit: float) -> None:
    """End the benchmark: an engine's threads and processes cannot be stopped from within."""
    print(f"{name}: no answer within {limit:g} s; given up", file=sys.stderr, flush=True)
    os._exit(3)


@contextmanager
def opened(engine: Engine) -> Iterator[None]:
    """Within this context the engine is open, in a temporary folder. Raises CannotRun."""
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None) as folder:
        engine.check()
        engine.open(Path(folder))
        try:
            yield
        finally:
            engine.close()


@contextmanager
def limited(name: str, seconds: float) -> Iterator[None]:
    """Within this context, an engine that takes longer is given up, which ends the benchmark."""
    timer = threading.Timer(seconds, given_up, (name, seconds))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engine", action="append", help="default: all that this machine can run")
    parser.add_argument("--alone", type=int, default=10, help="how many cases to run one by one")
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)), help="how many cases, packed: %(default)s")
    parser.add_argument("--limit", type=float, default=LIMIT, help="seconds that one engine may take: %(default)s")
    options = parser.parse_args()
    sizes = sorted(map(int, options.sizes.split(",")))
    logging.disable(logging.WARNING)
    print(f"{'engine':52} {'packed/s':>9} {'one by one/s':>11} {'ratio':>7}   seconds for so many cases, packed")
    for name in options.engine or engine_ids():
        try:
            with limited(name, options.limit):
                print(measure(name, sizes, options.alone), flush=True)
        except CannotRun as error:
            print(f"{name}: {error}", file=sys.stderr)


if __name__ == "__main__":
    main()
