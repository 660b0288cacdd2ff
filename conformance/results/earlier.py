"""Converts results files of earlier versions of the harness to today's form."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from conformance.model.values import Json

FIRST = "conformance/results/1"
SECOND = "conformance/results/2"


def upgraded(data: Json) -> Json:
    """The JSON of a results file in the form of today's schema. JSON of today's form, or of no known form, stays unchanged.

    Raises:
        KeyError, TypeError, AttributeError: parts are missing or not of their kind.
    """
    steps: Mapping[object, Callable[[Json], Json]] = {FIRST: _from_first}
    schema = data.get("schema") if isinstance(data, dict) else None
    return steps[schema](data) if isinstance(schema, str) and schema in steps else data


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


def _cell(cell: Json) -> Json:
    """A cell with today's words. The reason of a cell that holds also counts timelines."""
    reason = cell["reason"].replace(" clocks, none against", " timelines, none against")
    return _renamed(cell, {"clocks": "timelines"}) | {"reason": reason}


def _renamed(entry: Json, names: Mapping[str, str]) -> Json:
    return {names.get(name, name): value for name, value in entry.items()}
