"""The files that MkDocs builds the site from: the repository's pages in their places, and the pages that ``site_pages``
generates."""

import logging
import os
import posixpath
import re
from pathlib import Path

from mkdocs.structure.files import File
from site_pages import measured as measuring
from site_pages.finding_page import finding_pages
from site_pages.inserted import with_inserted
from site_pages.pages import pages, places
from site_pages.rendering import titled

from conformance.plugins.registry import load_scenarios
from conformance.reports.advice import read_advice
from conformance.reports.findings import known_findings
from conformance.results.results import Results

LINK = re.compile(r"\]\(([^)\s#:]+)\)")
"""A link to a file of the repository."""

LOADED = re.compile(r'<(?:script|link|img|iframe|source|object)\b[^>]*\b(?:src|href|data)="?(?:https?:)?//[^>]*')
"""A tag that makes a browser load something from the network."""

FINDING = re.compile(r"\]\(([^)\s]*?)findings\.md#finding-(\d+)\)")
"""A link to a finding, which has a page of its own in the site."""


def on_config(config):
    """A page for each scenario in the navigation."""
    entry = next(entry["Scenarios"] for entry in config.nav if "Scenarios" in entry)
    entry += [{titled(scenario.name): f"scenarios/{scenario.id}.md"} for scenario in load_scenarios()]


def on_files(files, config):
    repository, scenarios = Path(config.config_file_path).parent, load_scenarios()
    baselines = measuring.baselines_in(repository / "baselines")
    runs = [Results.read(Path(name)) for name in config.extra["results"].split(os.pathsep) if name]
    if runs:
        measured = measuring.measured_by(runs)
    else:
        measured = measuring.measured_in(repository / "docs/measured.jsonl", repository / "witnesses")
    advice = read_advice(repository / "docs/advice.toml")
    for uri, text in pages(scenarios, measured, advice, baselines).items():
        files.append(File.generated(config, uri, content=text))
    findings = known_findings().values()
    for uri, text in finding_pages(findings, repository / "docs", measured, advice).items():
        files.append(File.generated(config, uri, content=text))
    config.extra["places"] = placed = places(scenarios, measured)
    scripts = {f"docs/{script}" for finding in findings for script in finding.scripts}
    for uri in sorted((_there(repository) | scripts) - set(placed)):
        files.append(File.generated(config, uri, abs_src_path=str(repository / uri)))


def _there(repository):
    """The repository's files for the site: its pages, and the files that they link to."""
    pages = [path for pattern in ("*.md", "docs/*.md") for path in repository.glob(pattern)]
    found = {page.relative_to(repository).as_posix() for page in pages}
    for page in pages:
        folder = page.parent.relative_to(repository).as_posix()
        links = {_target(folder, link) for link in LINK.findall(page.read_text(encoding="utf-8"))}
        found |= {link for link in links if (repository / link).is_file()}
    return found


def on_page_markdown(markdown, page, config, files):
    """Turn the links of a page into links of the site. A folder becomes its index, a scenario's source becomes the
    scenario's page, a witness becomes its place on that page, a finding its page."""
    markdown = FINDING.sub(r"](\1findings/\2.md)", markdown)
    if not page.file.abs_src_path:
        return markdown
    folder = posixpath.dirname(page.file.src_uri)

    def resolved(link):
        target = _target(folder, link[1])
        index = f"{target}/index.md"
        place = config.extra["places"].get(target) or (index if index in files.src_uris else "")
        return f"]({posixpath.relpath(place, folder)})" if place else link[0]

    return LINK.sub(resolved, with_inserted(markdown, Path(config.config_file_path).parent / "docs"))


def on_post_page(output, page, config):
    """Warn of every part of a page that needs the network. A warning fails a strict build."""
    for tag in LOADED.findall(output):
        logging.getLogger("mkdocs.hooks").warning(f"{page.file.src_uri} loads something from the network: {tag}")


def _target(folder, link):
    return posixpath.normpath(posixpath.join(folder, link))
