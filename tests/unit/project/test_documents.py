"""The documents as a whole: not too long, and with what is made for them when the site is built."""

import re
from pathlib import Path

import pytest
from site_pages.inserted import MARK, commands, plans, power, with_inserted

from conformance.cli.main import main
from conformance.plugins.registry import engine_ids, load_engine

ROOT = Path(__file__).parents[3]
DOCS = ROOT / "docs"
MADE = {"types.md"}
"""Pages that are made of results."""


def test_the_documents_have_at_most_25000_words():
    pages = [path for path in DOCS.glob("*.md") if path.name not in MADE]
    pages += [ROOT / name for name in ("README.md", "ARCHITECTURE.md", "CHANGELOG.md")]
    assert sum(len(page.read_text(encoding="utf-8").split()) for page in pages) <= 25_000


def test_the_readme_begins_with_what_one_wants_to_do():
    begins = "\n".join((ROOT / "README.md").read_text(encoding="utf-8").splitlines()[:30])
    for wish in ("**port**", "**upgrade**", "**test my code**", "**report a bug**"):
        assert re.search(rf"^\| {re.escape(wish)}.* \| `conformance [^`]+` \| .+ \|$", begins, re.MULTILINE), wish
    assert "pip install tox && tox -e conformance" in begins


def test_the_architecture_is_short():
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    assert len(text.split()) <= 2_500
    assert len(text.partition("## The way of a case")[2].partition("\n## ")[0].strip().splitlines()) <= 40
    assert len(text.partition("| word | sense |")[2].strip().splitlines()) - 1 <= 30


def test_every_mark_of_a_page_stands_for_something():
    marked = [page for page in DOCS.glob("*.md") if MARK.search(page.read_text(encoding="utf-8"))]
    assert {page.name for page in marked} == {"commands.md", "findings.md", "moving.md", "plans.md", "trust.md"}
    with pytest.raises(KeyError):
        with_inserted("<!-- made here: nothing -->", DOCS)


def test_every_command_is_described_with_its_options():
    text = commands()
    assert set(re.findall(r"^## (\S+)", text, re.MULTILINE)) == set(main.list_commands(None))
    assert "--spark-master" in text


def test_every_plan_of_an_engine_has_a_line():
    lines = plans().splitlines()[2:]
    there = {plan.id for name in engine_ids() for plan in load_engine(name).capabilities.plans if plan.text}
    assert {re.match(r"\| `([\w-]+)`", line)[1] for line in lines} == there
    assert len(there) > 60


def test_the_power_that_was_measured_is_told():
    assert "| `spark-tws` |" in power(DOCS)
