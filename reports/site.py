"""The generated pages of the documentation: one for each scenario, from its source and from what was measured of it, and the
lists of engines, baselines and witnesses.

Pages are Markdown with the extensions that ``mkdocs.yml`` names. They have the place in the site that their subject has in the
repository, so a link that works in one works in the other.
"""

from __future__ import annotations

import ast
import inspect
import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path
from typing import Any

from markupsafe import Markup
from packaging.version import Version

from conformance.baseline import Baseline, Standing
from conformance.checking import perturbations_of
from conformance.engine import Feature
from conformance.equivalence import Equivalence
from conformance.guarantees import Domain, Guarantee, Scenario, opposite_of
from conformance.perturbation import BY_ID, PERTURBATIONS
from conformance.program import FixedWindows, Program
from conformance.reading import text_of
from conformance.registry import engine_ids, load_engine
from conformance.results import Cell, Results, Verdict, fold
from conformance.witnesses import Witness
from reports import picture
from reports.markdown import plain
from reports.pages import TEMPLATES
from reports.words import MEANINGS, SYMBOLS, counted, replay_command, witness_lines

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FRAMEWORKS = {"spark": "Spark", "beam": "Beam"}
"""What a framework is called, by its name in an engine's versions. Engines of none, as the reference, are left out."""

Row = tuple[str, str]
"""(scenario, guarantee), by their ids."""


class UnusableAdvice(ValueError):
    """A file of advice that cannot be used; the message says what is wrong with it."""


@dataclass(frozen=True)
class Advice:
    """What to do about some violated guarantees ("scenario/guarantee") on some engines (patterns of ids)."""

    cause: str
    engines: tuple[str, ...]
    guarantees: tuple[str, ...]
    text: str

    def about(self, row: Row, engine: str) -> bool:
        return "/".join(row) in self.guarantees and any(fnmatchcase(engine, pattern) for pattern in self.engines)


def read_advice(path: Path) -> list[Advice]:
    """The advice of a file. Raises UnusableAdvice."""
    try:
        found = tomllib.loads(text_of(path, UnusableAdvice)).get("advice", [])
        return [
            Advice(entry["cause"], tuple(entry["engines"]), tuple(entry["guarantees"]), entry["text"].strip())
            for entry in found
        ]
    except (tomllib.TOMLDecodeError, KeyError, TypeError, AttributeError) as error:
        raise UnusableAdvice(f"{path} is no file of advice: {error!r}") from None


@dataclass(frozen=True)
class Against:
    """One way in which an engine violates a guarantee: its witness (an id), how it failed, and under which perturbations."""

    engine: str
    framework: str
    witness: str
    message: str
    perturbations: tuple[str, ...]


@dataclass(frozen=True)
class Measured:
    """What was measured: baselines, each of the engines of some framework, and the witnesses that are at hand, by id."""

    baselines: Sequence[Baseline] = ()
    witnesses: Mapping[str, Witness] = field(default_factory=dict)

    @cached_property
    def frameworks(self) -> dict[str, list[str]]:
        """ "Spark 4.3.0" -> its engines."""
        found: dict[str, list[str]] = {}
        for baseline in self.baselines:
            for engine, versions in sorted(baseline.engines.items()):
                name, number = next(iter(versions.items()), ("", ""))
                if name in FRAMEWORKS:
                    found.setdefault(f"{FRAMEWORKS[name]} {number}", []).append(engine)
        return found

    @cached_property
    def _standings(self) -> dict[tuple[Row, str], dict[str, Standing]]:
        found: dict[tuple[Row, str], dict[str, Standing]] = {}
        for baseline in self.baselines:
            for (engine, scenario, guarantee, perturbation), standing in baseline.cells.items():
                found.setdefault(((scenario, guarantee), engine), {})[perturbation] = standing
        return found

    def cell(self, row: Row, engine: str) -> Cell | None:
        """One cell over all perturbations; None where the engine was not asked."""
        under = self._standings.get((row, engine))
        if not under:
            return None
        return fold(
            Cell(row[0], "", row[1], perturbation, engine, standing.verdict, standing.signature, cases=standing.cases)
            for perturbation, standing in under.items()
        )

    def against(self, row: Row, framework: str, engine: str) -> list[Against]:
        """In which ways an engine violates a guarantee, those under the most perturbations first."""
        ways: dict[tuple[str, str], list[str]] = {}
        for perturbation, standing in self._standings.get((row, engine), {}).items():
            if standing.verdict is Verdict.VIOLATED:
                ways.setdefault((standing.witness, standing.signature), []).append(perturbation)
        return [
            Against(
                engine,
                framework,
                witness,
                self.witnesses[witness].message if witness in self.witnesses else told,
                tuple(under),
            )
            for (witness, told), under in sorted(ways.items(), key=lambda way: (-len(way[1]), way[0]))
        ]

    def violated(self) -> Iterator[tuple[Row, str]]:
        """(guarantee, engine) wherever one is violated."""
        for (row, engine), under in self._standings.items():
            if any(standing.verdict is Verdict.VIOLATED for standing in under.values()):
                yield row, engine


def baselines_in(folder: Path) -> dict[str, Baseline]:
    """The baselines of a folder, by the releases that they are of ("pyspark-4.3.0"), oldest first."""
    return {
        path.stem: Baseline.read(path) for path in sorted(folder.glob("*.jsonl"), key=lambda path: _release(path.stem))
    }


def measured_in(run: Path, witnesses: Path) -> Measured:
    """What a run found that is kept as a baseline is, with the stored witnesses of a folder."""
    stored = (Witness.read(path) for path in sorted(witnesses.glob("*.json")))
    return Measured([Baseline.read(run)], {witness.id: witness for witness in stored})


def measured_by(runs: Iterable[Results]) -> Measured:
    """What some runs found."""
    runs = list(runs)
    witnesses = {name: Witness.from_json(found) for run in runs for name, found in run.witnesses.items()}
    return Measured([Baseline.of(run) for run in runs], witnesses)


def _release(name: str) -> tuple[str, Version]:
    package, _, number = name.rpartition("-")
    return package, Version(number)


def pages(
    scenarios: Sequence[Scenario], measured: Measured, advice: Sequence[Advice], baselines: Mapping[str, Baseline]
) -> dict[str, str]:
    """Every generated file of the site: its place -> its text."""
    known = {(scenario.id, guarantee) for scenario in scenarios for guarantee in scenario.askable}
    witnesses = {w.id: w for w in measured.witnesses.values() if (w.case.scenario, w.guarantee) in known}
    found = {"scenarios/index.md": _index(scenarios, measured), "engines/index.md": _engines()}
    found |= {f"scenarios/{s.id}.md": _scenario(s, measured, advice) for s in scenarios}
    found["baselines/index.md"] = _rendered("baselines", baselines=baselines)
    found["witnesses/index.md"] = _rendered("witnesses", witnesses=sorted(witnesses.values(), key=_order))
    for name, witness in witnesses.items():
        found[f"witnesses/{name}.json"] = json.dumps(witness.to_json(), indent=1, ensure_ascii=False) + "\n"
        found[f"witnesses/{name}.svg"] = picture.document(picture.panels(witness))
    return found


def _order(witness: Witness) -> tuple[str, str, str, str]:
    return witness.case.scenario, witness.guarantee, witness.engine, witness.id


def place_of(witness: Witness) -> str:
    """Where the site shows a witness."""
    return f"scenarios/{witness.case.scenario}.md#witness-{witness.id}"


def places(scenarios: Iterable[Scenario], measured: Measured) -> dict[str, str]:
    """Where the site shows what a file of the repository has: the sources of scenarios, and witnesses."""
    sources = {f"{name.replace('.', '/')}.py": f"scenarios/{s.id}.md" for s in scenarios for name in _modules(s)}
    return sources | {f"witnesses/{name}.json": place_of(witness) for name, witness in measured.witnesses.items()}


def _rendered(template: str, **values: object) -> str:
    return TEMPLATES.get_template(f"{template}.md.j2").render(
        plain=lambda text: Markup(plain(text)),
        words=_words,
        titled=titled,
        place_of=place_of,
        replay_command=replay_command,
        symbols=SYMBOLS,
        **values,
    )


def _words(items: Iterable[object]) -> str:
    return ", ".join(map(str, items))


def titled(text: str) -> str:
    """As a heading."""
    return text[:1].upper() + text[1:]


def _index(scenarios: Sequence[Scenario], measured: Measured) -> str:
    rows = [(s, {label: _tally(s.guarantees, s, measured, label) for label in measured.frameworks}) for s in scenarios]
    return _rendered(
        "scenarios", rows=rows, frameworks=list(measured.frameworks), perturbations=PERTURBATIONS, legend=MEANINGS
    )


def _tally(
    guarantees: Iterable[Guarantee], scenario: Scenario, measured: Measured, framework: str
) -> dict[Verdict, int]:
    """How many cells of a framework have which verdict."""
    rows = [(scenario.id, guarantee.id) for guarantee in guarantees]
    cells = (measured.cell(row, engine) for row in rows for engine in measured.frameworks[framework])
    return {verdict: n for verdict, n in counted(cell for cell in cells if cell).items() if n}


def _scenario(scenario: Scenario, measured: Measured, advice: Sequence[Advice]) -> str:
    return _rendered(
        "scenario",
        scenario=scenario,
        about=Markup(_documented(scenario)),
        sources=[Markup(source) for source in _sources(scenario)],
        programs=[_program(scenario, name) for name in scenario.programs],
        frameworks=list(measured.frameworks),
        guarantees=[_guarantee(scenario, guarantee, measured, advice) for guarantee in scenario.guarantees],
    )


def _modules(scenario: Scenario) -> dict[str, list[Program]]:
    """The modules that a scenario's programs are in, with these."""
    found: dict[str, list[Program]] = {}
    for program in scenario.programs.values():
        found.setdefault(type(program).__module__, []).append(program)
    return found


def _documented(scenario: Scenario) -> str:
    """What the scenario's module says of it, else its summary."""
    documented = (inspect.getdoc(sys.modules.get(name)) for name in _modules(scenario))
    return next(filter(None, documented), scenario.summary)


def _sources(scenario: Scenario) -> Iterator[str]:
    for name, programs in _modules(scenario).items():
        yield excerpt(inspect.getsource(sys.modules[name]), {type(program).__name__ for program in programs})


def excerpt(source: str, names: set[str]) -> str:
    """The definitions of some names at the top of a module, and those that they use, in the order of the module."""
    body = ast.parse(source).body
    defined = {name: number for number, node in enumerate(body) for name in _defines(node)}
    wanted, queue = set[int](), [defined[name] for name in names if name in defined]
    while queue:
        number = queue.pop()
        if number not in wanted:
            wanted.add(number)
            queue += [defined[n.id] for n in ast.walk(body[number]) if isinstance(n, ast.Name) and n.id in defined]
    lines, found = source.splitlines(), list[str]()
    before: ast.stmt | None = None
    for number in sorted(wanted):
        node = body[number]
        constants = all(isinstance(n, ast.Assign | ast.AnnAssign) for n in (before, node))
        found += [] if before is None or constants else ["", ""]
        decorators = getattr(node, "decorator_list", [])
        found += lines[min([node.lineno, *(d.lineno for d in decorators)]) - 1 : node.end_lineno]
        before = node
    return "\n".join(found)


def _defines(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.ClassDef | ast.FunctionDef):
        return [node.name]
    if isinstance(node, ast.Assign | ast.AnnAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        return [target.id for target in targets if isinstance(target, ast.Name)]
    return []


def _program(scenario: Scenario, name: str) -> dict[str, Any]:
    program = scenario.programs[name]
    promised: dict[Equivalence, list[str]] = {}
    for perturbation, up_to in scenario.survives.get(name, {}).items():
        promised.setdefault(up_to, []).append(BY_ID[perturbation].title)
    return {
        "name": name,
        "kind": type(program).__name__,
        "facts": dict(_facts(program, scenario.domain[name])),
        "promised": [(up_to.value, promised[up_to]) for up_to in Equivalence if up_to in promised],
    }


def _facts(program: Program, domain: Domain) -> Iterator[tuple[str, str]]:
    """What a program declares, and the inputs that are drawn for it."""
    cells = [f"{name} ({kind.value})" for name, kind in program.cells.items()]
    yield "state", ", ".join(cells) or "none"
    if program.ttl:
        yield "TTL", ", ".join(f"{name}: {ms:,} ms of processing time" for name, ms in program.ttl.items())
    if program.initial:
        yield "initial state", "an element for each key that has any"
    kind = " (processing time)" if program.processing_time else ""
    yield "timers", ", ".join(name + kind for name in program.timers) or "none"
    windows = program.windowing
    if isinstance(windows, FixedWindows):
        late = (
            f"{windows.allowed_lateness:,} ms of lateness allowed"
            if windows.allowed_lateness
            else "no lateness allowed"
        )
        yield "windows", f"fixed, {windows.size:,} ms, {late}"
    else:
        yield "windows", "one, global"
    distances = ", ".join(f"{offset:+,}" for offset in dict.fromkeys(sorted(domain.offsets)))
    yield "event times", f"at these distances (ms) from the watermark or an earlier event: {distances}"
    yield (
        "late elements",
        "none: every element is after the watermark" if domain.on_time else "drawn, too",
    )
    if domain.values != (None,):
        yield (
            "values",
            ", ".join(json.dumps(value, ensure_ascii=False) for value in dict.fromkeys(map(_hashable, domain.values))),
        )
    yield "size of a case", f"up to {domain.events} elements, up to {domain.keys} keys"


def _hashable(value: Any) -> Any:
    return value if isinstance(value, str | int | float | bool | None) else json.dumps(value, ensure_ascii=False)


def _guarantee(
    scenario: Scenario, guarantee: Guarantee, measured: Measured, advice: Sequence[Advice]
) -> dict[str, Any]:
    row = scenario.id, guarantee.id
    verdicts: dict[str, list[Cell]] = {}
    against: list[Against] = []
    order = list(Verdict)
    for label, engines in measured.frameworks.items():
        cells = [cell for engine in engines if (cell := measured.cell(row, engine))]
        if cells:
            verdicts[label] = sorted(cells, key=lambda cell: order.index(cell.verdict))
        against += [way for engine in engines for way in measured.against(row, label, engine)]
    red = {way.engine for way in against}
    told = {way.witness for way in against}
    rows = {row, (scenario.id, opposite_of(guarantee.id))}
    others = [w for w in measured.witnesses.values() if (w.case.scenario, w.guarantee) in rows and w.id not in told]
    return {
        "guarantee": guarantee,
        "asked": _asked(guarantee),
        "needs": [feature.value for feature in Feature if feature in guarantee.needs],
        "tallies": {label: _tally([guarantee], scenario, measured, label) for label in measured.frameworks},
        "verdicts": verdicts,
        "against": [(way, _shown(measured.witnesses.get(way.witness))) for way in against],
        "others": [(witness, _shown(witness)) for witness in sorted(others, key=_order)],
        "advice": [(a.cause, Markup(a.text)) for a in advice if any(a.about(row, engine) for engine in red)],
    }


def _asked(guarantee: Guarantee) -> str:
    if guarantee.accounting:
        return "of the engine's own counts of rows, for the cases of a pack together"
    asked = [perturbation.title for perturbation in perturbations_of(guarantee) if perturbation]
    if guarantee.same_under:
        return f"of a case and its twin, which are to be alike up to “{guarantee.alike.value}”: {', '.join(asked)}"
    every = len(asked) == len(PERTURBATIONS)
    return f"of cases as drawn, and under {'every perturbation' if every else ', '.join(asked)}"


def _shown(witness: Witness | None) -> dict[str, Any] | None:
    """A witness as text that can stand in a fenced block, and what its picture shows."""
    if witness is None:
        return None
    return {"id": witness.id, "lines": Markup("\n".join(witness_lines(witness)).replace("```", "'''"))}


def _engines() -> str:
    engines = [load_engine(name) for name in engine_ids()]
    return _rendered("engines", engines=engines, features=list(Feature))
