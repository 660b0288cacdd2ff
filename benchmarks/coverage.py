"""How far the cases that a run gives each engine put its guarantees to the test, without running an engine.

    python -m benchmarks.coverage [--engine NAME]... [--cases N] [--seed N] [--share X] [--all-packs] [--unmet]

The reference, reading *late* as the engine does, stands in for the engine: a case counts for a guarantee where it would count if the
engine answered as the specification does. An engine row says how many packs it runs of those that were drawn, its cases, the fewest
distinct cases and the fewest clocks behind a guarantee, the fewest distinct cases behind a guarantee under one perturbation that it
promises, and how many (guarantee, perturbation) are below the target or never exercised. ``--unmet`` lists these with the reason:
not drawn (the cases of the run have none), or not chosen (the packs that the engine runs have none).
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from conformance.generation.cases import draw_cases
from conformance.generation.readings import exercised_by_any_reading
from conformance.judgement.batches import cells_asked
from conformance.judgement.evidence import ReferenceTraces, Runs, gather
from conformance.judgement.reference import reference_traces
from conformance.judgement.verdict import not_expressible
from conformance.model.case import Case
from conformance.model.engine import EngineInfo
from conformance.model.lateness import LatenessProfile
from conformance.model.perturbation import Perturbation
from conformance.model.scenario import Guarantee, Scenario, programs_of
from conformance.plugins.registry import engine_ids, load_engine, load_scenarios
from conformance.run.packs import choice_of

Cell = tuple[str, str, str]
"""(scenario, guarantee, perturbation or "" for cases as drawn)."""


@dataclass
class Exercise:
    """What some cases put to the test on an engine.

    Attributes:
        cells: the distinct cases of each promised cell.
        rows: the distinct cases of each guarantee, under any perturbation.
        clocks: the timelines of those.
    """

    cells: Counter[Cell] = field(default_factory=Counter)
    rows: Counter[tuple[str, str]] = field(default_factory=Counter)
    clocks: Counter[tuple[str, str]] = field(default_factory=Counter)


def exercise(
    scenarios: Sequence[Scenario], info: EngineInfo, cases: Sequence[Case], reference: ReferenceTraces
) -> Exercise:
    """What these cases put to the test on an engine that answers as the reference does."""
    by_program: dict[tuple[str, str], list[Case]] = {}
    for case in cases:
        by_program.setdefault((case.scenario, case.program), []).append(case)
    traces = dict(reference(list(cases)))
    found, digests, clocks = Exercise(), dict[tuple[str, str], set[str]](), dict[tuple[str, str], set[object]]()
    for scenario, guarantee, perturbation in cells_asked(scenarios, info):
        if not_expressible(scenario, guarantee, perturbation, info) is not None or guarantee.accounting:
            continue
        mine = by_program.get((scenario.id, guarantee.program), [])
        row = scenario.id, guarantee.id
        program = scenario.programs[guarantee.program]
        evidence = gather(program, guarantee, perturbation, mine, Runs(traces=traces), reference)
        digests.setdefault(row, set()).update(case.digest for case in evidence.exercised)
        clocks.setdefault(row, set()).update(case.schedule.timeline for case in evidence.exercised)
        if _promised(guarantee, perturbation):
            cell = (*row, perturbation.id if perturbation else "")
            found.cells[cell] = len({case.digest for case in evidence.exercised})
    found.rows = Counter({row: len(cases) for row, cases in digests.items()})
    found.clocks = Counter({row: len(timelines) for row, timelines in clocks.items()})
    return found


def _promised(guarantee: Guarantee, perturbation: Perturbation | None) -> bool:
    return bool(guarantee.same_under) or perturbation is None or not perturbation.sparse


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engine", action="append", help="default: all engines")
    parser.add_argument("--scenario", action="append", help="default: all scenarios")
    parser.add_argument("--cases", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--share", type=float, default=1.0)
    parser.add_argument("--all-packs", action="store_true")
    parser.add_argument("--target", type=int, default=10, help="distinct cases under each promised perturbation")
    parser.add_argument("--unmet", action="store_true", help="list what is below the target, and why")
    options = parser.parse_args()
    scenarios = tuple(load_scenarios(options.scenario) if options.scenario else load_scenarios())
    started = time.process_time()
    cases = draw_cases(scenarios, options.cases, options.seed, exercised_by_any_reading(scenarios))
    timelines = len({case.schedule.timeline for case in cases})
    print(f"{len(cases)} cases on {timelines} timelines, drawn in {time.process_time() - started:.1f} s of CPU time")
    print(
        f"{'engine':46} {'packs':>9} {'steps':>5} {'cases':>6} {'least cases':>11} {'clocks':>6} "
        f"{'least under one':>15} {'below target':>12} {'never':>6}"
    )
    references: dict[LatenessProfile, ReferenceTraces] = {}
    for name in options.engine or engine_ids():
        engine = load_engine(name)
        can = engine.capabilities
        if can.lateness not in references:
            references[can.lateness] = reference_traces(programs_of(scenarios), can.lateness)
        reference, info = references[can.lateness], EngineInfo(name, engine.title, can)
        choice = choice_of(cases, can, scenarios, options.share, options.all_packs)
        found = exercise(scenarios, info, choice.cases, reference)
        below = [cell for cell, number in sorted(found.cells.items()) if number < options.target]
        steps = sum(len(pack.timeline) for pack in choice.packs)
        print(
            f"{name:46} {len(choice.packs):4} /{choice.drawn:3} {steps:5} {len(choice.cases):6} "
            f"{min(found.rows.values(), default=0):11} {min(found.clocks.values(), default=0):6} "
            f"{min(found.cells.values(), default=0):15} {len(below):5} /{len(found.cells):5} "
            f"{sum(not found.cells[cell] for cell in below):6}",
            flush=True,
        )
        if options.unmet and below:
            there = choice_of(cases, can, scenarios, 1.0, all_packs=True).cases
            drawn = exercise(scenarios, info, there, reference)
            for cell in below:
                why = "not drawn" if drawn.cells[cell] < options.target else "not chosen"
                place = f"{cell[0]}: {cell[1]}" + f" [{cell[2]}]" * bool(cell[2])
                print(f"    {found.cells[cell]:3} of {drawn.cells[cell]:3}  {why:10}  {place}")


if __name__ == "__main__":
    main()
