"""Power: how many of the seeded bugs a run on an engine would catch, with that engine's capabilities and its packs.

The mutants run in this process. A mutant counts as caught if a pack speaks against a guarantee. Nothing runs alone.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import Any

from conformance.execution.kept import Kept
from conformance.judgement.batches import cells_asked
from conformance.judgement.evidence import Runs, Traces, gather
from conformance.judgement.reference import reference_traces
from conformance.judgement.verdict import not_expressible
from conformance.model.case import Case, program_ref
from conformance.model.engine import Engine, EngineInfo, bare
from conformance.model.perturbation import Perturbation
from conformance.model.reading import json_of
from conformance.model.runs import Pack
from conformance.model.scenario import Guarantee, Scenario, programs_of
from conformance.plugins.adapter import adapter_digest
from conformance.plugins.registry import load_engine, mutant_engine
from conformance.run.drawing import BATCH, batches
from conformance.run.kept_choices import KeptChoices
from conformance.run.packs import choice_of, plans_given_out
from conformance.run.processes import answers

SCHEMA = "conformance/power/2"

VISIBLE = 50
"""Number of cases for each guarantee that decide whether an engine could show a mutant at all. If the run has more
cases, its cases decide."""


class UnreadablePower(ValueError):
    """A file that does not say the power of a run; the message says what is wrong with it."""


@dataclass(frozen=True)
class Asked:
    """The options of a run that decide which cases and packs an engine is given, see ``Options``. ``brief`` is for readers."""

    wanted: int
    seed: int = 0
    share: float = 1.0
    all_packs: bool = False
    brief: bool = False


@dataclass(frozen=True)
class Power:
    """The seeded bugs that a run on an engine would catch.

    Attributes:
        run, drawn: number of packs that the engine runs, and number of packs that were drawn.
        caught: mutant -> the first guarantee (scenario, guarantee) that it breaks.
        missed: mutants that differ from the reference on a case that the engine takes, but break nothing in these
            packs.
        not_visible: mutants that answer as the reference does on every case that the engine takes.
    """

    engine: str
    asked: Asked
    run: int = 0
    drawn: int = 0
    caught: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    missed: tuple[str, ...] = ()
    not_visible: tuple[str, ...] = ()

    @property
    def visible(self) -> int:
        """Number of mutants that the engine could show."""
        return len(self.caught) + len(self.missed)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Power:
        found = dict(data)
        caught = {str(mutant): (str(row[0]), str(row[1])) for mutant, row in found.pop("caught").items()}
        missed, hidden = (tuple(map(str, found.pop(name))) for name in ("missed", "not_visible"))
        return cls(**found | {"asked": Asked(**found["asked"])}, caught=caught, missed=missed, not_visible=hidden)


def write_powers(path: Path, powers: Iterable[Power]) -> None:
    data = {"schema": SCHEMA, "engines": [asdict(power) for power in powers]}
    path.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")


def read_powers(path: Path) -> list[Power]:
    """Raises UnreadablePower for anything but a file that ``write_powers`` wrote."""
    data = json_of(path, UnreadablePower)
    if not isinstance(data, dict) or data.get("schema") != SCHEMA:
        raise UnreadablePower(f"{path} does not say the power of a run: write one with `selftest --as ENGINE --json`")
    try:
        return [Power.from_json(found) for found in data["engines"]]
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise UnreadablePower(f"{path} does not say the whole power of a run: {error!r}") from None


def powers_of(
    names: Iterable[str],
    scenarios: Iterable[Scenario],
    mutants: Iterable[str],
    asked: Asked,
    progress: Callable[[str], None] = lambda text: None,
    processes: int = 1,
    kept: Kept | None = None,
) -> Iterator[Power]:
    """The power of a run on each of the engines with these options: every mutant runs on the cases and packs of that run, in so many
    processes side by side. Cases that an earlier run drew are read from ``kept``."""
    scenarios, mutants = tuple(scenarios), list(mutants)
    drawn = _Drawn(scenarios, asked, kept)
    likely: dict[str, tuple[str, str]] = {}
    for name in names:
        power = _power_of(name, drawn, scenarios, mutants, asked, likely, progress, processes)
        likely |= power.caught
        yield power


class _Drawn:
    """The cases of runs with the same options, in batches. They are drawn once if they are one batch, which fits in memory.

    Attributes:
        choices: the packs that runs chose of these cases before, if they were kept.
    """

    def __init__(self, scenarios: tuple[Scenario, ...], asked: Asked, kept: Kept | None) -> None:
        self._scenarios, self._asked, self._kept = scenarios, asked, kept
        self._one: dict[int, list[list[Case]]] = {}
        self.choices = KeptChoices(kept, scenarios) if kept else None

    def batches(self, wanted: int) -> Iterable[list[Case]]:
        if wanted not in self._one:
            drawn = batches(self._scenarios, wanted, self._asked.seed, self._kept)
            if wanted > BATCH:
                return drawn
            self._one[wanted] = list(drawn)
        return self._one[wanted]


def _power_of(
    name: str,
    drawn_cases: _Drawn,
    scenarios: tuple[Scenario, ...],
    mutants: list[str],
    asked: Asked,
    likely: Mapping[str, tuple[str, str]],
    progress: Callable[[str], None],
    processes: int,
) -> Power:
    """``likely``: mutant -> a guarantee that it broke on another engine, whose program is asked first."""
    engine = load_engine(name)
    info = EngineInfo(name, engine.title, engine.capabilities, adapter=adapter_digest(engine))
    plans = [] if asked.brief else plans_given_out(asked.seed).get(bare(name), [])
    caught: dict[str, tuple[str, str]] = {}
    seen: set[str] = set()
    run = drawn = 0

    def visible(cases: list[Case], unseen: list[str]) -> set[str]:
        """The mutants that the engine could show if it ran all packs of these cases."""
        if not unseen:
            return set()
        taken = _Bench(scenarios, info, choice_of(cases, info.capabilities, scenarios, 1.0, all_packs=True).packs)
        return {mutant for mutant, sees in zip(unseen, answers(taken.sees, unseen, processes), strict=True) if sees}

    for cases in drawn_cases.batches(asked.wanted):
        choices = drawn_cases.choices
        known = choices.selected(info, cases, asked.share, asked.all_packs) if choices else None
        choice = choice_of(cases, info.capabilities, scenarios, asked.share, asked.all_packs, plans, known)
        run, drawn = run + len(choice.packs), drawn + choice.drawn
        bench = _Bench(scenarios, info, choice.packs)
        left = [mutant for mutant in mutants if mutant not in caught]
        tried = answers(lambda mutant: bench.broken(mutant, likely.get(mutant)), left, processes)  # noqa: B023
        for mutant, broken in zip(left, tried, strict=True):
            if broken:
                caught[mutant] = broken
            progress(f"{name}: mutant {mutant}: {'caught' if broken else 'not caught'}")
        seen |= visible(cases, [mutant for mutant in mutants if mutant not in caught and mutant not in seen])
    left = [mutant for mutant in mutants if mutant not in caught and mutant not in seen]
    if left and asked.wanted < VISIBLE:
        for cases in drawn_cases.batches(VISIBLE):
            seen |= visible(cases, left)
    missed = tuple(mutant for mutant in mutants if mutant in seen and mutant not in caught)
    hidden = tuple(mutant for mutant in left if mutant not in seen)
    return Power(name, asked, run, drawn, caught, missed, hidden)


class _Bench:
    """Some packs of an engine, with the results of the reference that reads *late* as the engine does.

    The reference and its mutants run each case by itself. So a pack can run one program at a time, and the runs can
    stop when a mutant is caught.
    """

    def __init__(self, scenarios: tuple[Scenario, ...], info: EngineInfo, packs: tuple[Pack, ...]) -> None:
        self._info, self._programs = info, programs_of(scenarios)
        self._asked: dict[str, list[tuple[Scenario, Guarantee, Perturbation | None]]] = {}
        for place in cells_asked(scenarios, info):
            if not_expressible(*place, info) is None:
                self._asked.setdefault(program_ref(place[0].id, place[1].program), []).append(place)
        parts: dict[str, list[Pack]] = {}
        for pack in packs:
            of_program: dict[str, list[Case]] = {}
            for case in pack.cases:
                of_program.setdefault(program_ref(case.scenario, case.program), []).append(case)
            for ref, cases in of_program.items():
                parts.setdefault(ref, []).append(Pack(tuple(cases)))
        self._parts = {ref: sorted(mine, key=lambda part: len(part.cases)) for ref, mine in parts.items()}
        self._specified: dict[str, Traces] = {}
        self._reference = reference_traces(self._programs, info.capabilities.lateness)

    def broken(self, mutant: str, likely: tuple[str, str] | None = None) -> tuple[str, str] | None:
        """A guarantee that the mutant breaks in these packs, None if it breaks none. The program of the ``likely`` one is asked first."""
        engine = self._reading(mutant_engine(mutant))
        runs: dict[str, Runs] = {}
        for ref, part in self._in_turn(self._program_of(likely)):
            mine = runs.setdefault(ref, Runs())
            found = engine.run(part, self._programs)
            mine.add(part, found)
            if row := self._against(ref, mine):
                return row
        return None

    def sees(self, mutant: str) -> bool:
        """Whether the mutant's answer to a case differs from the reference's: by the trace, or by the row counts if a
        guarantee of the program is about row counts."""
        engine, reference = self._reading(mutant_engine(mutant)), self._reading("reference")
        for ref, part in self._in_turn():
            found, specified = engine.run(part, self._programs), self._of_reference(ref)
            if any(found.traces[case.id] != specified[case.id] for case in part.cases):
                return True
            if self._counting(ref) and found.counts != reference.run(part, self._programs).counts:
                return True
        return False

    def _reading(self, name: str) -> Engine:
        engine: Engine = load_engine(name).reading(self._info.capabilities.lateness)  # type: ignore[attr-defined]
        return engine

    def _program_of(self, row: tuple[str, str] | None) -> str:
        found = (ref for ref, asked in self._asked.items() if any((s.id, g.id) == row for s, g, _ in asked))
        return next(found, "")

    def _in_turn(self, first: str = "") -> Iterator[tuple[str, Pack]]:
        """All parts of the program ``first``, then the first part of each other program, then the second of each, and so on."""
        yield from ((first, part) for part in self._parts.get(first, ()))
        others = {ref: parts for ref, parts in self._parts.items() if ref != first}
        for turn in zip_longest(*others.values()):
            yield from ((ref, part) for ref, part in zip(others, turn, strict=True) if part)

    def _of_reference(self, ref: str) -> Traces:
        if ref not in self._specified:
            self._specified[ref] = self._reference([case for part in self._parts[ref] for case in part.cases])
        return self._specified[ref]

    def _counting(self, ref: str) -> bool:
        return any(guarantee.accounting for _, guarantee, _ in self._asked.get(ref, ()))

    def _against(self, ref: str, runs: Runs) -> tuple[str, str] | None:
        """A guarantee that the results so far speak against. Cases on which the mutant equals the reference break
        nothing, so only the other cases are judged."""
        specified = self._of_reference(ref)
        there = [case for pack, _ in runs.packs for case in pack.cases]
        unlike = {case.id for case in there if runs.traces[case.id] != specified[case.id]}
        pairs = [case for case in there if case.base and not unlike.isdisjoint((case.id, case.base))]
        wanted = unlike.union(*((case.id, case.base) for case in pairs))
        every = [case for part in self._parts[ref] for case in part.cases if case.id in wanted]
        for scenario, guarantee, perturbation in self._asked.get(ref, ()):
            if not guarantee.accounting and not unlike:
                continue
            cases = there if guarantee.accounting else every
            evidence = gather(self._programs[ref], guarantee, perturbation, cases, runs, lambda cases: specified)
            if evidence.against:
                return scenario.id, guarantee.id
        return None
