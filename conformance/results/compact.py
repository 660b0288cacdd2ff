"""The form of a results file: a line for each row with its perturbations, and each text, schedule and trace once.

``compact`` makes the form of the file from the plain form, in which every cell, stability, agreement and witness stands
for itself; ``plain`` makes the plain form again. An integer in the place of a text, a schedule, a trace or a map of
versions is a place in the list of that name under "shared".
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping

from conformance.judgement.coverage import CIRCUMSTANCES
from conformance.judgement.verdict import held
from conformance.model.values import Json, canonical

SHARED = ("texts", "circumstances", "versions", "schedules", "traces")
"""What a file has once."""

ROW = ("scenario", "guarantee", "engine", "program", "subject", "claimed")
SAID = ("verdict", "reason", "notes")
"""What most cells of a row say alike. Where they do, the row says it once as "usual", and those cells have no verdict of their own."""
COUNTS = ("cases", "timelines", "violations", "inapplicable", "lost")
PLAIN_CELL: dict[str, Json] = dict.fromkeys(COUNTS, 0) | {"witness": "", "intermittent": ""}
"""What a cell says where the file says nothing."""

PROGRAM = ("scenario", "program", "engine")
PAIR_OF = ("scenario", "program")

WITNESS = {
    "versions": "versions",
    "schedule": "schedules",
    "base_schedule": "schedules",
    "seen": "traces",
    "specified": "traces",
    "base_seen": "traces",
    "packed_seen": "traces",
}
TWINS = {"base": "schedules", "twin": "schedules", "base_seen": "traces", "twin_seen": "traces"}
DIFFERENCE = {"schedule": "schedules", "left_seen": "traces", "right_seen": "traces"}

Swap = Callable[[str, Json], Json]
"""(the name of a shared list, an entry or its place) -> the other of the two."""


class Contradiction(ValueError):
    """Parts of a file do not fit each other. The message says which."""


class _Pool:
    """The shared lists of a file that is being made."""

    def __init__(self) -> None:
        self.lists: dict[str, list[Json]] = {name: [] for name in SHARED}
        self._places: dict[tuple[str, str], int] = {}
        for name in CIRCUMSTANCES:
            self.place("circumstances", name)

    def place(self, name: str, entry: Json) -> int:
        # Traces come in one spelling from files, and as programs spell their output from this process.
        spelled = canonical(entry) if name == "traces" else json.dumps(entry)
        found = self._places.setdefault((name, spelled), len(self.lists[name]))
        if found == len(self.lists[name]):
            self.lists[name].append(json.loads(spelled))
        return found


def compact(data: dict[str, Json]) -> dict[str, Json]:
    """The form of the file, from the plain form.

    Raises:
        KeyError, TypeError, AttributeError: parts are missing or not of their kind.
    """
    pool = _Pool()
    parts = {
        "rows": [_shortened(r) for r in _grouped(ROW, "cells", data["cells"], lambda cell, _: _cell(cell, pool))],
        "stability": _grouped(PROGRAM, "under", data["stability"], lambda found, row: _stable(found, row, pool)),
        "agreements": _pairs(data["agreements"], pool),
        "replays": data["replays"],
        "witnesses": {name: _witness(found, pool.place) for name, found in data["witnesses"].items()},
    }
    head = {name: data[name] for name in ("schema", "run", "environment", "scenarios")}
    rest = {name: found for name, found in data.items() if name not in (*head, *parts, "cells")}
    return head | {"shared": pool.lists} | parts | rest


def plain(data: Json) -> Json:
    """The plain form of a file that fits its schema.

    Raises:
        Contradiction: the file speaks of an entry that it does not have, has more grades than equivalences, or has a cell without a verdict.
    """

    def entry(name: str, place: Json) -> Json:
        found = data["shared"][name]
        if place >= len(found):
            raise Contradiction(f"it speaks of entry {place} of {name}, which it does not have")
        return found[place]

    return {name: found for name, found in data.items() if name not in ("rows", "shared")} | {
        "cells": list(_plain_cells(data["rows"], entry)),
        "stability": list(_plain_stability(data["stability"], entry)),
        "agreements": list(_plain_agreements(data["agreements"], entry)),
        "witnesses": {name: _witness(found, entry) for name, found in data["witnesses"].items()},
    }


def text(data: Mapping[str, Json]) -> str:
    """The text of a file: a line for each entry of its parts."""
    parts = [f'"{name}": {_lines(found, 2 if name == "shared" else 1)}' for name, found in data.items()]
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _lines(found: Json, depth: int) -> str:
    """JSON with a line for each entry of the outermost lists and objects, as deep as ``depth``."""
    if not depth or not found or not isinstance(found, dict | list):
        return json.dumps(found, ensure_ascii=False, separators=(",", ":"))
    if isinstance(found, list):
        return "[\n" + ",\n".join(_lines(entry, depth - 1) for entry in found) + "\n]"
    return "{\n" + ",\n".join(f"{json.dumps(k)}: {_lines(entry, depth - 1)}" for k, entry in found.items()) + "\n}"


def _grouped(
    head: Iterable[str], name: str, entries: Iterable[Json], made: Callable[[Json, Json], Json | None]
) -> list[Json]:
    """Entries that follow each other with one head, as one row: its head, and under ``name`` the entries by their
    perturbation. ``made`` gives the rest of an entry, or None if the entry needs a row of its own."""
    rows: list[Json] = []
    for entry in entries:
        mine = {part: entry[part] for part in head}
        rest = None
        if rows and all(rows[-1][part] == found for part, found in mine.items()):
            rest = made(entry, rows[-1]) if entry["perturbation"] not in rows[-1][name] else None
        if rest is None:
            rows.append(mine | {name: {}})
            rest = made(entry, rows[-1])
        rows[-1][name][entry["perturbation"]] = rest
    return rows


def _cell(cell: Json, pool: _Pool) -> Json:
    """A cell without what its row says, and without the reason of a cell that holds: its counts say it."""
    coverage = cell["coverage"]
    counters = {pool.place("circumstances", name): number for name, number in coverage.items()}
    return (
        {"verdict": cell["verdict"]}
        | {name: cell[name] for name, usual in PLAIN_CELL.items() if cell[name] != usual}
        | ({} if cell["reason"] == _reason(cell) else {"reason": pool.place("texts", cell["reason"])})
        | ({"notes": [pool.place("texts", note) for note in cell["notes"]]} if cell["notes"] else {})
        | ({"coverage": [counters.get(n, 0) for n in range(max(counters) + 1)]} if coverage else {})
    )


def _shortened(row: Json) -> Json:
    """A row that says once what most of its cells say."""
    said = [{name: cell[name] for name in SAID if name in cell} for cell in row["cells"].values()]
    usual = max(said, key=said.count)
    if said.count(usual) < 2:
        return row
    cells = {
        perturbation: {n: v for n, v in cell.items() if n not in SAID} if mine == usual else cell
        for (perturbation, cell), mine in zip(row["cells"].items(), said, strict=True)
    }
    return row | {"usual": usual, "cells": cells}


def _reason(cell: Mapping[str, Json]) -> Json:
    return held(cell["cases"], cell["timelines"]) if cell["verdict"] == "holds" and cell["cases"] else None


def _plain_cells(rows: Iterable[Json], entry: Swap) -> Iterator[Json]:
    for row in rows:
        head = {name: row[name] for name in ROW}
        for perturbation, own in row["cells"].items():
            found = row.get("usual", {}) | own if "verdict" not in own else own
            if "verdict" not in found:
                raise Contradiction(f"a cell of {'/'.join(head.values())} has no verdict")
            cell = head | {"perturbation": perturbation} | PLAIN_CELL | found
            yield cell | {
                "reason": entry("texts", found["reason"]) if "reason" in found else _reason(cell) or "",
                "notes": [entry("texts", note) for note in found.get("notes", ())],
                "coverage": {
                    entry("circumstances", place): number
                    for place, number in enumerate(found.get("coverage", ()))
                    if number
                },
            }


def _stable(found: Json, row: Json, pool: _Pool) -> Json | None:
    """A stability without what its row says. The row has the equivalences of the grades, in order."""
    how = [grade["equivalence"] for grade in found["grades"]]
    if how and row.setdefault("equivalences", how) != how:
        return None
    grades = []
    for grade in found["grades"]:
        smallest = _swapped(grade["smallest"], TWINS, pool.place) if grade["smallest"] else None
        grades.append(_short([grade["counted"], grade["inapplicable"], grade["refuted"], smallest]))
    return (
        {name: found[name] for name in ("promised", "observed", "pairs") if found[name]}
        | ({"unsupported": pool.place("texts", found["unsupported"])} if found["unsupported"] else {})
        | ({"grades": grades} if grades else {})
    )


def _plain_stability(rows: Iterable[Json], entry: Swap) -> Iterator[Json]:
    for row in rows:
        head = {name: row[name] for name in PROGRAM}
        for perturbation, found in row["under"].items():
            grades = []
            for how, (counted, inapplicable, refuted, smallest) in _graded(row, found, (0, 0, 0, None)):
                counts = {"counted": counted, "inapplicable": inapplicable, "refuted": refuted}
                pair = _swapped(smallest, TWINS, entry) if smallest else None
                grades.append({"equivalence": how, **counts, "smallest": pair})
            yield head | {
                "perturbation": perturbation,
                "promised": found.get("promised", ""),
                "observed": found.get("observed", []),
                "pairs": found.get("pairs", 0),
                "unsupported": entry("texts", found["unsupported"]) if "unsupported" in found else "",
                "grades": grades,
            }


def _pairs(agreements: Iterable[Json], pool: _Pool) -> list[Json]:
    """Agreements, those of one program that follow each other in one row."""
    rows: list[Json] = []
    for found in agreements:
        head = {name: found[name] for name in PAIR_OF}
        how = [grade["equivalence"] for grade in found["grades"]]
        head |= {"equivalences": how}
        if not rows or any(rows[-1][name] != mine for name, mine in head.items()):
            rows.append(head | {"pairs": []})
        pair = {name: mine for name, mine in found.items() if name not in (*head, "grades", "smallest")}
        pair |= {"grades": [_short([grade["agree"], grade["differ"]]) for grade in found["grades"]]}
        smallest = found["smallest"]
        rows[-1]["pairs"].append(pair | ({"smallest": _swapped(smallest, DIFFERENCE, pool.place)} if smallest else {}))
    return rows


def _plain_agreements(rows: Iterable[Json], entry: Swap) -> Iterator[Json]:
    for row in rows:
        head = {name: row[name] for name in PAIR_OF}
        for pair in row["pairs"]:
            grades = [
                {"equivalence": how, "agree": agree, "differ": differ}
                for how, (agree, differ) in _graded(row, pair, (0, 0))
            ]
            smallest = _swapped(pair["smallest"], DIFFERENCE, entry) if "smallest" in pair else None
            yield head | pair | {"grades": grades, "smallest": smallest}


def _graded(row: Json, found: Json, usual: tuple[Json, ...]) -> Iterator[tuple[Json, tuple[Json, ...]]]:
    """Each grade of an entry: its equivalence, and its counts with the zeros at their end. Raises Contradiction."""
    grades, hows = found.get("grades", ()), row.get("equivalences", ())
    if grades and len(grades) != len(hows):
        raise Contradiction(f"it has {len(grades)} grades for {len(hows)} equivalences")
    for how, grade in zip(hows, grades, strict=False):
        yield how, (*grade, *usual[len(grade) :])


def _short(counts: list[Json]) -> list[Json]:
    """Counts without the zeros at their end; at least one of them."""
    while len(counts) > 1 and not counts[-1]:
        counts = counts[:-1]
    return counts


def _witness(found: Json, swap: Swap) -> Json:
    swapped = _swapped(found, WITNESS, swap)
    if swapped.get("flip"):
        swapped["flip"] = _swapped(swapped["flip"], WITNESS, swap)
    if "confirmations" in swapped:
        swapped["confirmations"] = [_swapped(one, WITNESS, swap) for one in swapped["confirmations"]]
    return swapped


def _swapped(found: Json, kinds: Mapping[str, str], swap: Swap) -> Json:
    """A copy in which the entries of shared lists and their places are swapped."""
    return {
        name: swap(kinds[name], value) if name in kinds and value is not None else value
        for name, value in found.items()
    }
