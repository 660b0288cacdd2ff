"""Which release goes on from which: checkpoints begun in each of several releases of a package, resumed in each other
one, and then in the first one again."""

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from conformance.comparison.upgrade import besides_restarts, restarted, surviving
from conformance.judgement.cell import Verdict
from conformance.model.case import Case
from conformance.model.engine import bare
from conformance.model.equivalence import IMPLIES, Equivalence
from conformance.model.scenario import Guarantee, Scenario
from conformance.results.results import Results
from conformance.results.store import write_cases
from conformance.run.drawing import few
from conformance.run.options import Options


@dataclass(frozen=True)
class Resumed:
    """Checkpoints of an engine that were begun in one release and resumed in another one.

    Attributes:
        engine: its id, without a release.
        kept: the programs ("scenario/program") whose output is that of a run in one release.
        lost: program -> what is wrong with its output behind the restart, or why the release does not go on.
        open: program -> why nothing can be said.
        lacks: what one of the releases lacks of the engine; "" for nothing. No program is asked then.
        back: whether the first release went on from the second one in the end.
    """

    engine: str
    begun: str
    resumed: str
    kept: tuple[str, ...] = ()
    lost: Mapping[str, str] = field(default_factory=dict)
    open: Mapping[str, str] = field(default_factory=dict)
    lacks: str = ""
    back: bool = False

    @property
    def place(self) -> tuple[str, str, str, bool]:
        return self.engine, self.begun, self.resumed, self.back

    @property
    def way(self) -> tuple[str, ...]:
        """The releases, in the order in which they go on from each other."""
        return (self.begun, self.resumed, self.begun)[: 2 + self.back]

    @property
    def words(self) -> str:
        """How many programs go on, of how many."""
        if self.lacks or not (asked := len(self.kept) + len(self.lost)):
            return "–"
        return f"{len(self.kept)} of {asked}"


def carried_over(scenarios: Sequence[Scenario], seed: int) -> list[Case]:
    """Cases of the shortest timeline of several bundles, each with a twin that is restarted, of the programs that
    promise to survive it. The first release has a bundle at least."""
    return list(restarted(few(scenarios, seed), scenarios, seed))


def in_any_order(scenarios: Iterable[Scenario]) -> tuple[Scenario, ...]:
    """Those of some scenarios that have guarantees, which then say nothing of the order of an output: on some operators
    it is chance."""

    def loose(guarantee: Guarantee) -> Guarantee:
        ordered = Equivalence.SAME_MULTISET in IMPLIES[guarantee.alike]
        return replace(guarantee, alike=Equivalence.SAME_MULTISET) if ordered else guarantee

    return tuple(replace(s, guarantees=tuple(map(loose, s.guarantees))) for s in scenarios if s.guarantees)


def resume(
    releases: Sequence[str],
    engines: Sequence[str],
    options: Options,
    run: Callable[[Options], Results],
    known: Iterable[Resumed] = (),
) -> Iterator[list[Resumed]]:
    """What comes of checkpoints from each release to each other one, and of those that then go back, a list for each
    way. What is ``known`` is not asked again; a way is not gone back on where a release lacks the engine. ``run`` makes
    a run, ``options`` describes the rest of it. What fails alone is open."""
    there = {row.place: row for row in known if not row.open}
    file = options.out / "cases.parquet"
    scenarios = in_any_order(map(surviving, options.scenarios))
    for back, (begun, resumed) in itertools.product((False, True), itertools.permutations(releases, 2)):
        asked = [engine for engine in engines if (engine, begun, resumed, back) not in there]
        if back:
            asked = [engine for engine in asked if (once := there.get((engine, begun, resumed, False))) and once.kept]
        if not asked:
            continue
        if not file.exists():
            file.parent.mkdir(parents=True, exist_ok=True)
            write_cases(file, carried_over(options.scenarios, options.seed))
        way = Resumed("", begun, resumed, back=back).way
        place = options.out / "-then-".join(way)
        mine = replace(options, out=place, cases_from=file, wanted=0, witnesses=(), brief=True)
        ways = [Resumed(name, begun, resumed, back=back) for name in asked]
        found = _rows(ways, scenarios, mine, run)
        there |= {row.place: row for row in found}
        yield found


def _rows(
    ways: Sequence[Resumed], scenarios: Sequence[Scenario], options: Options, run: Callable[[Options], Results]
) -> list[Resumed]:
    """What comes of engines on one way. What fails takes no other program along: halves of the scenarios are asked
    again."""
    names = tuple(f"{way.engine}@{'+'.join(way.way)}" for way in ways)
    results = run(replace(options, engines=names, scenarios=tuple(scenarios)))
    resumed, logs = [*dict.fromkeys(ways[0].way[1:])], options.out / "logs"
    judged = besides_restarts(results, scenarios, resumed, logs, options.timeout)
    found = []
    for way, name in zip(ways, names, strict=True):
        row, middle, failure = _found(judged, way), len(scenarios) // 2, results.environment[name].failure
        if failure and middle:
            halves = [
                _rows([way], part, replace(options, out=options.out / name / str(number)), run)
                for number, part in enumerate((scenarios[:middle], scenarios[middle:]))
            ]
            row = _together(way, itertools.chain(*halves))
        elif failure and row is None:
            programs = {f"{each.id}/{g.program}" for each in scenarios for g in each.guarantees}
            row = replace(way, open=dict.fromkeys(sorted(programs), failure))
        found += [row] if row else []
    return found


def _together(way: Resumed, rows: Iterable[Resumed]) -> Resumed | None:
    kept, lost, unsaid = tuple[str, ...](), dict[str, str](), dict[str, str]()
    for row in rows:
        kept, lost, unsaid = kept + row.kept, {**lost, **row.lost}, {**unsaid, **row.open}
    return replace(way, kept=kept, lost=lost, open=unsaid) if kept or lost or unsaid else None


def _found(results: Results, way: Resumed) -> Resumed | None:
    """What comes of an engine on its way; None if it failed, and nothing was found."""
    by_verdict: dict[Verdict, dict[str, str]] = {}
    for cell in results.cells:
        if bare(cell.engine) == way.engine:
            by_verdict.setdefault(cell.verdict, {})[f"{cell.scenario}/{cell.program}"] = cell.reason
    kept, lost = by_verdict.pop(Verdict.HOLDS, {}), by_verdict.pop(Verdict.VIOLATED, {})
    lacking = by_verdict.pop(Verdict.UNSUPPORTED, {})
    unsaid = {program: why for found in by_verdict.values() for program, why in found.items()}
    if kept or lost or unsaid:
        return replace(way, kept=tuple(kept), lost=lost, open=unsaid)
    if results.environment[f"{way.engine}@{'+'.join(way.way)}"].failure:
        return None
    return replace(way, lacks=next(iter(lacking.values()), "no program runs on it"))
