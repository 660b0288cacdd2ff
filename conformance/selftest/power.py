"""Power: how many of the seeded bugs a run on an engine would catch, with that engine's capabilities and its packs.

The mutants run in this process. A mutant counts as caught if a pack speaks against a guarantee. Nothing runs alone.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from conformance.execution.kept import Kept
from conformance.execution.packing import in_turn, packs_of
from conformance.judgement.batches import cells_asked
from conformance.judgement.evidence import Runs, Traces, gather
from conformance.judgement.verdict import not_expressible
from conformance.model.case import Case, program_ref
from conformance.model.engine import EngineInfo, bare
from conformance.model.perturbation import Perturbation
from conformance.model.reading import json_of
from conformance.model.runs import Pack
from conformance.model.scenario import Guarantee, Scenario, programs_of
from conformance.plugins.adapter import adapter_digest
from conformance.plugins.registry import load_engine, mutant_engine
from conformance.selftest.bench import Row
from conformance.run.drawing import batches
from conformance.run.kept_choices import KeptChoices
from conformance.run.packs import choice_of, plans_given_out, selected
from conformance.run.processes import answers
from conformance.selftest.specified import Answers, Specified

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
    caught: Mapping[str, Row] = field(default_factory=dict)
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
    """A line for each engine."""
    lines = ",\n".join(json.dumps(asdict(power)) for power in powers)
    path.write_text(f'{{"schema": "{SCHEMA}", "engines": [\n{lines}\n]}}\n', encoding="utf-8")


def with_others(powers: Iterable[Power], before: Iterable[Power]) -> list[Power]:
    """The powers, in the places that their engines had before, and those of other engines that were asked alike."""
    new = {power.engine: power for power in powers}
    asked = [power.asked for power in new.values()]
    kept = [new.pop(p.engine, p) for p in before if p.engine in new or p.asked in asked]
    return [*kept, *new.values()]


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
    likely: Mapping[str, Row] | None = None,
) -> list[Power]:
    """The power of a run on each of the engines with these options: every mutant runs on the cases and packs of that run, in so many
    processes side by side. A mutant runs a case once for all engines that read *late* alike. Cases that an earlier run drew are read
    from ``kept``. ``likely``: mutant -> a guarantee that it broke earlier, whose program it is asked for first; no answer depends on it."""
    scenarios, mutants = tuple(scenarios), list(mutants)
    specified = Specified(programs_of(scenarios))
    choices = KeptChoices(kept, scenarios) if kept else None
    engines = [_Asking(name, scenarios, asked, choices, specified) for name in names]
    for cases in batches(scenarios, asked.wanted, asked.seed, kept):
        for engine in engines:
            engine.give(cases)
        _ask(engines, mutants, specified, processes, progress, likely or {})
    if asked.wanted < VISIBLE and (hidden := [m for m in mutants if any(engine.hides(m) for engine in engines)]):
        for cases in batches(scenarios, VISIBLE, asked.seed, kept):
            for engine in engines:
                engine.show(cases)
            _ask(engines, hidden, specified, processes, progress, {})
    return [engine.power(mutants) for engine in engines]


Told = tuple[Row | None, bool]
"""The guarantee that a mutant breaks on an engine, None if it breaks none, and whether the engine could show the mutant."""


def _ask(
    engines: list[_Asking],
    mutants: list[str],
    specified: Specified,
    processes: int,
    progress: Callable[[str], None],
    likely: Mapping[str, Row],
) -> None:
    """Lets the mutants answer what the engines were given."""

    def told(mutant: str) -> list[Told]:
        answered, found = Answers(mutant_engine(mutant), specified), list[Told]()
        first = likely.get(mutant)
        for engine in engines:
            found.append(engine.told(mutant, answered, first))
            first = found[-1][0] or first
        return found

    for mutant, found in zip(mutants, answers(told, mutants, processes), strict=True):
        for engine, of_engine in zip(engines, found, strict=True):
            engine.note(mutant, of_engine)
        caught = sum(mutant in engine.caught for engine in engines)
        progress(f"mutant {mutant}: caught on {caught} of {len(engines)} engines")


class _Asking:
    """The mutants on the cases and packs of one engine."""

    def __init__(
        self,
        name: str,
        scenarios: tuple[Scenario, ...],
        asked: Asked,
        choices: KeptChoices | None,
        specified: Specified,
    ) -> None:
        engine = load_engine(name)
        self._specified = specified
        self._scenarios, self._asked, self._choices = scenarios, asked, choices
        self._info = EngineInfo(name, engine.title, engine.capabilities, adapter=adapter_digest(engine))
        self._plans = [] if asked.brief else plans_given_out(asked.seed).get(bare(name), [])
        self._bench: _Bench | None = None
        self.caught: dict[str, Row] = {}
        self._seen: set[str] = set()
        self._run = self._drawn = 0

    def give(self, cases: list[Case]) -> None:
        """These cases are drawn: the engine runs the packs that a run would choose of them."""
        share, every, can = self._asked.share, self._asked.all_packs, self._info.capabilities
        known = self._choices.selected(self._info, cases, share, every) if self._choices else None
        choice = choice_of(cases, can, self._scenarios, share, every, self._plans, known)
        self._run, self._drawn = self._run + len(choice.packs), self._drawn + choice.drawn
        self.show(cases, choice.own)
        self._bench = _Bench(self._scenarios, self._info, choice.packs, self._specified)

    def show(self, cases: list[Case], twins: Sequence[Case] = ()) -> None:
        """These cases are drawn to tell which mutants the engine could show if it ran all of their packs. ``twins`` are the plan twins of a
        run: further plans show nothing else."""

        @cache
        def sight() -> _Bench:
            can = self._info.capabilities
            packs, _ = selected(cases, can, self._scenarios, 1.0, all_packs=True)
            return _Bench(
                self._scenarios, self._info, (*packs, *packs_of(list(twins), can.largest_pack)), self._specified
            )

        self._bench, self._sight = None, sight

    def told(self, mutant: str, answered: Answers, likely: Row | None) -> Told:
        """``likely``: a guarantee that the mutant broke elsewhere, whose program is asked first."""
        if mutant in self.caught:
            return None, True
        broken = self._bench.broken(answered, likely) if self._bench else None
        return broken, bool(broken) or mutant in self._seen or self._sight().sees(answered)

    def note(self, mutant: str, told: Told) -> None:
        broken, seen = told
        if broken:
            self.caught[mutant] = broken
        if seen:
            self._seen.add(mutant)

    def hides(self, mutant: str) -> bool:
        return mutant not in self._seen

    def power(self, mutants: list[str]) -> Power:
        missed = tuple(mutant for mutant in mutants if mutant in self._seen and mutant not in self.caught)
        hidden = tuple(mutant for mutant in mutants if mutant not in self._seen)
        return Power(self._info.id, self._asked, self._run, self._drawn, self.caught, missed, hidden)


class _Bench:
    """Some packs of an engine, with the results of the reference that reads *late* as the engine does.

    A pack can run one program at a time, and the runs can stop when a mutant is caught.
    """

    def __init__(
        self, scenarios: tuple[Scenario, ...], info: EngineInfo, packs: tuple[Pack, ...], specified: Specified
    ) -> None:
        self._lateness, self._specified, self._programs = info.capabilities.lateness, specified, specified.programs
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
        self._traces: dict[str, Traces] = {}

    def broken(self, answered: Answers, likely: Row | None = None) -> Row | None:
        """A guarantee that the mutant breaks in these packs, None if it breaks none. The program of the ``likely`` one is asked first."""
        runs: dict[str, Runs] = {}
        alike: dict[str, list[Pack]] = {}
        for ref, part in self._in_turn(self._program_of(likely)):
            alike.setdefault(ref, []).append(part)
            if ref not in runs and not answered.unlike(part, self._lateness, self._counting(ref)):
                continue
            mine = runs.setdefault(ref, Runs())
            for there in alike.pop(ref):
                mine.add(there, answered.run(there, self._lateness))
            if row := self._against(ref, mine):
                return row
        return None

    def sees(self, answered: Answers) -> bool:
        """Whether the mutant's answer to a case differs from the reference's: by the trace, or by the row counts if a
        guarantee of the program is about row counts."""
        return any(answered.unlike(part, self._lateness, self._counting(ref)) for ref, part in self._in_turn())

    def _program_of(self, row: Row | None) -> str:
        found = (ref for ref, asked in self._asked.items() if any((s.id, g.id) == row for s, g, _ in asked))
        return next(found, "")

    def _in_turn(self, first: str = "") -> Iterator[tuple[str, Pack]]:
        """All parts of the program ``first``, then the first part of each other program, then the second of each, and so on."""
        yield from ((first, part) for part in self._parts.get(first, ()))
        yield from in_turn([(ref, part) for part in parts] for ref, parts in self._parts.items() if ref != first)

    def _of_reference(self, ref: str) -> Traces:
        if ref not in self._traces:
            there = [case for part in self._parts[ref] for case in part.cases]
            self._traces[ref] = {case.id: self._specified.of(case, self._lateness).traces[case.id] for case in there}
        return self._traces[ref]

    def _counting(self, ref: str) -> bool:
        return any(guarantee.accounting for _, guarantee, _ in self._asked.get(ref, ()))

    def _against(self, ref: str, runs: Runs) -> Row | None:
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
