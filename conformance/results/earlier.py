"""Converts results files of earlier versions of the harness to today's form."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from conformance.model.values import Json
from conformance.results import third
from conformance.results.compact import compact

FIRST = "conformance/results/1"
SECOND = "conformance/results/2"
THIRD = "conformance/results/3"
FOURTH = "conformance/results/4"

SCHEMAS = (FIRST, SECOND, THIRD, FOURTH)
"""The schemas that can be read, oldest first."""


def upgraded(data: Json) -> Json:
    """The JSON of a results file in the form of today's schema. JSON of today's form, or of no known form, stays unchanged.

    Raises:
        LookupError, TypeError, AttributeError, ValueError: parts are missing, not of their kind, or do not fit each other.
    """
    for schema, step in STEPS.items():
        if isinstance(data, dict) and data.get("schema") == schema:
            data = step(data)
    return data


def _from_first(data: Json) -> Json:
    """Rename the words of harness 0.1.0: a timeline was a clock, stability was survival, a native operator was an idiom."""
    found = _renamed(data, {"survivals": "stability"})
    return found | {
        "schema": SECOND,
        "run": _renamed(data["run"], {"clocks": "timelines"}),
        "environment": {
            engine: _renamed(entry, {"column": "shown_as", "idiom": "native_operator"})
            for engine, entry in data["environment"].items()
        },
        "cells": [_cell(cell) for cell in data["cells"]],
    }


def _from_second(data: Json) -> Json:
    """Each cell had a line of its own, and each schedule and trace stood wherever it was spoken of."""
    return compact(data | {"schema": FOURTH})


def _from_third(data: Json) -> Json:
    """A row had an object for each of its cells."""
    return compact(third.plain(data) | {"schema": FOURTH})


def _cell(cell: Json) -> Json:
    """A cell with today's words. The reason of a cell that holds also counts timelines."""
    reason = cell["reason"].replace(" clocks, none against", " timelines, none against")
    return _renamed(cell, {"clocks": "timelines"}) | {"reason": reason}


def _renamed(entry: Json, names: Mapping[str, str]) -> Json:
    return {names.get(name, name): value for name, value in entry.items()}


STEPS: Mapping[str, Callable[[Json], Json]] = {FIRST: _from_first, SECOND: _from_second, THIRD: _from_third}
"""Schema -> what makes a later one of it, in order."""
