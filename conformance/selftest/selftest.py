"""Verifies the verifier: nothing accuses the reference, some guarantee catches every mutant, alone and paired with
another mutant, and every guarantee catches a mutant."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any
from zlib import crc32

from conformance.execution.packing import packs_of
from conformance.judgement.batches import Checked, Judgement, evidences, name_of
from conformance.judgement.cell import MatrixCell
from conformance.judgement.evidence import ReferenceTraces, Runs
from conformance.judgement.reference import reference_traces
from conformance.model.case import Case
from conformance.model.engine import EngineInfo
from conformance.model.reading import text_of
from conformance.model.scenario import Scenario, programs_of
from conformance.plugins.registry import UnknownName, load_engine, mutant_engine
from conformance.run.processes import answers, workers
from conformance.selftest.power import Row

SCHEMA = "conformance/selftest/1"

OTHERS = 5
"""Number of other mutants that each mutant is paired with."""


FEW = 4
"""On so many cases mutants are asked for a guarantee that none has broken, before they are asked on all."""


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


def selftest(
    scenarios: Iterable[Scenario],
    mutants: Iterable[str],
    *,
    wanted: int = 2,
    seeds: int = 20,
    whole: bool = True,
    in_sight: bool = False,
    others: int = OTHERS,
    teeth: bool = True,
    processes: int = 1,
    progress: Callable[[str], None] = lambda text: None,
) -> SelfTest:
    """Runs the reference on its suites of the seeds 0 to ``seeds`` - 1, and the mutants on one suite after the other.

    Each mutant, and each pair of mutants, runs until a guarantee has caught it. Then mutants are asked for the guarantees that none of them
    has broken.

    Args:
        wanted: number of cases of each program on each timeline with seed 0. The other seeds have half of them, and fewer twins.
        whole: every mutant is asked for every guarantee, which gives the kill matrix.
        in_sight: set aside the mutants that these scenarios cannot see, and those that they let through, and pairs with
            one of these. Without it a mutant that nothing caught is a survivor: all scenarios together must catch every
            one.
        others: number of other mutants that each mutant is paired with, at most.
        teeth: without ``whole``, look for a mutant that breaks each guarantee. Otherwise guarantees that the mutants were not asked
            for count as toothless.
        processes: number of processes that work side by side. The result is the same.
    """
    # Imported here: reports read self-tests, and run none.
    from conformance.run.drawing import batches, drawing_here
    from conformance.selftest.bench import Bench, Found

    scenarios, mutants = list(scenarios), list(mutants)
    reference = load_engine("reference").capabilities
    found = dict.fromkeys(mutants, Found())
    asked = frozenset((s.id, g.id) for s in scenarios for g in s.guarantees)
    broken = dict.fromkeys(mutants, frozenset[Row]())

    def bench_of(seed: int, draw: Callable[[Iterable[Any]], Iterator[list[Case]]] | None = None) -> Bench:
        can, number = (replace(reference, each=1), max(1, wanted // 2)) if seed else (reference, wanted)
        drawn = [case for cases in batches(scenarios, number, seed, draw) for case in cases]
        return Bench(scenarios, "reference", drawn, seed, can)

    def accusations_of(seed: int) -> list[MatrixCell]:
        later = bench_of(seed)
        return [cell for scenario in scenarios for cell in later.accusations(scenario)]

    with workers(drawing_here(scenarios), processes) as draw:
        bench = bench_of(0, draw)
    accused = answers(lambda n: [*bench.accusations(scenarios[n])], range(len(scenarios)), processes)
    accusations = [cell for cells in accused for cell in cells]
    pairs: dict[str, Row | None] = {}
    for seed in range(seeds):
        left = [mutant for mutant in mutants if not broken[mutant]]
        if seed:
            toothless = teeth and asked.difference(*broken.values())
            if not (left or toothless or None in pairs.values()):
                break
            bench = bench_of(seed)
        for mutant, more in zip(left, answers(partial(bench.found, whole=whole), left, processes), strict=True):
            found[mutant] = replace(more, seen=more.seen or found[mutant].seen)
            broken[mutant] = more.broken
            progress(f"mutant {mutant}: {len(more.broken)} guarantees broken")
        if teeth and not whole:
            _look_for_teeth(bench, broken, asked, processes)
        paired = pairs_of((m for m in mutants if broken[m] or not in_sight), others)
        pairs |= {pair: pairs.get(pair) for pair in paired}
        by = {pair: [case for one in pair.split("+") for case in found[one].by] for pair in pairs}
        open_pairs = [pair for pair, row in pairs.items() if row is None]
        ask = answers(lambda pair: bench.found(pair, first=by[pair]), open_pairs, processes)  # noqa: B023
        for pair, together in zip(open_pairs, ask, strict=True):
            pairs[pair] = min(together.broken, default=None)
            progress(f"mutants {pair}: {'caught' if together.broken else 'not caught'}")
    for cells in answers(accusations_of, range(1, seeds), processes):
        accusations += cells
        progress(f"the reference on another seed: {len(accusations)} accusations so far")
    if not in_sight:
        return SelfTest(broken, asked, tuple(accusations), pairs)
    caught = {mutant: rows for mutant, rows in broken.items() if rows}
    let_through = tuple(mutant for mutant in mutants if found[mutant].seen and mutant not in caught)
    hidden = tuple(mutant for mutant in mutants if not found[mutant].seen)
    return SelfTest(caught, asked, tuple(accusations), pairs, let_through, hidden)


def _look_for_teeth(bench: Any, broken: dict[str, frozenset[Row]], asked: frozenset[Row], processes: int) -> None:
    """Asks mutants for the guarantees that none of them has broken, until each is broken or no mutant is left."""

    def of_scenario(left: set[Row]) -> dict[str, frozenset[Row]]:
        found = dict.fromkeys(broken, frozenset[Row]())
        [scenario] = {name for name, _ in left}
        # The first to be asked are those that break other guarantees of the scenario, and on few cases.
        mutants = sorted(broken, key=lambda mutant: not any(row[0] == scenario for row in broken[mutant]))
        for most, mutant in itertools.product((FEW, None), mutants):
            found[mutant] |= bench.broken(mutant, left, most) if left else frozenset()
            left = left - found[mutant]
        return found

    unbroken = asked.difference(*broken.values())
    parts = [{row for row in unbroken if row[0] == scenario} for scenario in sorted({row[0] for row in unbroken})]
    for found in answers(of_scenario, parts, processes):
        for mutant, rows in found.items():
            broken[mutant] |= rows


def pairs_of(mutants: Iterable[str], number: int = OTHERS) -> list[str]:
    """Each mutant paired with a ``number`` of compatible mutants, in an order that depends only on the names."""
    names = sorted(mutants)
    found: dict[str, None] = {}
    for name in names:
        others = sorted(
            (other for other in names if other != name), key=lambda other: crc32(f"{name}+{other}".encode())
        )
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
