"""The JSON documents of the site: one for each guarantee and one for each engine, at addresses that stay."""

import json
from functools import cache
from importlib.resources import files
from typing import Any

from conformance.comparison.history import Course, History, Point
from conformance.judgement.cell import Verdict
from conformance.model.values import Json
from conformance.reports.site.places import Texts, of_guarantee

SCHEMAS = {"guarantee": "conformance/site/guarantee/1", "engine": "conformance/site/engine/1"}
"""Kind of document -> what it names as its schema. A change that a reader would notice gets another number."""


@cache
def schema(kind: str) -> dict[str, Any]:
    """The JSON Schema of a kind of document."""
    text = (files("conformance.reports.site") / "schemas" / f"{kind}-1.schema.json").read_text(encoding="utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded


def of_a_guarantee(history: History, texts: Texts, scenario: str, guarantee: str) -> Json:
    """How a guarantee stands on each engine, in each measured release."""
    courses = [c for c in history.courses.values() if (c.scenario, c.guarantee) == (scenario, guarantee)]
    words = texts.guarantee(scenario, guarantee)
    return {
        "schema": SCHEMAS["guarantee"],
        "scenario": scenario,
        "guarantee": guarantee,
        "claim": words.claim,
        "source": {"document": words.source, "quote": words.quote, "url": words.url},
        "engines": {
            course.engine: {
                "framework": course.framework,
                **_stands(course),
                "releases": {point.version: _point(point) for point in course.points},
            }
            for course in courses
        },
    }


def of_an_engine(history: History, engine: str) -> Json:
    """The scores of an engine in each measured release, and how each guarantee stands in the last one."""
    return {
        "schema": SCHEMAS["engine"],
        "engine": engine,
        "framework": history.engines[engine],
        "scores": {
            number: {verdict.value: counts[verdict] for verdict in Verdict}
            for number, counts in history.scores(engine).items()
        },
        "guarantees": {
            f"{course.scenario}/{course.guarantee}": {
                **_stands(course),
                "document": f"../{of_guarantee(course.scenario, course.guarantee)}",
            }
            for course in history.of_engine(engine)
        },
    }


def _stands(course: Course) -> Json:
    before = course.before
    return {
        "verdict": course.now.verdict.value,
        "since": course.since,
        "before": {"release": before.version, "verdict": before.verdict.value} if before else None,
    }


def _point(point: Point) -> Json:
    return {
        "verdict": point.verdict.value,
        "in_part": point.in_part,
        "cases": point.cases,
        "ways": list(point.ways),
        "witnesses": list(point.witnesses),
    }
