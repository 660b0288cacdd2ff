"""Verifies the verifier: nothing accuses the reference, some guarantee catches every mutant, alone and paired with
another mutant, and every guarantee catches a mutant."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from conformance.execution.packing import packs_of
from conformance.judgement.batches import Checked, Judgement, evidences, name_of
from conformance.judgement.cell import MatrixCell
from conformance.judgement.evidence import ReferenceTraces, Runs
from conformance.judgement.reference import reference_traces
from conformance.model.case import Case
from conformance.model.engine import EngineInfo
from conformance.model.reading import text_of
from conformance.model.scenario import Scenario, programs_of
from conformance.model.values import digest
from conformance.plugins.registry import UnknownName, load_engine, mutant_engine
from conformance.selftest.bench import Bench, Row
from conformance.run.processes import answers

SCHEMA = "conformance/selftest/1"

OTHERS = 5
"""Number of other mutants that each mutant is paired with."""

LIKELY = Path(__file__).with_name("likely.json")
"""What each mutant broke when the file was written. It saves time; what it lacks or has wrong costs time, and nothing else."""


class UnreadableSelfTest(ValueError):
    """A file that is not a self-test of this version; the message says what is wrong with it."""


@dataclass(frozen=True)
class SelfTest:
    """The results of a self-test.

    Attributes:
        kills: mutant -> the guarantees that it breaks.
        asked: all guarantees of the scenarios.
        accusations: cells of the reference that are violated or in error, over all seeds.
        pairs: pair of mutants in one engine -> a guarantee that the pair breaks, None if it breaks none.
        let_through: mutants that differ from the reference on some case without breaking a guarantee. With only some
            scenarios, they are not a hole: another scenario may catch them.
        out_of_sight: mutants that answer every case as the reference does, so that no guarantee could catch them.
    """

    kills: Mapping[str, frozenset[Row]]
    asked: frozenset[Row]
    accusations: tuple[MatrixCell, ...]
    pairs: Mapping[str, Row | None] = field(default_factory=dict)
    let_through: tuple[str, ...] = ()
    out_of_sight: tuple[str, ...] = ()

    @property
    def survivors(self) -> list[str]:
        """Mutants that nothing caught, alone or in pairs."""
        alone = [mutant for mutant, rows in self.kills.items() if not rows]
        return alone + [pair for pair, row in self.pairs.items() if row is None]

    @property
    def toothless(self) -> list[Row]:
        """Guarantees that caught nothing. A check that nothing can make fail is a defect."""
        return sorted(self.asked - frozenset().union(*self.kills.values()))

    @property
    def passed(self) -> bool:
        return not (self.survivors or self.toothless or self.accusations)

    def write(self, path: Path) -> None:
        data = {
            "schema": SCHEMA,
            "kills": {mutant: sorted(rows) for mutant, rows in self.kills.items()},
            "asked": sorted(self.asked),
            "accusations": [cell.to_json() for cell in self.accusations],
            "pairs": self.pairs,
            "let_through": self.let_through,
            "out_of_sight": self.out_of_sight,
        }
        path.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")

    @classmethod
    def read(cls, path: Path) -> SelfTest:
        """Raises UnreadableSelfTest for anything but a self-test of this version."""

        def row(found: Any) -> Row:
            scenario, guarantee = map(str, found)
            return scenario, guarantee

        try:
            data = json.loads(text_of(path, UnreadableSelfTest))
            if not isinstance(data, dict) or data.get("schema") != SCHEMA:
                raise UnreadableSelfTest(f"{path} is not a self-test of this version: write one with `selftest --json`")
            return cls(
                {str(mutant): frozenset(map(row, rows)) for mutant, rows in data["kills"].items()},
                frozenset(map(row, data["asked"])),
                tuple(map(MatrixCell.from_json, data["accusations"])),
                {str(pair): found and row(found) for pair, found in data["pairs"].items()},
                tuple(map(str, data.get("let_through", ()))),
                tuple(map(str, data.get("out_of_sight", ()))),
            )
        except UnreadableSelfTest:
            raise
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise UnreadableSelfTest(f"{path} is not a whole self-test: {error!r}") from None


def likely_to_break() -> dict[str, frozenset[Row]]:
    """Mutant -> guarantees that it broke when LIKELY was written."""
    told = json.loads(LIKELY.read_text(encoding="utf-8"))
    rows = {mutant: [row.split("/", 1) for row in rows] for mutant, rows in told.items()}
    return {mutant: frozenset((scenario, guarantee) for scenario, guarantee in mine) for mutant, mine in rows.items()}


AT_ONCE = 16
"""The number of mutants that are asked at once for guarantees that nothing has broken yet, whatever the number of processes."""


def selftest(
    scenarios: Iterable[Scenario],
    mutants: Iterable[str],
    *,
    wanted: int = 20,
    seeds: int = 20,
    whole: bool = True,
    in_sight: bool = False,
    likely: Mapping[str, frozenset[Row]] | None = None,
    others: int = OTHERS,
    teeth: bool = True,
    processes: int = 1,
    progress: Callable[[str], None] = lambda text: None,
) -> SelfTest:
    """Runs the reference on the cases of the seeds 0 to ``seeds`` - 1, and the mutants on the cases of one seed after the other.

    Each mutant, and each pair of mutants, runs until a guarantee has caught it.

    Args:
        wanted: number of cases that test each guarantee with seed 0. The other seeds have a quarter of them.
        whole: a mutant that is caught is asked for every guarantee, which gives the kill matrix. Otherwise a mutant is
            asked for the guarantees of the program that catches it first, and for those that no mutant has broken yet:
            enough to find a hole.
        likely: mutant -> guarantees that it broke in an earlier self-test. Without ``whole``, a mutant is asked for these first,
            so that the self-test ends sooner.
        others: number of other mutants that each mutant is paired with, at most.
        teeth: without ``whole``, look for a mutant that breaks each guarantee. Otherwise guarantees that the mutants were not asked
            for count as toothless.
        in_sight: set aside the mutants that these scenarios cannot see, and those that they let through, and pairs with
            one of these. Without it a mutant that nothing caught is a survivor: all scenarios together must catch every
            one.
        processes: number of processes that work side by side. The result is the same.
    """
    from conformance.generation.cases import draw_cases
    from conformance.generation.readings import exercised_by_any_reading

    scenarios, mutants = list(scenarios), list(mutants)
    exercised = exercised_by_any_reading(scenarios)
    hints = {} if whole or likely is None else likely
    kills: dict[str, frozenset[Row]] = dict.fromkeys(mutants, frozenset())
    seen: set[str] = set()
    pairs: dict[str, Row | None] = {} if in_sight else dict.fromkeys(pairs_of(mutants, others))
    asked = frozenset((s.id, g.id) for s in scenarios for g in s.guarantees)

    def bench_of(seed: int, processes: int = 1) -> Bench:
        number = wanted if seed == 0 else max(1, wanted // 4)
        # A scenario cannot be sent to another process; its number can.
        drawn = answers(lambda n: draw_cases([scenarios[n]], number, seed, exercised), range(len(scenarios)), processes)
        cases = [case for mine in drawn for case in mine]
        return Bench(scenarios, cases)

    def kills_of(mutant: str) -> frozenset[Row]:
        engine = mutant_engine(mutant)
        return bench.hinted(engine, hints.get(mutant, ())) or bench.kills(engine, whole)

    bench = bench_of(0, processes)
    accused = answers(lambda n: [*bench.accusations("reference", [scenarios[n]])], range(len(scenarios)), processes)
    accusations = [cell for cells in accused for cell in cells]
    for seed in range(seeds):
        if seed:
            if all(kills[mutant] for mutant in mutants) and None not in pairs.values():
                break
            bench = bench_of(seed, processes)
        left = [mutant for mutant in mutants if not kills[mutant]]
        if in_sight:
            sees = answers(lambda mutant: bench.sees(mutant_engine(mutant)), left, processes)  # noqa: B023
            left = [mutant for mutant, in_view in zip(left, sees, strict=True) if in_view]
            seen.update(left)
        found = answers(kills_of, left, processes)
        for mutant, rows in zip(left, found, strict=True):
            kills[mutant] = rows
            progress(f"mutant {mutant}: {len(rows)} guarantees broken")
        if teeth and not whole:
            _look_for_teeth(bench, kills, asked, processes)
        if in_sight:
            pairs |= dict.fromkeys(
                pair for pair in pairs_of((m for m in mutants if kills[m]), others) if pair not in pairs
            )
        open_pairs = [pair for pair, row in pairs.items() if row is None]
        expected = {pair: frozenset[Row]().union(*(kills[m] for m in pair.split("+"))) for pair in open_pairs}
        rows_of = answers(lambda pair: bench.first(mutant_engine(pair), expected[pair]), open_pairs, processes)  # noqa: B023
        for pair, row in zip(open_pairs, rows_of, strict=True):
            pairs[pair] = row
            progress(f"mutants {pair}: {'caught' if row else 'not caught'}")
    more = range(1, seeds)
    later = answers(lambda seed: [*bench_of(seed).accusations("reference", scenarios)], more, processes)
    for seed, cells in zip(more, later, strict=True):
        accusations += cells
        progress(f"seed {seed} on the reference: {len(accusations)} accusations so far")
    if not in_sight:
        return SelfTest(kills, asked, tuple(accusations), pairs)
    caught = {mutant: rows for mutant, rows in kills.items() if rows}
    let_through = tuple(mutant for mutant in mutants if mutant in seen and mutant not in caught)
    hidden = tuple(mutant for mutant in mutants if mutant not in seen)
    return SelfTest(caught, asked, tuple(accusations), pairs, let_through, hidden)


def _look_for_teeth(bench: Bench, kills: dict[str, frozenset[Row]], asked: frozenset[Row], processes: int) -> None:
    """Asks mutants for the guarantees that no mutant has broken yet, AT_ONCE of them at a time, until each is broken or no mutant is
    left."""
    left = list(kills)
    while left and (unbroken := asked - frozenset[Row]().union(*kills.values())):
        some, left = left[:AT_ONCE], left[AT_ONCE:]
        found = answers(lambda m: frozenset(bench.broken(mutant_engine(m), only=unbroken)), some, processes)
        for mutant, rows in zip(some, found, strict=True):
            kills[mutant] |= rows


def pairs_of(mutants: Iterable[str], number: int = OTHERS) -> list[str]:
    """Each mutant paired with a ``number`` of compatible mutants, in an order that depends only on the names."""
    names = sorted(mutants)
    found: dict[str, None] = {}
    for name in names:
        others = sorted((other for other in names if other != name), key=lambda other: digest([name, other]))
        pairs = ("+".join(sorted((name, other))) for other in others)
        found |= dict.fromkeys(itertools.islice(filter(_can_be, pairs), number))
    return list(found)


def _can_be(pair: str) -> bool:
    try:
        load_engine(mutant_engine(pair))
    except UnknownName:
        return False
    return True


def judged(
    scenarios: list[Scenario], name: str, cases: list[Case], reference: ReferenceTraces | None = None
) -> list[MatrixCell]:
    """The unconfirmed cells of an engine that runs in this process. ``reference`` has its traces, if they are known."""
    engine = load_engine(name)
    programs = programs_of(scenarios)
    runs = Runs()
    for pack in packs_of(cases, engine.capabilities.largest_pack):
        runs.add(pack, engine.run(pack, programs))
    info = EngineInfo(engine.id, engine.title, engine.capabilities)
    reference = reference or reference_traces(programs, engine.capabilities.lateness)
    found = Judgement(scenarios, info)
    given = evidences(scenarios, cases, runs, info, reference)
    evidence = {(scenario.id, guarantee.id, name_of(made)): said for scenario, guarantee, made, said in given}
    found.add(Checked(evidence), {case.id: case for case in cases}, runs.traces, runs.notes)
    return [cell for cell, _, _ in found.cells()]
