"""The third form of a results file, of harness 0.1.0: a row had an object for each of its cells, by their perturbations.

An integer in the place of a text, a schedule, a trace or a map of versions was a place in the list of that name under
"shared". This module reads the form; nothing writes it any more.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from conformance.judgement.verdict import held
from conformance.model.values import Json
from conformance.results.compact import COUNTS, PAIR_OF, PROGRAM, ROW, SEEN
from conformance.results.shared import DIFFERENCE, TWINS, Swap, swapped, witness


def plain(data: Json) -> Json:
    """The plain form of a file (see ``compact``).

    Raises:
        LookupError, TypeError, AttributeError, ValueError: parts are missing, not of their kind, or do not fit each other.
    """

    def entry(name: str, place: Json) -> Json:
        return data["shared"][name][place]

    return {name: found for name, found in data.items() if name not in ("rows", "shared")} | {
        "cells": list(_cells(data["rows"], entry)),
        "stability": list(_stability(data["stability"], entry)),
        "agreements": list(_agreements(data["agreements"], entry)),
        "witnesses": {name: witness(found, entry) for name, found in data["witnesses"].items()},
    }


def _cells(rows: Iterable[Json], entry: Swap) -> Iterator[Json]:
    """The cells. Those without a verdict of their own say what was usual in their row."""
    for row in rows:
        head = {name: row[name] for name in ROW}
        for perturbation, own in row["cells"].items():
            found = dict.fromkeys(COUNTS, 0) | dict.fromkeys(SEEN, "") | own
            found |= {} if "verdict" in own else row["usual"]
            holds = held(found["cases"], found["timelines"]) if found["verdict"] == "holds" and found["cases"] else ""
            counters = enumerate(found.get("coverage", ()))
            yield (
                head
                | {"perturbation": perturbation}
                | found
                | {
                    "reason": entry("texts", found["reason"]) if "reason" in found else holds,
                    "notes": [entry("texts", note) for note in found.get("notes", ())],
                    "coverage": {entry("circumstances", place): number for place, number in counters if number},
                }
            )


def _stability(rows: Iterable[Json], entry: Swap) -> Iterator[Json]:
    for row in rows:
        for perturbation, found in row["under"].items():
            grades = []
            for how, grade in zip(row.get("equivalences", ()), found.get("grades", ()), strict=False):
                counted, inapplicable, refuted, smallest = grade + [0, 0, 0, None][len(grade) :]
                pair = swapped(smallest, TWINS, entry) if smallest else None
                counts = {"counted": counted, "inapplicable": inapplicable, "refuted": refuted}
                grades.append({"equivalence": how, **counts, "smallest": pair})
            yield {name: row[name] for name in PROGRAM} | {
                "perturbation": perturbation,
                "promised": found.get("promised", ""),
                "observed": found.get("observed", []),
                "pairs": found.get("pairs", 0),
                "unsupported": entry("texts", found["unsupported"]) if "unsupported" in found else "",
                "grades": grades,
            }


def _agreements(rows: Iterable[Json], entry: Swap) -> Iterator[Json]:
    for row in rows:
        for pair in row["pairs"]:
            smallest = swapped(pair["smallest"], DIFFERENCE, entry) if "smallest" in pair else None
            counts = ((how, *found, 0) for how, found in zip(row["equivalences"], pair["grades"], strict=True))
            grades = [{"equivalence": how, "agree": agree, "differ": differ} for how, agree, differ, *_ in counts]
            yield {name: row[name] for name in PAIR_OF} | pair | {"grades": grades, "smallest": smallest}
