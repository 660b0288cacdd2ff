"""Cases per second of each engine, packed and one by one, and how the time grows with the number of cases.

    python -m benchmarks.throughput [--engine NAME]... [--alone N]

The cases are of all scenarios that the engine runs, on one clock of several bundles (of one bundle for an engine that takes no
more). One by one means a query or a pipeline per case, in the same warm session; they must put out the same, step by step, as the
pack, in any order (the windows of Spark's idioms come in none: number 19 of docs/findings.md).
"""

from __future__ import annotations

import argparse
import logging
import os
import sys
import tempfile
import time
from itertools import zip_longest
from pathlib import Path

from conformance.engine import CannotRun, Engine
from conformance.generation import draw_clocks, examples, schedules
from conformance.guarantees import programs_of
from conformance.model import Case, Pack, PackRun, Trace, program_ref
from conformance.packing import packs_of
from conformance.program import Program
from conformance.registry import engine_ids, load_engine, load_scenarios

SIZES = (100, 500, 2_000)
SCENARIOS = load_scenarios()
PROGRAMS = programs_of(SCENARIOS)


def draw(engine: Engine, number: int) -> list[Case]:
    """``number`` cases that the engine takes, on one clock, in turn from all programs that it runs."""
    can = engine.capabilities
    sources = [(s, name) for s in SCENARIOS for name in s.programs if can.runs(program_ref(s.id, name))]
    for several_bundles in (True, False):
        clock = next(c for c in draw_clocks(1) if (len(c.bundles) > 1) is several_bundles)
        share = 2 * -(-number // len(sources))  # some lie too far ahead of the watermark for an idiom
        drawn = [
            [
                Case(s.id, name, schedule)
                for schedule in examples(schedules(clock, s.domain[name]), share, 1, lambda x: x)
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
    """Seconds and traces of running cases in as many packs as the engine wants."""
    started = time.monotonic()
    traces: dict[str, Trace] = {}
    for pack in packs_of(cases, engine.capabilities.largest_pack):
        traces |= engine.run(pack, PROGRAMS).traces
    return time.monotonic() - started, PackRun(traces)


def measure(name: str, alone: int) -> str:
    """One line of the table."""
    engine = load_engine(name)
    cases = draw(engine, SIZES[-1])
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None) as folder:
        engine.check()
        engine.open(Path(folder))
        try:
            run(engine, cases[:20])  # warm up
            seconds = {}
            for size in SIZES:
                seconds[size], packed = run(engine, cases[:size])
            sample = cases[:: max(1, len(cases) // alone)][:alone]
            started = time.monotonic()
            for case in sample:
                alone_too = engine.run(Pack((case,)), PROGRAMS)
                assert _output(alone_too, case) == _output(packed, case), f"{case.id} gave another trace alone"
            one_by_one = len(sample) / (time.monotonic() - started)
        finally:
            engine.close()
    rate = len(cases) / seconds[SIZES[-1]]
    growth = "  ".join(f"{size}: {seconds[size]:6.1f} s" for size in SIZES)
    return f"{name:52} {rate:9.1f} {one_by_one:11.3f} {rate / one_by_one:7.0f}   {growth}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engine", action="append", help="default: all that this machine can run")
    parser.add_argument("--alone", type=int, default=10, help="how many cases to run one by one")
    options = parser.parse_args()
    logging.disable(logging.WARNING)
    print(f"{'engine':52} {'packed/s':>9} {'one by one/s':>11} {'ratio':>7}   seconds for so many cases, packed")
    for name in options.engine or engine_ids():
        try:
            print(measure(name, options.alone), flush=True)
        except CannotRun as error:
            print(f"{name}: {error}", file=sys.stderr)


if __name__ == "__main__":
    main()
