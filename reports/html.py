"""matrix.html: guarantees against engines, one self-contained page that needs neither network nor JavaScript.

With several runs (of several versions of an engine, oldest first) an engine has a column for each. A small script, bound to
the page by its digest, adds filters; all that it filters is in the page.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from markupsafe import Markup

from conformance.baseline import Baseline
from conformance.changes import Change, successive
from conformance.claims import Answer, Decision, all_decisions
from conformance.guarantees import slug
from conformance.model import canonical
from conformance.perturbation import BY_ID
from conformance.results import Cell, Results, Verdict, fold
from conformance.selftest import SelfTest
from conformance.witnesses import Witness
from reports import picture
from reports.kills import arranged
from reports.pages import framed
from reports.words import (
    CLAIM_STYLES,
    MEANINGS,
    OTHER_CASES,
    SYMBOLS,
    agreed,
    cases_in,
    cells_changed,
    change_in_words,
    changed_claim,
    counted,
    coverage_line,
    difference_lines,
    differing,
    inapplicable,
    keeps_promise,
    labels,
    not_run,
    partly,
    probed_on,
    promise,
    replay_command,
    shown_by,
    survived,
    version,
    with_reference,
    witness_lines,
)

LETTERS = {
    Verdict.HOLDS: "h",
    Verdict.VIOLATED: "v",
    Verdict.UNSUPPORTED: "s",
    Verdict.UNKNOWN: "u",
    Verdict.ERROR: "e",
}
"""How a cell tells the script its verdict under each perturbation: a letter each, "-" where it has none."""

Row = tuple[str, str]


def render(runs: Sequence[Results], kills: SelfTest | None = None) -> str:
    """The page of one run, or of several side by side, oldest first; with the kill matrix of a self-test if there is one.
    Everything in it comes from them."""
    if len(runs) > 1:
        runs = [run.in_short() for run in runs]
    page = _Page(runs)
    return framed(
        "matrix.html.j2",
        "page.js",
        runs=[
            {**run.run, "label": page.labels[number], "not_run": not_run(run), "versions": _versions(run)}
            for number, run in enumerate(runs)
        ],
        families=page.families,
        columns=page.columns,
        scenarios=page.scenarios(),
        perturbations=page.perturbations,
        titles=[(name, BY_ID[name].title) for name in page.perturbations if name in BY_ID],
        verdicts=[(verdict.value, SYMBOLS[verdict], meaning) for verdict, meaning in MEANINGS.items()],
        changed=page.changed(),
        other_cases=OTHER_CASES,
        engines=page.engines(),
        claims=page.claims(),
        survivals=page.survivals(),
        agreement=_Agreement(runs[-1]),
        kills=arranged(kills) if kills else None,
        legend=Markup(picture.legend()),
    )


def _versions(run: Results) -> str:
    """The frameworks of a run, in words."""
    found = (version(run.environment[engine]) for engine in run.engines)
    return ", ".join(dict.fromkeys(" ".join(named) for named in found if named))


@dataclass(frozen=True)
class Column:
    """A column of the matrix: one engine, or all idioms of a framework, in one run. ``label`` tells runs apart."""

    name: str
    family: str
    run: int
    label: str
    engines: tuple[str, ...]


class _Page:
    """What the runs come to, arranged for the template."""

    def __init__(self, runs: Sequence[Results]) -> None:
        self.runs = runs
        self.labels = labels(runs) if len(runs) > 1 else [""]
        self.columns = list(_columns(runs))
        self._cells: list[dict[tuple[Row, str], list[Cell]]] = []
        for run in runs:
            groups: dict[tuple[Row, str], list[Cell]] = {}
            for cell in run.cells:
                groups.setdefault((cell.row, cell.engine), []).append(cell)
            self._cells.append(groups)
        self._folded = [{place: fold(cells) for place, cells in groups.items()} for groups in self._cells]
        self._witnesses = [{name: Witness.from_json(w) for name, w in run.witnesses.items()} for run in runs]
        self._engines = [frozenset(run.engines) for run in runs]
        self._survivals = [_by_program(run) for run in runs]
        self._changes = list(enumerate(successive([Baseline.of(run) for run in runs]), 1))
        self._anchors = _Anchors()

    @property
    def families(self) -> list[tuple[str, int]]:
        """Family -> how many columns it has, in order."""
        return list(Counter(column.family for column in self.columns).items())

    @cached_property
    def perturbations(self) -> list[str]:
        return list(dict.fromkeys(cell.perturbation for run in self.runs for cell in run.cells))

    @cached_property
    def _texts(self) -> dict[str, dict[str, Any]]:
        """The texts of every scenario and of every guarantee that a run has, in the words of the last one."""
        found: dict[str, dict[str, Any]] = {}
        for run in self.runs:
            for scenario, texts in run.scenarios.items():
                older = found.get(scenario, {"guarantees": {}})["guarantees"]
                found[scenario] = {**texts, "guarantees": {**older, **texts["guarantees"]}}
        return found

    @cached_property
    def _rows(self) -> dict[Row, None]:
        """The guarantees that have cells, in order."""
        return dict.fromkeys(cell.row for run in self.runs for cell in run.cells)

    def scenarios(self) -> list[dict[str, Any]]:
        """Every scenario with its rows."""
        return [
            {
                "id": scenario,
                **texts,
                "rows": [self._row(row, texts["guarantees"][row[1]]) for row in self._rows if row[0] == scenario],
            }
            for scenario, texts in self._texts.items()
        ]

    def _row(self, row: Row, texts: Mapping[str, str]) -> dict[str, Any]:
        columns = [
            [self._entry(c.run, row, e, texts["program"]) for e in c.engines if (row, e) in self._folded[c.run]]
            for c in self.columns
        ]
        _share([entry for entries in columns for entry in entries if entry["witness"]])
        return {**texts, "anchor": self._row_anchor(row), "columns": columns}

    def _row_anchor(self, row: Row) -> str:
        return self._anchors.of(f"row-{slug(row[0])}-{slug(row[1])}", row)

    def anchor(self, run: int, row: Row, engine: str) -> str:
        """The name of a cell in links; of several runs the last has the plain one."""
        named = "-".join(["cell", *(slug(part) for part in (engine, *row))])
        return self._anchors.of(named if run == len(self.runs) - 1 else f"{named}@{run + 1}", (run, row, engine))

    def _about(self, run: int, engine: str) -> str:
        return self._anchors.of(f"engine-{slug(engine)}-{run + 1}", (run, engine))

    def _entry(self, run: int, row: Row, engine: str, program: str) -> dict[str, Any]:
        results, parts = self.runs[run], self._cells[run][row, engine]
        cell = self._folded[run][row, engine]
        by_perturbation = {part.perturbation: LETTERS[part.verdict] for part in parts}
        found = self._found(run, parts)
        if found:
            cell = replace(cell, reason=found[0][0].reason, intermittent=found[0][0].intermittent)
        entry = results.environment[engine]
        before, flips = self._before(run, row, engine)
        return {
            "anchor": self.anchor(run, row, engine),
            "cell": cell,
            "engine": engine,
            "run": self.labels[run],
            "idiom": entry["idiom"],
            "about": self._about(run, engine),
            "versions": " ".join(version(entry) or ()),
            "symbol": SYMBOLS[cell.verdict],
            "word": cell.verdict.value,
            "letters": "".join(by_perturbation.get(name, "-") for name in self.perturbations),
            "before": before.verdict.value if before and before.verdict is not cell.verdict else "",
            "flips": flips,
            "counts": _counts(cell),
            "parts": _told(parts),
            "coverage": coverage_line(cell),
            "alike": _alike(self._survivals[run].get((row[0], program, engine), [])),
            "witness": self._evidence(run, *found[0]) if found else None,
            "others": [
                (part.perturbation, _events(witness), replay_command(witness.id)) for part, witness in found[1:]
            ],
        }

    def _found(self, run: int, parts: Iterable[Cell]) -> list[tuple[Cell, Witness]]:
        """The witnesses of a cell, each with the first perturbation that it speaks of, the smallest first."""
        found: dict[str, tuple[Cell, Witness]] = {}
        for part in parts:
            if part.witness:
                found.setdefault(part.witness, (part, self._witnesses[run][part.witness]))
        return sorted(found.values(), key=lambda pair: _events(pair[1]))

    def _before(self, run: int, row: Row, engine: str) -> tuple[Cell | None, list[str]]:
        """The cell in the latest earlier run that has the engine; and what changed since, in words."""
        earlier = next((n for n in range(run - 1, -1, -1) if engine in self._engines[n]), None)
        if earlier is None:
            return None, []
        return self._folded[earlier].get((row, engine)), self._flips[run - 1].get((row, engine), [])

    @cached_property
    def _flips(self) -> list[dict[tuple[Row, str], list[str]]]:
        """For each run but the first, what changed in its cells."""
        found: list[dict[tuple[Row, str], list[str]]] = []
        for _, between in self._changes:
            flips: dict[tuple[Row, str], list[str]] = {}
            for change in between:
                if not change.of_program:
                    place = (change.scenario, change.about), change.engine
                    flips.setdefault(place, []).append(change_in_words(change))
            found.append(flips)
        return found

    def _evidence(self, run: int, part: Cell, witness: Witness) -> dict[str, Any]:
        survivals = self._survivals[run].get((witness.case.scenario, witness.case.program, witness.engine), [])
        promised = (s["promised"] for s in survivals if s["perturbation"] == witness.case.perturbation)
        shown = picture.panels(witness, next(promised, ""))
        return {
            "same": None,
            "perturbation": part.perturbation,
            "pictures": [Markup(picture.inline(panel)) for panel in shown],
            "text": "\n".join(witness_lines(witness)),
            "flip": witness.flip.change if witness.flip else "",
            "events": _events(witness),
            "replay": replay_command(witness.id),
        }

    def changed(self) -> list[dict[str, Any]]:
        """What changed in each run since the one before, by kind; never a net count."""
        return [
            {
                "between": between,
                "from": self.labels[0] if number == 1 else "the runs before",
                "to": self.labels[number],
                "kinds": [
                    (f"{cells_changed(found)} {kind.value}", [self._line(number, change) for change in found])
                    for kind, found in between.found.items()
                ],
            }
            for number, between in self._changes
        ]

    def _line(self, number: int, change: Change) -> dict[str, Any]:
        row = (change.scenario, change.about)
        there = [n for n in range(number + 1) if (row, change.engine) in self._folded[n]]
        return {
            "anchor": "survivals" if change.of_program else self.anchor(there[-1], row, change.engine),
            "title": f"{change.engine}: {changed_claim(self.runs, change)}",
            "how": change_in_words(change),
        }

    def engines(self) -> list[dict[str, Any]]:
        """Every engine of every run: versions, configuration, capabilities, counts."""
        return [
            {
                "id": engine,
                "anchor": self._about(number, engine),
                "label": self.labels[number] if len(self.runs) > 1 else "",
                **run.environment[engine],
                "counts": [
                    (n, verdict.value)
                    for verdict, n in counted(c for (_, e), c in self._folded[number].items() if e == engine).items()
                    if n
                ],
            }
            for number, run in enumerate(self.runs)
            for engine in run.engines
        ]

    def claims(self) -> dict[str, Any]:
        """What documents claim, beside what the last run shows of it; nothing where it shows nothing of any claim."""
        results = self.runs[-1]
        decisions = all_decisions(results)
        found = {answer: [d for d in decisions if d.answer is answer] for answer in Answer}
        if not any(found[answer] for answer in (Answer.CONTRADICTED, Answer.CONFIRMED, Answer.UNDECIDED)):
            return {}
        return {
            "counts": [(answer.value, CLAIM_STYLES[answer], len(found[answer])) for answer in Answer if found[answer]],
            "shown": [
                {"word": answer.value, **CLAIM_STYLES[answer], "lines": [self._claimed(d) for d in found[answer]]}
                for answer in Answer
                if answer is not Answer.NOT_ASKED and found[answer]
            ],
            "not_asked": [(d.claim.quote, d.claim.document.title) for d in found[Answer.NOT_ASKED]],
        }

    def _claimed(self, decision: Decision) -> dict[str, Any]:
        """A claim's line: by what answer which engines gave it, each with the cell that says so."""
        last = len(self.runs) - 1
        claim = decision.claim
        asked = [
            (
                "may be broken: " if condition in claim.shown_by else "" if condition.stands else "the opposite of: ",
                self._texts[scenario]["guarantees"][guarantee]["claim"],
                self._row_anchor(condition.row),
            )
            for condition in claim.conditions
            for scenario, guarantee in [condition.row]
            if condition.row in self._rows
        ]
        return {
            "claim": claim,
            "reason": "" if decision.engines else decision.reason,
            "probed": probed_on(decision),
            "asked": asked,
            "engines": [
                (
                    answer.value,
                    CLAIM_STYLES[answer],
                    [
                        (on.engine, self.anchor(last, on.because[0].row, on.engine), cases_in(on), shown_by(on))
                        for on in decision.of(answer)
                    ],
                )
                for answer in Answer
                if answer is not Answer.NOT_ASKED and decision.of(answer)
            ],
        }

    def survivals(self) -> list[dict[str, Any]]:
        """Programs, each with a row for every perturbation: up to what its output stayed the same in each column."""
        programs: dict[tuple[str, str], dict[str, dict[str, Any]]] = {}
        for number, run in enumerate(self.runs):
            for survival in run.survivals:
                rows = programs.setdefault((survival["scenario"], survival["program"]), {})
                row = rows.setdefault(survival["perturbation"], {"promised": survival["promised"], "found": {}})
                row["found"][number, survival["engine"]] = _survival(survival)
        return [
            {
                "scenario": scenario,
                "name": f"{self._texts[scenario]['name']} ({program})",
                "rows": [
                    {
                        "perturbation": perturbation,
                        "promised": row["promised"],
                        "columns": [
                            [row["found"][c.run, e] for e in c.engines if (c.run, e) in row["found"]]
                            for c in self.columns
                        ],
                    }
                    for perturbation, row in rows.items()
                ],
            }
            for (scenario, program), rows in programs.items()
        ]


def _share(entries: Iterable[dict[str, Any]]) -> None:
    """Let each witness be shown once among the cells of a guarantee; where it comes again, it is said whose it is."""
    shown: list[dict[str, Any]] = []
    for entry in entries:
        same = next((earlier for earlier in shown if earlier["witness"] == entry["witness"]), None)
        if same is None:
            shown.append(entry)
        else:
            title = " ".join(filter(None, [same["engine"], same["run"]]))
            entry["witness"] = {"same": {"anchor": same["anchor"], "title": title}}


class _Anchors:
    """Names for links. What would have another's name gets a number."""

    def __init__(self) -> None:
        self._given: dict[object, str] = {}
        self._used: Counter[str] = Counter()

    def of(self, name: str, thing: object) -> str:
        if thing not in self._given:
            self._used[name] += 1
            self._given[thing] = name if self._used[name] == 1 else f"{name}~{self._used[name]}"
        return self._given[thing]


def _events(witness: Witness) -> int:
    """How many elements a witness has, with those of the case that it is the twin of."""
    return len(witness.case.schedule.arrivals) + (len(witness.base.schedule.arrivals) if witness.base else 0)


def _columns(runs: Sequence[Results]) -> Iterator[Column]:
    """All columns, those of one engine beside each other, those of a family together."""
    names = dict.fromkeys(name for run in runs for name in run.columns)
    for family in dict.fromkeys(map(_family, names)):
        for name in (name for name in names if _family(name) == family):
            there = [number for number, run in enumerate(runs) if name in run.columns]
            own = [(version(runs[n].environment[runs[n].columns[name][0]]) or ("", ""))[1] for n in there]
            for number, mine in zip(there, own, strict=True):
                label = mine if mine and own.count(mine) == 1 else f"{mine} run {number + 1}".strip()
                yield Column(name, family, number, label if len(runs) > 1 else "", tuple(runs[number].columns[name]))


def _family(column: str) -> str:
    return column.partition(":")[0].partition("-")[0]


def _counts(cell: Cell) -> str:
    """How many cases stand behind a cell, for its corner."""
    if not cell.cases:
        return ""
    return f"{cell.violations}/{cell.cases}" if cell.violations else str(cell.cases)


def _told(parts: Iterable[Cell]) -> list[dict[str, Any]]:
    """The cells of the perturbations, those of one verdict and reason in one line."""
    lines: dict[tuple[str, str], list[str]] = {}
    for part in parts:
        reason = part.reason if part.verdict is Verdict.UNKNOWN else ""
        if part.verdict is Verdict.UNSUPPORTED:
            reason = part.reason.partition(": ")[0]  # what the engine lacks; its own part of the page says why
        line = lines.setdefault((part.verdict.value, reason), [])
        numbers = f" {_counts(part)}" if part.cases else ""
        line.append(part.perturbation + numbers + (f" ({part.inapplicable} apart)" if part.inapplicable else ""))
    order = [verdict.value for verdict in Verdict]
    return [
        {"word": word, "reason": reason, "names": ", ".join(names)}
        for (word, reason), names in sorted(lines.items(), key=lambda item: order.index(item[0][0]))
    ]


def _alike(survivals: list[Mapping[str, Any]]) -> str:
    """What was promised of a program under perturbations and what was observed, what is rare by name. Where nothing was
    promised, the table of perturbations tells what was observed."""
    found: dict[str, list[str]] = {}
    for survival in survivals:
        if survival["pairs"] and survival["promised"]:
            found.setdefault(promise(survival), []).append(survival["perturbation"])
    *rare, (usual, names) = sorted(found.items(), key=lambda item: len(item[1])) or [("", [])]
    told = [f"{how} ({', '.join(names)})" for how, names in rare]
    return "; ".join([*told, f"{usual} ({'the other' if rare else 'all'} {len(names)})" if usual else ""])


def _by_program(run: Results) -> dict[tuple[str, str, str], list[Mapping[str, Any]]]:
    found: dict[tuple[str, str, str], list[Mapping[str, Any]]] = {}
    for survival in run.survivals:
        found.setdefault((survival["scenario"], survival["program"], survival["engine"]), []).append(survival)
    return found


def _survival(survival: Mapping[str, Any]) -> dict[str, Any]:
    details = [f"{survival['pairs']} pairs"] if survival["pairs"] else []
    details += [apart] if survival["pairs"] and (apart := inapplicable(survival)) else []
    details += [f"where it counts: {', '.join(found)}"] if (found := partly(survival)) else []
    return {"word": survived(survival), "kept": keeps_promise(survival), "details": "; ".join(details)}


class _Agreement:
    """How engines of a run agree: over all programs, and program by program."""

    def __init__(self, run: Results) -> None:
        self.whole: dict[tuple[str, str], list[int]] = {}
        differences: dict[str, dict[str, list[dict[str, Any]]]] = {}
        for found in run.agreements:
            reference = with_reference(found)
            pair = (found["left"], found["left"] if reference else found["right"])
            both = self.whole.setdefault(pair, [0, 0])
            both[0] += found["cases"] - differing(found)
            both[1] += found["cases"]
            if differing(found):
                name = f"{run.scenarios[found['scenario']]['name']} ({found['program']})"
                alike = differences.setdefault(name, {}).setdefault(canonical(found["smallest"]), [])
                right = "the reference, late likewise" if reference else found["right"]
                alike.append({**found, "right": right, "word": agreed(found), "differing": differing(found)})
        compared = {engine for pair, (_, cases) in self.whole.items() if cases for engine in pair}
        self.engines = [engine for engine in run.engines if engine in compared]
        self.programs = {
            name: [{"pairs": pairs, "lines": "\n".join(difference_lines(_one_of(pairs)))} for pairs in groups.values()]
            for name, groups in differences.items()
        }

    def between(self, left: str, right: str) -> list[int] | None:
        """(identical, compared) of two engines, whichever way round; of one engine and the reference for itself."""
        found = self.whole.get((left, right)) or self.whole.get((right, left))
        return found if found and found[1] else None


def _one_of(pairs: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """One of some pairs of engines that differ alike, named for all of them."""
    lefts, rights = ({pair[side] for pair in pairs} for side in ("left", "right"))
    left = next(iter(lefts)) if len(lefts) == 1 else "the first"
    right = next(iter(rights)) if len(rights) == 1 else "the other" if len(lefts) == 1 else "the second"
    return {**pairs[0], "left": left, "right": right}
