"""The form of a results file: a line for each row with its perturbations, and once each text, schedule and trace, and
whatever else rows repeat.

``compact`` makes the form of the file from the plain form, in which every cell, stability, agreement and witness stands
for itself; ``plain`` makes the plain form again. A row has a list of its perturbations, and beside it lists of what was
found under each of them, in the same order. An integer in the place of a text, a schedule, a trace, a map of versions or
a list is a place in the list of that name under "shared".
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from conformance.judgement.cell import MatrixCell
from conformance.judgement.verdict import held
from conformance.model.values import Json
from conformance.results.shared import DIFFERENCE, TWINS, Pool, Swap, swapped, witness

ROW = ("scenario", "guarantee", "engine", "program", "subject", "claimed")
COUNTS = ("cases", "timelines", "violations", "inapplicable", "lost")
SEEN = ("witness", "intermittent")
NEUTRAL = MatrixCell.subject
"""The subject of a row that names none."""

PROGRAM = ("scenario", "program", "engine")
PAIR_OF = ("scenario", "program")


class Contradiction(ValueError):
    """Parts of a file do not fit each other. The message says which."""


def compact(data: dict[str, Json]) -> dict[str, Json]:
    """The form of the file, from the plain form.

    Raises:
        KeyError, TypeError, AttributeError: parts are missing or not of their kind.
    """
    pool = Pool()
    parts = {
        "rows": [_row(cells, data["scenarios"], pool) for cells in _grouped(ROW, data["cells"])],
        "stability": [_stable(found, pool) for found in _grouped(PROGRAM, data["stability"], _equivalences)],
        "agreements": _pairs(data["agreements"], pool),
        "replays": data["replays"],
        "witnesses": {name: witness(found, pool.place) for name, found in data["witnesses"].items()},
    }
    head = {name: data[name] for name in ("schema", "run", "environment", "scenarios")}
    rest = {name: found for name, found in data.items() if name not in (*head, *parts, "cells")}
    return head | {"shared": pool.lists} | parts | rest


def plain(data: Json) -> Json:
    """The plain form of a file that fits its schema.

    Raises:
        Contradiction: the file speaks of an entry or a guarantee that it does not have, or a row has lists that do not fit each other.
    """

    def entry(name: str, place: Json) -> Json:
        found = data["shared"][name]
        if place >= len(found):
            raise Contradiction(f"it speaks of entry {place} of {name}, which it does not have")
        return found[place]

    return {name: found for name, found in data.items() if name not in ("rows", "shared")} | {
        "cells": [cell for row in data["rows"] for cell in _plain_cells(row, data["scenarios"], entry)],
        "stability": [found for row in data["stability"] for found in _plain_stability(row, entry)],
        "agreements": list(_plain_agreements(data["agreements"], entry)),
        "witnesses": {name: witness(found, entry) for name, found in data["witnesses"].items()},
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


def _equivalences(found: Json) -> list[Json]:
    return [grade["equivalence"] for grade in found["grades"]]


def _grouped(
    head: Iterable[str], entries: Iterable[Json], alike: Callable[[Json], Json] = lambda entry: None
) -> Iterator[list[Json]]:
    """Entries that follow each other with one head, each of another perturbation. What ``alike`` tells of them is one,
    too; an entry of which it tells nothing joins any."""
    group, told, under = list[Json](), None, set[str]()
    for entry in entries:
        mine = alike(entry)
        joins = not group or (
            entry["perturbation"] not in under and all(entry[part] == group[0][part] for part in head)
        )
        if not joins or (told and mine and told != mine):
            yield group
            group, told, under = [], None, set()
        group.append(entry)
        under.add(entry["perturbation"])
        told = told or mine
    if group:
        yield group


def _row(cells: Sequence[Json], scenarios: Json, pool: Pool) -> Json:
    """A row: its cells as lists, and their verdicts, reasons and notes as one saying where all say the same."""
    head = {name: cells[0][name] for name in ROW}
    usual = _usual(head, scenarios)
    says = [pool.place("sayings", _saying(cell, pool)) for cell in cells]
    counters = [pool.place("coverages", _counters(cell["coverage"], pool)) for cell in cells]
    lists = {name: [cell[name] for cell in cells] for name in COUNTS} | {"coverage": counters}
    return (
        {name: found for name, found in head.items() if usual.get(name) != found}
        | {"under": pool.place("perturbations", [cell["perturbation"] for cell in cells])}
        | {"says": says[0] if len({*says}) == 1 else says}
        | {name: _short(found) for name, found in lists.items() if any(found)}
        | {name: found for name in SEEN if (found := {c["perturbation"]: c[name] for c in cells if c[name]})}
    )


def _usual(head: Mapping[str, Json], scenarios: Json) -> dict[str, Json]:
    """What a row need not say: the scenarios say it of its guarantee. Of a guarantee that they lack they say nothing."""
    told = scenarios.get(head["scenario"], {}).get("guarantees", {}).get(head["guarantee"])
    return {"program": told["program"], "subject": NEUTRAL, "claimed": told["source"]} if told else {}


def _saying(cell: Json, pool: Pool) -> Json:
    """What a cell says in words. A cell that holds says no reason where its counts say it."""
    return (
        {"verdict": cell["verdict"]}
        | ({} if cell["reason"] == _reason(cell) else {"reason": pool.place("texts", cell["reason"])})
        | ({"notes": [pool.place("texts", note) for note in cell["notes"]]} if cell["notes"] else {})
    )


def _counters(coverage: Mapping[str, int], pool: Pool) -> list[int]:
    counters = {pool.place("circumstances", name): number for name, number in coverage.items()}
    return [counters.get(n, 0) for n in range(max(counters, default=-1) + 1)]


def _reason(cell: Mapping[str, Json]) -> Json:
    return held(cell["cases"], cell["timelines"]) if cell["verdict"] == "holds" and cell["cases"] else None


def _plain_cells(row: Json, scenarios: Json, entry: Swap) -> Iterator[Json]:
    head = _usual(row, scenarios) | {name: row[name] for name in ROW if name in row}
    if len(head) < len(ROW):
        raise Contradiction(f"it speaks of the guarantee {row['scenario']}/{row['guarantee']}, which it does not have")
    under = entry("perturbations", row["under"])
    says = row["says"] if isinstance(row["says"], list) else [row["says"]] * len(under)
    if len(says) != len(under) or any(name not in under for seen in SEEN for name in row.get(seen, ())):
        raise Contradiction(f"the row {row['engine']}/{row['scenario']}/{row['guarantee']} has other perturbations")
    lists = {name: _long(row.get(name, ()), len(under), 0) for name in (*COUNTS, "coverage")}
    for n, perturbation in enumerate(under):
        said = entry("sayings", says[n])
        counts = {name: lists[name][n] for name in COUNTS}
        covered = enumerate(entry("coverages", lists["coverage"][n]))
        yield (
            head
            | counts
            | {
                "perturbation": perturbation,
                "verdict": said["verdict"],
                "reason": entry("texts", said["reason"]) if "reason" in said else _reason({**said, **counts}) or "",
                "notes": [entry("texts", note) for note in said.get("notes", ())],
                "coverage": {entry("circumstances", place): number for place, number in covered if number},
                **{name: row.get(name, {}).get(perturbation, "") for name in SEEN},
            }
        )


def _stable(entries: Sequence[Json], pool: Pool) -> Json:
    """A program on an engine: what was seen under each perturbation, as lists."""

    def equivalences(found: list[Json]) -> int:
        return pool.place("equivalences", found)

    lists = {
        "promised": [equivalences([e["promised"]] if e["promised"] else []) for e in entries],
        "observed": [equivalences(e["observed"]) for e in entries],
        "pairs": [e["pairs"] for e in entries],
        "unsupported": [pool.place("texts", e["unsupported"]) for e in entries],
        "grades": [_grades(e["grades"], pool) for e in entries],
    }
    return (
        {name: entries[0][name] for name in PROGRAM}
        | {"under": pool.place("perturbations", [e["perturbation"] for e in entries])}
        | {"equivalences": equivalences(max(map(_equivalences, entries), key=len))}
        | {name: _short(found) for name, found in lists.items() if any(found)}
    )


def _grades(grades: Iterable[Json], pool: Pool) -> list[Json]:
    """The counts of grades. The last of them stands for all that are like it at the end."""
    found = []
    for grade in grades:
        smallest = swapped(grade["smallest"], TWINS, pool.place) if grade["smallest"] else None
        found.append(_short([grade["counted"], grade["inapplicable"], grade["refuted"], smallest]))
    while len(found) > 1 and found[-1] == found[-2]:
        found.pop()
    return found


def _plain_stability(row: Json, entry: Swap) -> Iterator[Json]:
    under, hows = entry("perturbations", row["under"]), entry("equivalences", row["equivalences"])
    lists = {name: _long(row.get(name, ()), len(under), 0) for name in ("promised", "observed", "pairs", "unsupported")}
    graded = _long(row.get("grades", ()), len(under), [])
    for n, perturbation in enumerate(under):
        grades = []
        for how, (counted, inapplicable, refuted, smallest) in _graded(hows, graded[n], (0, 0, 0, None)):
            counts = {"counted": counted, "inapplicable": inapplicable, "refuted": refuted}
            pair = swapped(smallest, TWINS, entry) if smallest else None
            grades.append({"equivalence": how, **counts, "smallest": pair})
        yield {name: row[name] for name in PROGRAM} | {
            "perturbation": perturbation,
            "promised": "".join(entry("equivalences", lists["promised"][n])),
            "observed": entry("equivalences", lists["observed"][n]),
            "pairs": lists["pairs"][n],
            "unsupported": entry("texts", lists["unsupported"][n]),
            "grades": grades,
        }


def _pairs(agreements: Iterable[Json], pool: Pool) -> list[Json]:
    """Agreements, those of one program that follow each other in one row."""
    rows: list[Json] = []
    for found in agreements:
        head = {name: found[name] for name in PAIR_OF}
        head |= {"equivalences": pool.place("equivalences", _equivalences(found))}
        if not rows or any(rows[-1][name] != mine for name, mine in head.items()):
            rows.append(head | {"pairs": []})
        pair = {name: found[name] for name in ("left", "right", "cases", "not_on_time")}
        pair |= {"agreed": pool.place("equivalences", found["agreed"])}
        pair |= {"grades": [_short([grade["agree"], grade["differ"]]) for grade in found["grades"]]}
        smallest = found["smallest"]
        rows[-1]["pairs"].append(pair | ({"smallest": swapped(smallest, DIFFERENCE, pool.place)} if smallest else {}))
    return rows


def _plain_agreements(rows: Iterable[Json], entry: Swap) -> Iterator[Json]:
    for row in rows:
        head, hows = {name: row[name] for name in PAIR_OF}, entry("equivalences", row["equivalences"])
        for pair in row["pairs"]:
            counts = ((how, *found) for how, found in _graded(hows, pair["grades"], (0, 0)))
            smallest = swapped(pair["smallest"], DIFFERENCE, entry) if "smallest" in pair else None
            yield (
                head
                | pair
                | {
                    "agreed": entry("equivalences", pair["agreed"]),
                    "grades": [{"equivalence": how, "agree": agree, "differ": differ} for how, agree, differ in counts],
                    "smallest": smallest,
                }
            )


def _graded(
    hows: Sequence[Json], grades: Sequence[Json], usual: tuple[Json, ...]
) -> Iterator[tuple[Json, tuple[Json, ...]]]:
    """Each grade of an entry: its equivalence, and its counts with the zeros at their end. Raises Contradiction."""
    if len(grades) > len(hows):
        raise Contradiction(f"it has {len(grades)} grades for {len(hows)} equivalences")
    for n, how in enumerate(hows if grades else ()):
        grade = grades[min(n, len(grades) - 1)]
        yield how, (*grade, *usual[len(grade) :])


def _short(found: Sequence[Json]) -> list[Json]:
    """A list without the zeros at its end, and what else is nothing; at least one entry."""
    length = max((n for n, entry in enumerate(found, 1) if entry), default=1)
    return list(found[:length])


def _long(found: Sequence[Json], length: int, nothing: Json) -> list[Json]:
    """A list with what is nothing at its end. Raises Contradiction."""
    if len(found) > length:
        raise Contradiction(f"it has {len(found)} entries for {length} perturbations")
    return [*found, *[nothing] * (length - len(found))]
