"""An upgrade: one engine in two releases on identical cases, and whether a checkpoint of the old one survives it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from conformance.agreement import Agreement, agreement
from conformance.confirmation import ALONE, NOT_EXPRESSIBLE, STILL_FAILS, Replay, replay
from conformance.engine import CannotRun, bare
from conformance.equivalence import IMPLIES, Equivalence
from conformance.guarantees import Guarantee, Scenario, slug
from conformance.model import Case
from conformance.perturbation import RESTART
from conformance.process import EngineDown, Host, opened
from conformance.registry import load_engine, releases_of
from conformance.results import Results, Verdict
from conformance.runner import Options, with_replays
from conformance.storage import Store, file_name, read_cases, write_cases
from conformance.witnesses import Witness


@dataclass(frozen=True)
class Upgrade:
    """What to compare: releases ``old`` and ``new`` of a package, on its ``engines`` (ids without a version). The rest is as in
    ``runner.Options``."""

    old: str
    new: str
    engines: tuple[str, ...]
    options: Options

    def execute(self, run: Callable[[Options], Results], say: Callable[[str], None]) -> tuple[Results, Results]:
        """The results of both sides, with all that was asked of both. ``run`` makes a run, ``say`` tells the user.

        Raises:
            CannotRun: no engine is there in both releases, or a run was interrupted.
        """

        def whole(options: Options) -> Results:
            results = run(options)
            if results.run["partial"]:
                raise CannotRun(f"interrupted; what there is lies in {options.out}")
            return results

        options, out = self.options, self.options.out
        absent = self._absent(out / "logs")
        for engine, why in absent.items():
            say(f"{engine}: left out: {why}")
        there = [engine for engine in self.engines if engine not in absent]
        if not there:
            raise CannotRun(next(iter(absent.values())))
        sides = [tuple(f"{engine}@{version}" for engine in there) for version in (self.old, self.new)]
        both = whole(replace(options, engines=("reference", *sides[0], *sides[1]), out=out / "both"))
        old, new = (_side(both, side) for side in sides)
        if not old.engines or not new.engines:
            raise CannotRun(next(entry["failure"] for entry in both.environment.values() if entry["failure"]))
        for title, mine, other in (("old", old, new), ("new", new, old)):
            if asked := to_ask(mine, other):
                say(f"asking the {title} release for what {len(asked)} witnesses of the other one show")
                more = asked_again(mine, asked, options.scenarios, out / "both" / "logs", options.timeout)
                old, new = (more, new) if mine is old else (old, more)
        names = [bare(name) for name in new.engines if hasattr(load_engine(name), "begin")]
        names = [name for name in names if name in map(bare, old.engines)]
        cases = list(restarted(out / "both", options.scenarios))
        if names and cases:
            say(f"checkpoints of {self.old} on {self.new}")
            write_cases(out / "restarts.parquet", cases)
            scenarios = (surviving(scenario, both.survivals) for scenario in options.scenarios)
            to_survive = tuple(scenario for scenario in scenarios if scenario.guarantees)
            carried = whole(
                replace(
                    options,
                    engines=tuple(f"{name}@{self.old}+{self.new}" for name in names),
                    scenarios=to_survive,
                    share=options.share / 2,  # all of these cases are about one perturbation
                    out=out / "carried",
                    cases_from=out / "restarts.parquet",
                    witnesses=(),
                )
            )
            new = with_carried(new, self._of_a_restart(carried, to_survive))
        return old, new

    def _absent(self, logs: Path) -> dict[str, str]:
        """Engine -> what one of the releases lacks for it, before any of them runs. Raises CannotRun."""
        logs.mkdir(parents=True, exist_ok=True)

        def lacking(version: str) -> dict[str, str]:
            (release,) = releases_of(f"{self.engines[0]}@{version}")
            with closing(Host(logs / f"lacks-{version}.log", self.options.timeout, release=release)) as host:
                try:
                    return {engine: host.lacks(f"{engine}@{version}") for engine in self.engines}
                except EngineDown as error:
                    raise CannotRun(str(error)) from None

        with ThreadPoolExecutor(max_workers=2) as pool:  # each may have an environment to build
            old, new = pool.map(lacking, (self.old, self.new))
        return {engine: why for engine in self.engines if (why := old[engine] or new[engine])}

    def _of_a_restart(self, carried: Results, scenarios: tuple[Scenario, ...]) -> Results:
        """Carried results, without violations whose witness fails as well when the new release alone is restarted."""
        logs, cells, answers = self.options.out / "carried" / "logs", [], dict[str, str]()
        for cell in carried.cells:
            if cell.verdict is Verdict.VIOLATED and cell.witness not in answers:
                witness = Witness.from_json(carried.witnesses[cell.witness])
                engine = f"{bare(cell.engine)}@{self.new}"
                log = logs / f"{file_name(engine)}-{witness.id}.log"
                answers[cell.witness] = asked_alone(engine, witness, scenarios, log, self.options.timeout).answer
            if cell.verdict is Verdict.VIOLATED and answers[cell.witness] == STILL_FAILS:
                reason = f"a restart within {self.new} does it, too: {cell.reason}"
                cell = replace(cell, verdict=Verdict.UNKNOWN, reason=reason)
            cells.append(cell)
        return replace(carried, cells=cells)


def _side(both: Results, engines: Iterable[str]) -> Results:
    """The results of one release's engines."""
    found = without(both, {*both.environment} - {*engines})
    shown = {cell.witness for cell in found.cells}
    return replace(found, witnesses={name: witness for name, witness in both.witnesses.items() if name in shown})


def outputs(out: Path, engines: Iterable[tuple[str, str]], scenarios: Sequence[Scenario]) -> list[dict[str, Any]]:
    """For each program and engine (its names in the old and in the new release): how what came out of the two releases agrees,
    on all cases that both answered, twins included; as the agreements of results, without programs that nothing answered."""
    store = Store(out / "both")
    found = []
    for one, two in engines:
        sums: dict[tuple[str, str, str, str], Agreement] = {}
        for batch in store.batches:
            sides = (one, store.read_traces(one, batch)), (two, store.read_traces(two, batch))
            cases = store.read_cases(batch)
            for scenario in scenarios:
                for name in scenario.programs:
                    mine = [case for case in cases if (case.scenario, case.program) == (scenario.id, name)]
                    part = agreement(scenario, name, mine, *sides)
                    sums[part.place] = sums[part.place].plus(part) if part.place in sums else part
        found += [total.to_json() for total in sums.values() if total.cases]
    return found


def without(results: Results, engines: Iterable[str]) -> Results:
    """Results as if these engines had taken no part."""
    engines = set(engines)
    cells = [cell for cell in results.cells if cell.engine not in engines]
    return replace(
        results,
        environment={name: entry for name, entry in results.environment.items() if name not in engines},
        cells=cells,
        survivals=[s for s in results.survivals if s["engine"] not in engines],
        agreements=[a for a in results.agreements if not {a["left"], a["right"]} & engines],
        replays=[r for r in results.replays if r["engine"] not in engines],
    )


def surviving(scenario: Scenario, survivals: Iterable[Mapping[str, Any]] = ()) -> Scenario:
    """A scenario with the guarantees that checkpoints of its programs survive an upgrade in place of its own: for each program
    that promises to survive a restart, up to the equivalence that it does so within one release on every engine (of which
    ``survivals`` tells, as those of results do); a program of which nothing stays the same is left out."""
    found = [s for s in survivals if (s["scenario"], s["perturbation"]) == (scenario.id, RESTART.id) and s["pairs"]]
    guarantees = []
    for program, survived in scenario.survives.items():
        if RESTART.id not in survived:
            continue
        promised = survived[RESTART.id]
        observed = [{Equivalence(name) for name in s["observed"]} for s in found if s["program"] == program]
        bounds = [{promised}, *observed]
        kept = [e for e in Equivalence if all(any(e in {bound, *IMPLIES[bound]} for bound in each) for each in bounds)]
        if kept:
            guarantees.append(Guarantee(_claim(program), program, same_under=(RESTART,), alike=kept[0]))
    return replace(scenario, guarantees=tuple(guarantees))


def _claim(program: str) -> str:
    return f"a checkpoint of {program} survives the upgrade"


def asked_of(witness: Witness, scenarios: Iterable[Scenario]) -> Scenario:
    """The scenario whose guarantee a witness is of. Raises StopIteration where it is of none."""
    scenario = next(s for s in scenarios if s.id == witness.case.scenario)
    return surviving(scenario) if witness.guarantee == slug(_claim(witness.case.program)) else scenario


def restarted(folder: Path, scenarios: Sequence[Scenario]) -> Iterator[Case]:
    """The cases of a run with a restart and nothing else done to them, and those that they are the twins of."""
    wanted = {(s.id, guarantee.program) for s in map(surviving, scenarios) for guarantee in s.guarantees}
    for batch in read_cases(folder, scenarios):
        cases = [case for case in batch if (case.scenario, case.program) in wanted]
        bases = {case.base for case in cases if case.perturbation == RESTART.id}
        yield from (case for case in cases if case.id in bases or case.perturbation == RESTART.id)


def to_ask(side: Results, other: Results) -> list[Witness]:
    """The witnesses of the other side's violations that this side has no violation for: each is to be asked of this one, so that
    what is called a change is seen to be one."""
    violated = {(bare(c.engine), c.row, c.perturbation) for c in side.cells if c.verdict is Verdict.VIOLATED}
    wanted = dict.fromkeys(
        cell.witness
        for cell in other.cells
        if cell.verdict is Verdict.VIOLATED
        and cell.witness
        and (bare(cell.engine), cell.row, cell.perturbation) not in violated
    )
    return [Witness.from_json(other.witnesses[name]) for name in wanted]


def asked_alone(engine: str, witness: Witness, scenarios: Sequence[Scenario], log: Path, timeout: float) -> Replay:
    """What a witness gives on an engine in processes of its own. Raises CannotRun."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with opened(engine, log, timeout) as process:
        if process.lacks:
            return Replay(witness, NOT_EXPRESSIBLE, process.lacks)
        found = replay(process, witness, scenarios, load_engine(engine).capabilities)
        return replace(found, versions=process.environment)


def asked_again(
    results: Results, witnesses: Sequence[Witness], scenarios: Sequence[Scenario], logs: Path, timeout: float
) -> Results:
    """Results with witnesses that were found in another release: each is replayed alone on the engine of its name here, and
    speaks against its cell where it fails every time."""
    found: dict[str, list[Replay]] = {}
    for engine in results.engines:
        mine = [w for w in witnesses if bare(w.engine) == bare(engine)]
        if not mine:
            continue
        can = load_engine(engine).capabilities
        try:
            with opened(engine, logs / f"{file_name(engine)}-asked-again.log", timeout) as process:
                for witness in mine:
                    answers = [replay(process, witness, scenarios, can) for _ in range(ALONE)]
                    worst = next((a for a in answers if a.answer != STILL_FAILS), answers[0])
                    found.setdefault(engine, []).append(worst)
        except CannotRun as error:
            entry = results.environment[engine]
            entry["failure"] = entry["failure"] or str(error)
    still = {r.witness.id: r.witness.to_json() for rs in found.values() for r in rs if r.answer == STILL_FAILS}
    return replace(
        results,
        cells=[with_replays(cell, found.get(cell.engine, [])) for cell in results.cells],
        witnesses=results.witnesses | still,
        replays=[*results.replays, *(r.to_json() | {"engine": engine} for engine, rs in found.items() for r in rs)],
    )


def with_carried(new: Results, carried: Results) -> Results:
    """The new side's results with what a run of carried engines found, as cells of the engine that resumed."""
    names = {bare(engine): engine for engine in new.engines}
    cells = [replace(cell, engine=names[bare(cell.engine)]) for cell in carried.cells]
    texts = {
        name: {**entry, "guarantees": {**entry["guarantees"], **carried.scenarios.get(name, entry)["guarantees"]}}
        for name, entry in new.scenarios.items()
    }
    environment = {name: dict(entry) for name, entry in new.environment.items()}
    for engine, entry in carried.environment.items():
        mine = environment[names[bare(engine)]]
        mine["failure"] = mine["failure"] or entry["failure"]
    return replace(
        new,
        cells=[*new.cells, *cells],
        scenarios=texts,
        environment=environment,
        witnesses=new.witnesses | carried.witnesses,
    )
