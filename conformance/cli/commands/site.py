"""The command site: a static site of guarantees over releases, from results and baselines."""

import json
import os
from datetime import datetime, timezone
from pathlib import Path

import click

from conformance.cli import options
from conformance.comparison.history import History, history, sources
from conformance.plugins.registry import load_scenarios
from conformance.results.baseline import Baseline, UnreadableBaseline
from conformance.results.record import ScenarioRecord
from conformance.support.writing import write_whole

EPOCH = "SOURCE_DATE_EPOCH"
"""The environment variable with the time of each file, in seconds since 1970, that does not say when it was
measured."""


@click.command("site")
@click.argument("places", metavar="DIR...", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@click.option("--url", default="", help="The address of the site, for the links of its feed. Default: relative links.")
@options.load
@options.out("build/site")
def site_(places: tuple[Path, ...], url: str, out: Path) -> None:
    """Make a static site of the results and baselines in folders or files: what holds since when, and what changed.

    The site has a timeline of the releases, scores of each engine, an Atom feed, and a JSON document for each guarantee
    and engine.
    """
    from conformance.reports.site import documents
    from conformance.reports.site.pages import feed, pages
    from conformance.reports.site.places import Texts, of_engine, of_guarantee

    found = sources(places)
    seen = history(found, {path: _measured(path, baseline) for path, baseline in found.items()})
    if not seen.courses:
        raise UnreadableBaseline(f"{', '.join(map(str, places))}: no engine there has a release")
    texts = Texts({scenario.id: ScenarioRecord.of(scenario) for scenario in load_scenarios()})
    url = url and url.rstrip("/") + "/"
    files = pages(seen, texts) | {"feed.xml": feed(seen, texts, url)}
    for kind in documents.SCHEMAS:
        files[f"schema/{kind}-1.schema.json"] = _json(documents.schema(kind))
    for engine in seen.engines:
        files[of_engine(engine)] = _json(documents.of_an_engine(seen, engine))
    for scenario, guarantee in sorted({(course.scenario, course.guarantee) for course in seen.courses.values()}):
        files[of_guarantee(scenario, guarantee)] = _json(documents.of_a_guarantee(seen, texts, scenario, guarantee))
    for name, text in files.items():
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        write_whole(out / name, text)
    click.echo(f"{out / 'index.html'}: {_told(seen)}")


def _told(seen: History) -> str:
    numbers = [f"{len(seen.releases(framework))} releases of {framework}" for framework in seen.stages]
    return f"{', '.join(numbers)}, {len(seen.engines)} engines"


def _measured(path: Path, baseline: Baseline) -> int:
    """When a file was measured, as far as is known, in seconds since the epoch."""
    if baseline.measured:
        return int(datetime.fromisoformat(baseline.measured).replace(tzinfo=timezone.utc).timestamp())
    given = os.environ.get(EPOCH, "")
    return int(given) if given.isdecimal() else int(path.stat().st_mtime)


def _json(found: object) -> str:
    return json.dumps(found, indent=1, ensure_ascii=False) + "\n"
