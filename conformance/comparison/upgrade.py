"""An upgrade: one engine in two releases on identical cases, with a test whether a checkpoint of the old release
survives in the new one; and what one release refuses and the other accepts, or refuses in another way."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from conformance.comparison.gate import Outcome, Ruled, of_engine
from conformance.confirmation.owed import RUNS_ALONE
from conformance.confirmation.replay import NOT_EXPRESSIBLE, STILL_FAILS, Replay, replay, with_replays
from conformance.judgement.cell import Verdict
from conformance.judgement.stability import Stability
from conformance.judgement.verdict import of_a_restart
from conformance.model.case import Case
from conformance.model.engine import CannotRun, EngineInfo, Resumable, bare, is_accepted, same_answer
from conformance.model.equivalence import IMPLIES, Equivalence
from conformance.model.perturbation import CRASH, RESTART, Perturbation
from conformance.model.scenario import Guarantee, Scenario, slug
from conformance.plugins.registry import load_engine
from conformance.results.changes import DECIDED
from conformance.results.results import Results
from conformance.results.store import read_cases, write_cases
from conformance.results.witness import Witness
from conformance.run.drawing import shortest
from conformance.run.hosts import Hosts
from conformance.run.options import Options
from conformance.support.naming import counted


@dataclass(frozen=True)
class Lacking:
    """An engine for which a release lacks an API. ``old`` and ``new`` say what each release lacks, "" for nothing."""

    engine: str
    old: str
    new: str

    def ruled(self, old: str, new: str) -> Ruled:
        """The ruling of the gate: an API that the new release lacks blocks. ``old`` and ``new`` are the releases."""
        if not self.new:
            return of_engine(self.engine, Outcome.TOLD, f"runs in {new} only: {self.old}")
        if not self.old:
            return of_engine(self.engine, Outcome.BLOCKS, f"runs in {old} only: {self.new}")
        return of_engine(self.engine, Outcome.TOLD, f"runs in neither release: {self.new}")


@dataclass(frozen=True)
class Upgraded:
    """The results of both sides, everything that both sides were asked, and the engines that were left out of both."""

    old: Results
    new: Results
    left_out: tuple[Lacking, ...]


@dataclass(frozen=True)
class Upgrade:
    """The releases to compare, ``old`` and ``new`` of a package, on its ``engines`` (ids without a version). With
    ``rollback``, checkpoints of the new release are resumed by the old one, too, and then by the new one again.
    ``Options`` describes the rest."""

    old: str
    new: str
    engines: tuple[str, ...]
    options: Options
    rollback: bool = False

    def execute(self, run: Callable[[Options], Results], say: Callable[[str], None]) -> Upgraded:
        """Run both sides. ``run`` makes a run, ``say`` tells the user.

        Raises:
            CannotRun: no engine is there in both releases, or a run was interrupted.
        """

        def whole(options: Options) -> Results:
            results = run(options)
            if results.run.partial:
                raise CannotRun(f"interrupted; what there is lies in {options.out}")
            return results

        options, out = self.options, self.options.out
        left_out = self._absent(out / "logs")
        for lacking in left_out:
            say(f"{lacking.engine}: left out: {lacking.old or lacking.new}")
        there = [engine for engine in self.engines if engine not in {lacking.engine for lacking in left_out}]
        if not there:
            raise CannotRun(left_out[0].old or left_out[0].new)
        sides = [tuple(f"{engine}@{version}" for engine in there) for version in (self.old, self.new)]
        both = whole(replace(options, engines=("reference", *sides[0], *sides[1]), out=out / "both"))
        old, new = (_side(both, side) for side in sides)
        if not old.engines or not new.engines:
            raise CannotRun(next(found.failure for found in both.environment.values() if found.failure))

        def again(title: str, mine: Results, other: Results) -> Results:
            if not (asked := to_ask(mine, other)):
                return mine
            say(f"asking the {title} release for what {counted(len(asked), 'witness', 'es')} of the other one show")
            by_engine = {name: [w for w in asked if bare(w.engine) == bare(name)] for name in mine.engines}
            return asked_again(mine, by_engine, options.scenarios, hosts)

        logs = out / "both" / "logs" / "asked-again"
        with ThreadPoolExecutor(max_workers=2) as pool, Hosts(logs, options.timeout) as hosts:
            old, new = pool.map(again, ("old", "new"), (old, new), (new, old))
        names = [bare(name) for name in new.engines if isinstance(load_engine(name), Resumable)]
        names = [name for name in names if name in map(bare, old.engines)]
        for name in (silent := silent_in_one(names, old, new)):
            say(f"{name}: its checkpoints are not carried over, since it answered nothing in one of the releases")
        names = [name for name in names if name not in silent]
        drawn = [case for batch in read_cases(out / "both", options.scenarios) for case in batch]
        cases = list(restarted((options.excerpt.rows and shortest(drawn)) or drawn, options.scenarios, options.seed))
        if names and cases:
            write_cases(out / "restarts.parquet", cases)
            new = with_carried(new, self._resumed(whole, say, names, both, UPGRADE))
            if self.rollback:
                new = with_carried(new, self._resumed(whole, say, names, both, ROLLBACK))
        return Upgraded(old, new, left_out)

    def _resumed(
        self,
        whole: Callable[[Options], Results],
        say: Callable[[str], None],
        names: list[str],
        both: Results,
        what: str,
    ) -> Results:
        """The results of engines that begin in one release and are resumed in the other, as an UPGRADE or a ROLLBACK
        does; behind a rollback, in the first one again."""
        begun, *resumed = (self.old, self.new) if what == UPGRADE else (self.new, self.old, self.new)
        say(f"checkpoints of {begun} on {', then on '.join(resumed)}")
        scenarios = (surviving(scenario, both.stability, what) for scenario in self.options.scenarios)
        to_survive = tuple(scenario for scenario in scenarios if scenario.guarantees)
        folder = self.options.out / ("carried" if what == UPGRADE else "rolled-back")
        carried = whole(
            replace(
                self.options,
                engines=tuple(f"{name}@{'+'.join((begun, *resumed))}" for name in names),
                scenarios=to_survive,
                out=folder,
                cases_from=self.options.out / "restarts.parquet",
                wanted=0,
                witnesses=(),
            )
        )
        return besides_restarts(carried, to_survive, resumed, folder / "logs", self.options.timeout)

    def _absent(self, logs: Path) -> tuple[Lacking, ...]:
        """The engines for which a release lacks an API. The check runs before any engine does. Raises CannotRun."""
        # Each engine may have an environment to build.
        with ThreadPoolExecutor(max_workers=2) as pool, Hosts(logs, self.options.timeout) as hosts:
            old, new = pool.map(partial(hosts.lacking, self.engines), (self.old, self.new))
        found = (Lacking(engine, old[engine], new[engine]) for engine in self.engines)
        return tuple(lacking for lacking in found if lacking.old or lacking.new)


def besides_restarts(
    carried: Results, scenarios: Sequence[Scenario], resumed: Sequence[str], logs: Path, timeout: float
) -> Results:
    """Results of engines that were resumed in these releases, without violations that a restart within one of them
    shows, too. ``logs`` is a folder."""
    cells, answers = [], dict[tuple[str, str, str], str]()
    for cell in carried.cells:
        for release in resumed if cell.verdict is Verdict.VIOLATED else ():
            mine = (bare(cell.engine), cell.witness, release)
            if mine not in answers:
                witness, engine = carried.witnesses[cell.witness], f"{bare(cell.engine)}@{release}"
                answers[mine] = asked_alone(engine, witness, scenarios, logs / release / witness.id, timeout).answer
            if answers[mine] == STILL_FAILS:
                cell = of_a_restart(cell, release)
                break
        cells.append(cell)
    return replace(carried, cells=cells)


def in_releases(ruled: Iterable[Ruled], old: str, new: str, replays: Mapping[str, str]) -> Iterator[Ruled]:
    """Rulings that call the two sides by their releases, without the one that the release is another: that was asked
    for. ``replays`` are commands by witness."""
    for one in ruled:
        why = one.ruling.why
        if one.engine or f": {old} → {new} (" not in why:
            why = why.replace("the candidate", new).replace("the baseline", old)
            yield replace(one, ruling=replace(one.ruling, why=why), command=replays.get(one.witness, ""))


def replays_in_both(sides: Mapping[Path, Results], old: str, new: str) -> dict[str, str]:
    """Witness (id) -> the command that replays it in both releases. ``sides`` are results by the folder of their
    files."""
    found = {}
    for folder, results in sides.items():
        for name, witness in results.witnesses.items():
            engines = [f"--engine {bare(witness.engine)}@{release}" for release in (old, new)]
            if "+" in witness.engine:  # it begins in the old release and resumes in the new one by itself
                engines = []
            file = folder / "witnesses" / witness.case.scenario / f"{name}.json"
            found[name] = " ".join([f"conformance replay {file}", *engines])
    return found


def silent_in_one(names: Iterable[str], *sides: Results) -> list[str]:
    """Those of these engines (ids without a release) that answered no case in one of the releases. One that failed in a
    part of its cases answered the others."""
    answered = [{bare(cell.engine) for cell in side.cells if cell.verdict in DECIDED} for side in sides]
    return [name for name in names if not all(name in there for there in answered)]


def _side(both: Results, engines: Iterable[str]) -> Results:
    """The results of one release's engines."""
    found = without(both, {*both.environment} - {*engines})
    shown = {cell.witness for cell in found.cells}
    return replace(found, witnesses={name: witness for name, witness in both.witnesses.items() if name in shown})


def without(results: Results, engines: Iterable[str]) -> Results:
    """Results as if these engines had taken no part."""
    engines = set(engines)
    cells = [cell for cell in results.cells if cell.engine not in engines]
    return replace(
        results,
        environment={name: found for name, found in results.environment.items() if name not in engines},
        cells=cells,
        stability=[s for s in results.stability if s.engine not in engines],
        agreements=[a for a in results.agreements if not {a.left, a.right} & engines],
        replays=[r for r in results.replays if r.engine not in engines],
    )


UPGRADE, ROLLBACK, KILLS = "upgrade", "rollback", "kills"
"""What a checkpoint is to survive: begun in the old release and resumed by the new one, or the other way round; or that
its job is killed."""

UNDER = {UPGRADE: RESTART, ROLLBACK: RESTART, KILLS: CRASH}
"""The perturbation of a twin that shows it, which the program promises to be stable under."""


def surviving(
    scenario: Scenario, stability: Iterable[Stability] = (), what: str = UPGRADE, plans: Sequence[Perturbation] = ()
) -> Scenario:
    """A scenario with the guarantees that checkpoints of its programs survive ``what`` in place of its own: for each
    program that promises to survive a restart, or a kill, up to the equivalence that it does so within one release on
    every engine (of which ``stability`` tells, as that of results does); a program of which nothing stays the same is
    left out. The twins may have ``plans`` besides."""
    under = UNDER[what]
    found = [s for s in stability if (s.scenario, s.perturbation) == (scenario.id, under.id) and s.pairs]
    guarantees = []
    for program, survived in scenario.stable_under.items():
        if under.id not in survived:
            continue
        promised = survived[under.id]
        observed = [{*s.observed} for s in found if s.program == program]
        bounds = [{promised}, *observed]
        kept = [e for e in Equivalence if all(any(e in {bound, *IMPLIES[bound]} for bound in each) for each in bounds)]
        if kept:
            guarantees.append(Guarantee(_claim(program, what), program, same_under=(under, *plans), alike=kept[0]))
    return replace(scenario, guarantees=tuple(guarantees), complete=False, planned=False)


def _claim(program: str, what: str) -> str:
    return f"a checkpoint of {program} survives {what if what == KILLS else f'the {what}'}"


def asked_of(witness: Witness, scenarios: Iterable[Scenario]) -> Scenario:
    """The scenario with the guarantee of a witness. Raises StopIteration if there is none."""
    scenario = next(s for s in scenarios if s.id == witness.case.scenario)
    for what in UNDER:
        if witness.guarantee == slug(_claim(witness.case.program, what)):
            return surviving(scenario, what=what)
    return scenario


def restarted(cases: Iterable[Case], scenarios: Sequence[Scenario], seed: int) -> Iterator[Case]:
    """The cases as drawn of some cases, each with a twin that is restarted, of the programs that promise to survive it.
    Each timeline has one level of the restart; that of the first comes behind a bundle."""
    wanted = {(s.id, guarantee.program) for s in map(surviving, scenarios) for guarantee in s.guarantees}
    level: dict[object, int] = {}
    for case in cases:
        if (case.scenario, case.program) in wanted and not case.base:
            at = level.setdefault(case.schedule.timeline, len(level) % RESTART.levels)
            if twin := RESTART.twin(case, seed, at):
                yield from (case, twin)


def to_ask(side: Results, other: Results) -> list[Witness]:
    """The witnesses of the other side's violations that this side lacks. This side replays each of them, so that a
    reported change is a real one."""
    violated = {(bare(c.engine), c.row, c.perturbation) for c in side.cells if c.verdict is Verdict.VIOLATED}
    wanted = dict.fromkeys(
        cell.witness
        for cell in other.cells
        if cell.verdict is Verdict.VIOLATED
        and cell.witness
        and (bare(cell.engine), cell.row, cell.perturbation) not in violated
    )
    return [other.witnesses[name] for name in wanted]


def asked_alone(engine: str, witness: Witness, scenarios: Sequence[Scenario], logs: Path, timeout: float) -> Replay:
    """The result of a witness on an engine in processes of its own, which log in the folder ``logs``. Raises
    CannotRun."""
    can = load_engine(engine).capabilities
    with Hosts(logs, timeout) as hosts:
        process = hosts.open(EngineInfo(engine, "", can))
        if process.lacks:
            return Replay(witness, NOT_EXPRESSIBLE, process.lacks)
        return replace(replay(process, witness, scenarios, can), versions=process.environment)


def asked_again(
    results: Results, witnesses: Mapping[str, Sequence[Witness]], scenarios: Sequence[Scenario], hosts: Hosts
) -> Results:
    """Results after witnesses of others were replayed alone on engines here (an id -> its witnesses). A witness that
    fails every time speaks against its cell. The engines share the processes that they share in a run."""
    found: dict[str, list[Replay]] = {}
    environment = dict(results.environment)
    for engine, mine in witnesses.items():
        if not mine:
            continue
        can = load_engine(engine).capabilities
        try:
            process = hosts.open(EngineInfo(engine, "", can))
            for witness in mine:
                answers = [replay(process, witness, scenarios, can) for _ in range(RUNS_ALONE)]
                worst = next((a for a in answers if a.answer != STILL_FAILS), answers[0])
                found.setdefault(engine, []).append(worst)
        except CannotRun as error:
            environment[engine] = environment[engine].failed(str(error))
    still = {r.witness.id: r.witness for rs in found.values() for r in rs if r.answer == STILL_FAILS}
    return replace(
        results,
        environment=environment,
        cells=[with_replays(cell, found.get(cell.engine, [])) for cell in results.cells],
        witnesses=results.witnesses | still,
        replays=[*results.replays, *(r.recorded(engine) for engine, rs in found.items() for r in rs)],
    )


def with_carried(new: Results, carried: Results) -> Results:
    """The new side's results with the results of carried engines added, as cells of the engine that resumed."""
    names = {bare(engine): engine for engine in new.engines}
    cells = [replace(cell, engine=names[bare(cell.engine)]) for cell in carried.cells]
    scenarios = {
        name: replace(texts, guarantees={**texts.guarantees, **carried.scenarios.get(name, texts).guarantees})
        for name, texts in new.scenarios.items()
    }
    environment = dict(new.environment)
    for engine, resumed in carried.environment.items():
        mine = names[bare(engine)]
        if resumed.failure:
            environment[mine] = environment[mine].failed(f"with checkpoints of another release: {resumed.failure}")
    return replace(
        new,
        cells=[*new.cells, *cells],
        scenarios=scenarios,
        environment=environment,
        witnesses=new.witnesses | carried.witnesses,
    )


def refusals_changed(old: Results, new: Results) -> Iterator[Ruled]:
    """The rulings on questions whose answers differ: what was accepted and is refused now blocks, other changes are
    told."""
    after = {bare(engine): record.answers for engine, record in new.environment.items()}
    for engine, record in old.environment.items():
        for question, answer in record.answers.items():
            now = after.get(bare(engine), {}).get(question, answer)
            if not same_answer(now, answer):
                outcome = Outcome.BLOCKS if is_accepted(answer) and not is_accepted(now) else Outcome.TOLD
                yield of_engine(bare(engine), outcome, f"{question}: {answer} → {now}")
