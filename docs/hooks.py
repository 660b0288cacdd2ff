"""What MkDocs builds the site from: the pages of the repository in their places, and those that ``reports.site`` generates."""

import os
import posixpath
import re
from pathlib import Path

from mkdocs.structure.files import File

from conformance.registry import load_scenarios
from conformance.results import Results
from reports import site

LINK = re.compile(r"\]\(([^)\s#:]+)\)")
"""A link to a file of the repository."""


def on_config(config):
    """A page for each scenario in the navigation."""
    entry = next(entry["Scenarios"] for entry in config.nav if "Scenarios" in entry)
    entry += [{scenario.name.capitalize(): f"scenarios/{scenario.id}.md"} for scenario in load_scenarios()]


def on_files(files, config):
    repository = Path(config.config_file_path).parent
    for uri in _there(repository):
        files.append(File.generated(config, uri, abs_src_path=str(repository / uri)))
    runs = [Results.read(Path(name)) for name in config.extra["results"].split(os.pathsep) if name]
    baselines = site.baselines_in(repository / "baselines")
    measured = site.measured_by(runs) if runs else site.measured_in(baselines, repository / "witnesses")
    advice = site.read_advice(repository / "docs/advice.toml")
    generated = site.pages(load_scenarios(), measured, advice, baselines)
    for uri, text in generated.items():
        files.append(File.generated(config, uri, content=text))
    config.extra["witnesses"] = {f"witnesses/{w.id}.json": site.place_of(w) for w in measured.witnesses.values()}


def on_page_markdown(markdown, page, config, files):
    """Links as the site has them: of a folder its index, of a witness its place on the page of its scenario."""
    folder = posixpath.dirname(page.file.src_uri)
    shown = {} if page.file.generated_by and not page.file.abs_src_path else config.extra["witnesses"]

    def resolved(link):
        target = posixpath.normpath(posixpath.join(folder, link[1]))
        target = shown.get(target) or (f"{target}/index.md" if f"{target}/index.md" in files.src_uris else None)
        return f"]({posixpath.relpath(target, folder)})" if target else link[0]

    return LINK.sub(resolved, markdown)


def _there(repository):
    """What the site has of the repository: the pages, and the files that they link to."""
    found = {
        path.relative_to(repository).as_posix()
        for pattern in ("*.md", "docs/*.md")
        for path in repository.glob(pattern)
    }
    for page in list(found):
        links = LINK.findall((repository / page).read_text(encoding="utf-8"))
        targets = {posixpath.normpath(posixpath.join(posixpath.dirname(page), link)) for link in links}
        found |= {
            target for target in targets if (repository / target).is_file() and not target.startswith("witnesses/")
        }
    return sorted(found)
