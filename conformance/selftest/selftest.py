"""Verifies the verifier: nothing accuses the reference, some guarantee catches every mutant, alone and paired with
another mutant, and every guarantee catches a mutant."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import lru_cache, partial
from pathlib import Path
from typing import Any
from zlib import crc32

from conformance.judgement.cell import MatrixCell
from conformance.model.case import Case
from conformance.model.scenario import Scenario
from conformance.plugins.registry import UnknownName, load_engine, mutant_engine
from conformance.run.processes import answers, workers
from conformance.selftest.power import Row
from conformance.support.plain import Plain
from conformance.support.reading import BadInput, text_of
from conformance.support.writing import write_whole

SCHEMA = "conformance/selftest/1"

OTHERS = 5
"""Number of other mutants that each mutant is paired with."""


class Want(Enum):
    """What a self-test is to find out."""

    HOLES = "whether each mutant is caught, and whether each guarantee catches one"
    MATRIX = "every guarantee that each mutant breaks"
    IN_SIGHT = "the same, without mutants that these scenarios cannot see or let through, and pairs with one of these"
    """Otherwise a mutant that nothing caught is a survivor: all scenarios together must catch every one."""


FEW = 4
"""On so many cases mutants are asked for a guarantee that none has broken, before they are asked on all."""


class UnreadableSelfTest(BadInput):
    """A file that is not a self-test of this version; the message says what is wrong with it."""


@dataclass(frozen=True)
class SelfTest(Plain):
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
        write_whole(path, json.dumps({"schema": SCHEMA} | self.to_json(), indent=1) + "\n")

    @classmethod
    def read(cls, path: Path) -> SelfTest:
        """Raises UnreadableSelfTest for anything but a self-test of this version."""
        text = text_of(path, UnreadableSelfTest)
        try:
            data = json.loads(text)
            if isinstance(data, dict) and data.get("schema") == SCHEMA:
                return cls.from_json(data)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise UnreadableSelfTest(f"{path} is not a whole self-test: {error!r}") from None
        raise UnreadableSelfTest(f"{path} is not a self-test of this version: write one with `selftest --json`")


def selftest(
    scenarios: Iterable[Scenario],
    mutants: Iterable[str],
    *,
    wanted: int = 2,
    seeds: int = 20,
    want: Want = Want.MATRIX,
    processes: int = 1,
    progress: Callable[[str], None] = lambda text: None,
) -> SelfTest:
    """Runs the reference on its suites of the seeds 0 to ``seeds`` - 1, and the mutants on the first of them. Mutants,
    pairs and guarantees that are left then have their turn on the others.

    Args:
        wanted: number of cases of each program on each timeline with seed 0. The other seeds have half of them, and
            fewer twins.
        processes: number of processes that work side by side. The result is the same.
    """
    # Imported here: reports read self-tests, and run none.
    from conformance.run.drawing import batches, drawing_here
    from conformance.selftest.bench import Bench, Found

    scenarios, mutants = list(scenarios), list(mutants)
    reference = load_engine("reference").capabilities
    asked = frozenset((s.id, g.id) for s in scenarios for g in s.guarantees)
    known = _Known(dict.fromkeys(mutants, Found()))

    def bench_of(seed: int, draw: Callable[[Iterable[Any]], Iterator[list[Case]]] | None = None) -> Bench:
        can, number = (replace(reference, each=1), max(1, wanted // 2)) if seed else (reference, wanted)
        drawn = [case for cases in batches(scenarios, number, seed, draw) for case in cases]
        return Bench(scenarios, "reference", drawn, seed, can)

    def accusations_of(bench: Bench, processes: int) -> list[MatrixCell]:
        cells = answers(lambda n: [*bench.accusations(scenarios[n])], range(len(scenarios)), processes)
        return [cell for mine in cells for cell in mine]

    def ask(bench: Bench, known: _Known, processes: int) -> None:
        left = [mutant for mutant in mutants if not known.found[mutant].broken]
        whole = want is not Want.HOLES
        for mutant, more in zip(left, answers(partial(bench.found, whole=whole), left, processes), strict=True):
            known.found[mutant] = more.after(known.found[mutant])
            progress(f"mutant {mutant}: {len(more.broken)} guarantees broken")
        if not whole:
            for mutant, rows in _teeth(bench, known, asked, processes):
                known.found[mutant] = known.found[mutant].after(Found(rows))
        paired = pairs_of(m for m in mutants if known.found[m].broken or want is not Want.IN_SIGHT)
        pairs = [pair for pair in paired if not known.pairs.get(pair)]
        by = {pair: [case for one in pair.split("+") for case in known.found[one].by] for pair in pairs}
        told = answers(lambda pair: bench.found(pair, first=by[pair]), pairs, processes)
        for pair, together in zip(pairs, told, strict=True):
            known.pairs[pair] = min(together.broken, default=None)
            progress(f"mutants {pair}: {'caught' if together.broken else 'not caught'}")

    with workers(drawing_here(scenarios), processes) as draw:
        bench = bench_of(0, draw)
    accusations = accusations_of(bench, processes)
    ask(bench, known, processes)
    first = known.copy()

    def later(seed: int) -> tuple[list[MatrixCell], _Known]:
        bench, mine = bench_of(seed), first.copy()
        ask(bench, mine, 1)
        return accusations_of(bench, 1), mine

    for cells, mine in answers(later, range(1, seeds), processes):
        accusations += cells
        known.add(mine)
        progress(f"the reference on another seed: {len(accusations)} accusations so far")
    broken = {mutant: found.broken for mutant, found in known.found.items()}
    if want is not Want.IN_SIGHT:
        return SelfTest(broken, asked, tuple(accusations), known.pairs)
    caught = {mutant: rows for mutant, rows in broken.items() if rows}
    let_through = tuple(mutant for mutant in mutants if known.found[mutant].seen and mutant not in caught)
    hidden = tuple(mutant for mutant in mutants if not known.found[mutant].seen)
    return SelfTest(caught, asked, tuple(accusations), known.pairs, let_through, hidden)


@dataclass
class _Known:
    """What is known of mutants, and of pairs of them."""

    found: dict[str, Any]
    pairs: dict[str, Row | None] = field(default_factory=dict)

    def copy(self) -> _Known:
        return _Known(dict(self.found), dict(self.pairs))

    def add(self, other: _Known) -> None:
        self.found |= {mutant: more.after(self.found[mutant]) for mutant, more in other.found.items()}
        self.pairs |= {pair: self.pairs.get(pair) or row for pair, row in other.pairs.items()}


def _teeth(bench: Any, known: _Known, asked: frozenset[Row], processes: int) -> Iterator[tuple[str, frozenset[Row]]]:
    """Mutants, each with those that it breaks of the guarantees that none of them has broken. They are asked until each
    is broken or no mutant is left."""
    broken = {mutant: found.broken for mutant, found in known.found.items()}

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
        yield from found.items()


def pairs_of(mutants: Iterable[str]) -> list[str]:
    """Each mutant paired with OTHERS compatible mutants, in an order that depends only on the names."""
    return [*_pairs(tuple(sorted(mutants)))]


@lru_cache(maxsize=2)  # each seed asks for them
def _pairs(names: tuple[str, ...]) -> dict[str, None]:
    found: dict[str, None] = {}
    for name in names:
        others = sorted(
            (other for other in names if other != name), key=lambda other: crc32(f"{name}+{other}".encode())
        )
        pairs = ("+".join(sorted((name, other))) for other in others)
        found |= dict.fromkeys(itertools.islice(filter(_can_be, pairs), OTHERS))
    return found


def _can_be(pair: str) -> bool:
    try:
        load_engine(mutant_engine(pair))
    except UnknownName:
        return False
    return True
