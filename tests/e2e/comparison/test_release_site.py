"""The static site of the repository's own baselines: whole, without a network, and its documents as their schemas
say."""

import json
import posixpath
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote
from xml.etree import ElementTree

import jsonschema_rs
import pytest
from commands import conformance
from own_scenario import echo

from conformance.results.baseline import Baseline

BASELINES = Path(__file__).parents[3] / "baselines"
EPOCH = {"SOURCE_DATE_EPOCH": "1700000000"}
ATOM = "{http://www.w3.org/2005/Atom}"


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Address -> text."""
    folder = tmp_path_factory.mktemp("site")
    done = conformance("site", BASELINES, "--out", "out", "--url", "https://example.org/c", cwd=folder, env=EPOCH)
    assert done.returncode == 0, done.stdout + done.stderr
    out = folder / "out"
    return {path.relative_to(out).as_posix(): path.read_text() for path in out.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def measured():
    """(framework, version) of each baseline of the repository -> the baseline."""
    found = {}
    for path in BASELINES.glob("*.jsonl"):
        baseline = Baseline.read(path)
        engine = next(name for name in baseline.engines if baseline.version(name))
        found[next(iter(baseline.engines[engine])), baseline.version(engine)] = baseline
    return found


class Page(HTMLParser):
    """The tags of a page, in order, with their attributes."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.open, self.text = [], [], ""
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag not in ("meta", "link"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data

    def all(self, name):
        return [attributes for tag, attributes in self.tags if tag == name]


@pytest.fixture(scope="module")
def pages(site):
    return {place: Page(text) for place, text in site.items() if place.endswith(".html")}


def test_the_timeline_has_every_release_that_was_measured(pages, measured):
    index = pages["index.html"]
    assert len(measured) >= 8
    for framework, number in measured:
        assert number in index.text
        assert framework.capitalize() in index.text


def test_pages_need_neither_scripts_nor_a_network(pages):
    for page in pages.values():
        assert {tag for tag, _ in page.tags}.isdisjoint({"script", "img", "iframe", "object", "style"})
        assert all("://" not in found["href"] for found in page.all("link"))
        assert not [a for _, attributes in page.tags for a in attributes if a.startswith("on") or a == "style"]


def test_pages_are_told_by_their_structure_alone(pages):
    """A language, a title, one first heading, named tables with heads that say what they are of, and a way past the
    links."""
    for page in pages.values():
        assert page.open == []
        assert page.all("html") == [{"lang": "en"}]
        assert len(page.all("title")) == len(page.all("h1")) == len(page.all("main")) == 1
        assert len(page.all("caption")) == len(page.all("table"))
        assert all(found.get("scope") in ("row", "col") for found in page.all("th"))
        assert page.all("a")[0] == {"class": "skip", "href": "#content"}


def test_every_link_leads_somewhere(pages, site):
    seen = 0
    for place, page in pages.items():
        for found in [*page.all("a"), *page.all("link")]:
            target, _, anchor = found["href"].partition("#")
            if "://" in target:
                continue
            to = posixpath.normpath(posixpath.join(posixpath.dirname(place), unquote(target))) if target else place
            assert to in site, (place, found["href"])
            assert not anchor or any(attributes.get("id") == anchor for _, attributes in pages[to].tags)
            seen += 1
    assert seen > 1_000


@pytest.mark.parametrize("kind", ["guarantee", "engine"])
def test_documents_are_as_their_schema_says(site, kind):
    schema = json.loads(site[f"schema/{kind}-1.schema.json"])
    assert (schema["$id"], schema["version"]) == (f"urn:conformance:site:{kind}:1", "1")
    asked = jsonschema_rs.validator_for(schema)
    found = [
        json.loads(text) for place, text in site.items() if place.startswith(f"{kind}/") and place.endswith(".json")
    ]
    assert len(found) > 20
    for document in found:
        asked.validate(document)
        assert document["schema"] == f"conformance/site/{kind}/1"
    assert not asked.is_valid(found[0] | {"more": 1})


def test_a_document_says_what_the_baselines_say(site, measured):
    """Each violated cell is violated in the document of its guarantee, with its witness."""
    seen = 0
    for (framework, number), baseline in measured.items():
        for (engine, scenario, guarantee, _), standing in baseline.cells.items():
            if standing.witness and engine != "reference":
                document = json.loads(site[f"guarantee/{scenario}/{guarantee}.json"])
                there = document["engines"][engine]
                assert there["framework"] == framework
                assert there["releases"][number]["verdict"] == "violated"
                assert standing.witness in there["releases"][number]["witnesses"]
                seen += 1
    assert seen > 100


def test_the_feed_has_an_entry_for_each_row_of_the_timeline(site, pages, measured):
    feed = ElementTree.fromstring(site["feed.xml"])
    assert feed.tag == f"{ATOM}feed"
    entries = feed.findall(f"{ATOM}entry")
    index = pages["index.html"]
    links = [entry.find(f"{ATOM}link").get("href") for entry in entries]
    rows = [f"https://example.org/c/index.html#{found['id']}" for found in index.all("th") if "id" in found]
    assert sorted(links) == sorted(rows)
    assert len({entry.findtext(f"{ATOM}id") for entry in entries}) == len(entries) >= 6
    days = {f"{baseline.measured}T00:00:00Z" for baseline in measured.values()}
    for element in (feed, *entries):
        assert element.findtext(f"{ATOM}updated") in days
        assert element.findtext(f"{ATOM}title")
        assert element.findtext(f"{ATOM}id")
    for entry in entries:
        Page(entry.findtext(f"{ATOM}content"))


def test_what_does_not_say_when_it_was_measured_has_the_time_that_is_given(tmp_path):
    baseline = replace(Baseline.read(BASELINES / "apache-beam-2.77.0.jsonl"), measured="")
    baseline.write(tmp_path / "old.jsonl")
    conformance("site", "old.jsonl", "--out", "out", cwd=tmp_path, env=EPOCH)
    feed = ElementTree.parse(tmp_path / "out" / "feed.xml")
    assert feed.findtext(f"{ATOM}updated") == "2023-11-14T22:13:20Z"


def test_the_same_files_give_the_same_site(site, tmp_path):
    for place in ("a", "b"):
        conformance("site", BASELINES / "pyspark-4.3.0.jsonl", "--out", place, cwd=tmp_path, env=EPOCH)
    one, two = (sorted((tmp_path / place).rglob("*.*")) for place in ("a", "b"))
    assert [path.read_text() for path in one if path.is_file()] == [path.read_text() for path in two if path.is_file()]


EVIL = '<script>alert("x")</script>'


def test_texts_of_others_stay_texts(tmp_path):
    """Those of a baseline, whose ids name files as well."""
    baseline = Baseline.read(BASELINES / "apache-beam-2.77.0.jsonl")
    place, standing = next((p, s) for p, s in baseline.cells.items() if s.witness)
    engine = {f"../{EVIL}": baseline.engines[place[0]]}
    Baseline("0", "c", engine, {(f"../{EVIL}", "..", f"/{EVIL}", "as drawn"): standing}).write(tmp_path / "b.jsonl")
    done = conformance("site", "b.jsonl", "--out", "in/out", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["b.jsonl", "in"]
    texts = [path.read_text() for path in (tmp_path / "in").rglob("*.html")]
    assert len(texts) == 3
    assert not [text for text in texts if "<script" in text]


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("b.jsonl", "not a baseline\n", "b.jsonl is neither a whole baseline nor results"),
        ("notes.txt", "", "has no baseline (*.jsonl) and no results.json.gz"),
    ],
)
def test_a_folder_without_baselines_is_one_line(tmp_path, name, text, says):
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / name).write_text(text)
    done = conformance("site", "there", cwd=tmp_path)
    assert done.returncode == 2
    assert says in done.stderr.splitlines()[-1]


def test_results_of_a_run_of_the_reference_alone_have_no_release(tmp_path):
    (tmp_path / "mine.py").write_text(echo("one of mine"))
    run = ["--load", "mine.py", "--engine", "reference", "--cases", 1, "--seed", 1, "--out", "out"]
    ran = conformance("run", *run, cwd=tmp_path)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    done = conformance("site", "out", cwd=tmp_path)
    assert (done.returncode, "out: no engine there has a release" in done.stderr) == (2, True)
