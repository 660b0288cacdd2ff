"""The language of the page's queries, in Node.js where there is one: a query becomes a tree, and says what cannot be
meant."""

import json
import shutil
import subprocess
from importlib.resources import files

import pytest

NODE = shutil.which("node")
SCRIPT = (files("conformance.reports") / "templates" / "query.js").read_text(encoding="utf-8")

pytestmark = pytest.mark.skipif(
    NODE is None, reason="Node.js is not installed; tests/browser ask the same of a browser"
)


@pytest.fixture(scope="module")
def parsed():
    """Query -> (tree, faults), of all queries of this module at once."""
    asked = [query for query, _ in (*TREES, *FAULTS)]
    code = f"{SCRIPT}\nconsole.log(JSON.stringify({json.dumps(asked)}.map(parseQuery)))"
    done = subprocess.run([NODE, "-e", code], capture_output=True, text=True, check=True)
    return dict(zip(asked, ((found["tree"], found["wrong"]) for found in json.loads(done.stdout)), strict=True))


def words(*found):
    return [["word", word] for word in found]


A, B, C = words("a", "b", "c")

TREES = [
    ("", ["and"]),
    ("a B", ["and", A, B]),
    ("a and b", ["and", A, B]),
    ("a b or c", ["or", ["and", A, B], ["and", C]]),
    ("a (b or c)", ["and", A, ["or", ["and", B], ["and", C]]]),
    ("not a b", ["and", ["not", A], B]),
    ("not (a or b)", ["and", ["not", ["or", ["and", A], ["and", B]]]]),
    ("spark-tws:violated beam:!holds", ["and", *words("spark-tws:violated", "beam:!holds")]),
    ('"not a" "(b"', ["and", *words('"not a"', '"(b"')]),
    ("was:holds now:violated a", ["and", ["cell", "was:holds", "now:violated"], A]),
    ("was:holds and since:4.1", ["and", ["cell", "was:holds", "since:4.1"]]),
    ("was:holds a now:violated", ["and", ["cell", "was:holds"], A, ["cell", "now:violated"]]),
    ("state time to live", ["and", *words("state", '"time to live"')]),
    ("strength:<30 finding:5 count", ["and", *words("strength:<30", "finding:5", "count")]),
]
"""(query, tree): words that speak of one cell and stand side by side belong together."""

FAULTS = [
    ("a or", "or needs something on both sides"),
    ("(a b", "a bracket is not closed"),
    ("a) b", "a bracket is closed that was not opened"),
    ("a not", "not needs something after it"),
]


@pytest.mark.parametrize(("query", "tree"), TREES, ids=lambda value: value if isinstance(value, str) else "")
def test_a_query_is_read_as_a_tree(query, tree, parsed):
    assert parsed[query] == (tree, [])


@pytest.mark.parametrize(("query", "fault"), FAULTS)
def test_what_cannot_be_meant_is_said(query, fault, parsed):
    assert parsed[query][1] == [fault]
