"""The pages of the site, and its feed. They are plain HTML with one style beside them, which a browser shows without
JavaScript."""

import datetime
from collections import Counter
from itertools import groupby

from jinja2 import Environment

from conformance.comparison.history import Course, History, Point, Stage
from conformance.judgement.cell import Verdict
from conformance.reports.site.places import WORDS, Texts, of_engine, of_guarantee, place, since, standing
from conformance.reports.templating import templates
from conformance.reports.words import STANDINGS
from conformance.support.grouping import grouped

TITLE = "Guarantees over releases"


def _templates(history: History, texts: Texts) -> Environment:
    found = templates("conformance.reports.site")
    found.globals |= {
        "history": history,
        "texts": texts,
        "words": WORDS,
        "place": place,
        "of_engine": of_engine,
        "of_guarantee": of_guarantee,
        "since": since,
        "standing": standing,
        "score": score,
        "by_version": by_version,
        "document": "",
    }
    return found


def by_version(course: Course) -> dict[str, Point]:
    return {point.version: point for point in course.points}


def score(counts: Counter[Verdict] | None) -> str:
    """How many guarantees hold, of those that were decided; in words where none was."""
    if counts is None:
        return "not measured"
    decided = counts[Verdict.HOLDS] + counts[Verdict.VIOLATED]
    return f"{counts[Verdict.HOLDS]} of {decided}" if decided else "none decided"


def pages(history: History, texts: Texts) -> dict[str, str]:
    """Address -> text, of all pages and the style."""
    mine = _templates(history, texts)
    source = mine.loader.get_source(mine, "style.css")[0] if mine.loader else ""
    found = {"index.html": _index(mine, history), "style.css": source}
    for engine, framework in history.engines.items():
        courses = history.of_engine(engine)
        found[of_engine(engine, "html")] = mine.get_template("engine.html.j2").render(
            title=f"{engine} over releases",
            root="../",
            document=f"../{of_engine(engine)}",
            engine=engine,
            framework=framework,
            scores=history.scores(engine),
            by_scenario={name: list(mine) for name, mine in groupby(courses, key=lambda course: course.scenario)},
        )
    for (scenario, guarantee), courses in _by_guarantee(history).items():
        about = texts.guarantee(scenario, guarantee)
        courses = sorted(courses, key=lambda course: (course.framework, course.engine))
        found[of_guarantee(scenario, guarantee, "html")] = mine.get_template("guarantee.html.j2").render(
            title=about.claim,
            root="../../",
            document=f"../../{of_guarantee(scenario, guarantee)}",
            scenario=scenario,
            about=about,
            by_framework={name: list(mine) for name, mine in groupby(courses, key=lambda course: course.framework)},
        )
    return found


def _index(mine: Environment, history: History) -> str:
    by_scenario: dict[str, dict[str, str]] = {}
    for (scenario, guarantee), courses in sorted(_by_guarantee(history).items()):
        counts = Counter(course.now.verdict for course in courses)
        told = ", ".join(f"{WORDS[verdict]} on {counts[verdict]}" for verdict in Verdict if counts[verdict])
        by_scenario.setdefault(scenario, {})[guarantee] = told
    cases = {name: {digest for r in history.releases(name) for digest in r.cases} for name in history.stages}
    return mine.get_template("index.html.j2").render(
        title=TITLE,
        root="",
        legend=list(STANDINGS.values()),
        other_cases={name: len(digests) > 1 for name, digests in cases.items()},
        by_scenario=by_scenario,
    )


def _by_guarantee(history: History) -> dict[tuple[str, str], list[Course]]:
    return grouped(((course.scenario, course.guarantee), course) for course in history.courses.values())


def feed(history: History, texts: Texts, url: str = "") -> str:
    """The Atom feed: an entry for each row of the timeline, newest first. Its time is that of the files that were read.

    Args:
        url: the address of the site, which ends with a slash; relative links if empty.
    """
    stages = [stage for found in history.stages.values() for stage in reversed(found)]
    stages.sort(key=_changed, reverse=True)
    feed = (
        _templates(history, texts)
        .get_template("feed.xml.j2")
        .render(
            title=TITLE,
            url=url,
            stages=stages,
            oldest=[found[0] for found in history.stages.values()],
            newest=max(map(_changed, stages), default=0),
            changed=_changed,
            time=_time,
        )
    )
    return f"{feed}\n"


def _changed(stage: Stage) -> int:
    return max(release.changed for release in stage.releases)


def _time(seconds: int) -> str:
    return datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
