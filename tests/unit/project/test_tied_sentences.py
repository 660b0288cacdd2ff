"""Each paragraph of the pages on engines is tied to what would fail if it were false.

Those are the findings, the page on differences, and the advice. The other pages say how to use the harness.
"""

import fnmatch
import re
import sys
from pathlib import Path

import check_findings
import pytest

from conformance.plugins.registry import engine_ids, load_scenarios, variant_ids
from conformance.reports.findings import known_findings
from conformance.results import catalogue

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

REPOSITORY = Path(__file__).parents[3]
DOCS = REPOSITORY / "docs"
PAGES = ("differences.md",)
NO_FACTS = (
    "This page is for a port of a stateful `DoFn`",
    "From Beam to Spark:",
    "From Spark to Beam:",
)
"""How blocks begin that say what a page is about, or what follows."""

ENGINE = re.compile(
    r"Spark|Beam|Prism|DirectRunner|FnApi|Tws|DoFn"
    r"|[tT]ransformWithState|[gG]roupsWithState|InPandas|GroupState|dropDuplicates|session_window|TestStream"
    r"|\b(?:spark|beam)-[a-z]"
)
"""What a sentence about an engine says: a framework, a runner, or an operator of one."""

LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
COMMAND = re.compile(r"`(conformance (?:run|diff|replay|upgrade) [^`]+)`")


def blocks(text):
    """The paragraphs, bullets, steps and rows of a page, each with the number of its first line. What is indented
    beneath a bullet, and the sentences of a paragraph, belong to it. Code, headings, and the head of a table are
    none."""
    found, code, lines = [], False, text.splitlines()
    for number, line in enumerate(lines, 1):
        if line.startswith("```"):
            code = not code
        begins = re.match(r"- |\d+\. |\|", line) or not lines[number - 2].strip() or number == 1
        head = line.startswith("|") and bool(re.match(r"\|[-:| ]+$", "".join(lines[number : number + 1])))
        if code or not line.strip() or line.startswith(("#", "```")) or head or set(line) <= set("|-: "):
            continue
        if begins or not found:
            found.append((number, line))
        else:
            first, so_far = found.pop()
            found.append((first, f"{so_far}\n{line}"))
    return found


def ties(block, page):
    """What a block is tied to: findings, witnesses, scripts, scenarios and guarantees that there are; and commands."""
    found = [command for command in COMMAND.findall(block) if all(map(_there, _names_in(command)))]
    for target in LINK.findall(block):
        path, _, anchor = target.partition("#")
        if path == "findings.md" or (not path and anchor.startswith("finding-")):
            found += [target] if anchor.removeprefix("finding-") in NUMBERS else []
        elif path and (page.parent / path).is_file() and path.endswith((".py", ".json")):
            found.append(target)
    return found + [name for name in re.findall(r"\*([a-z][^*]+)\*", block) if name in GUARANTEES]


def _names_in(command):
    return re.findall(r"\S+\.(?:json|jsonl|parquet)\b|(?<=--engine )\S+", command)


def _there(name):
    return (REPOSITORY / name).is_file() or name.partition("@")[0] in {*engine_ids(), *variant_ids()}


NUMBERS = {str(number) for number in known_findings()}
GUARANTEES = {guarantee.claim for scenario in load_scenarios() for guarantee in scenario.guarantees}


def untied(text, page):
    return [
        (number, block)
        for number, block in blocks(text)
        if ENGINE.search(block) and not (block.startswith(NO_FACTS) or ties(block, page))
    ]


@pytest.mark.parametrize("name", PAGES)
def test_what_is_said_of_an_engine_is_tied_to_something_that_would_fail(name):
    page = DOCS / name
    text = page.read_text(encoding="utf-8")
    assert len(blocks(text)) > 30
    assert [f"{name}:{number}: {block[:140]}" for number, block in untied(text, page)] == []


def test_every_advice_is_about_guarantees_that_there_are():
    advice = tomllib.loads((DOCS / "advice.toml").read_text(encoding="utf-8"))["advice"]
    there = {f"{scenario.id}/{guarantee.id}" for scenario in load_scenarios() for guarantee in scenario.guarantees}
    for entry in advice:
        assert entry["guarantees"], entry["cause"]
        assert all(fnmatch.filter(there, pattern) for pattern in entry["guarantees"]), entry["cause"]


def test_every_script_of_the_docs_is_linked_from_a_page_or_decides_a_claim():
    """A script that nothing is tied to is of no use."""
    linked = {Path(link).name for name in PAGES for link in LINK.findall((DOCS / name).read_text(encoding="utf-8"))}
    linked |= {Path(script).name for finding in known_findings().values() for script in finding.scripts}
    decide = {f"{claim.probe}.py" for claim in catalogue.catalogue() if claim.probe}
    scripts = {path.name for folder in ("findings", "claims") for path in (DOCS / folder).glob("*.py")}
    assert sorted(scripts - linked - decide - {"record.py", "saying.py"}) == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Prism loses state.", [1]),
        ("A loop loses nothing.", []),
        ("Spark drops it ([finding 1](findings.md#finding-1)).", []),
        ("Spark drops it ([finding 1000](findings.md#finding-1000)).", [1]),
        ("Spark drops it ([findings](findings.md)).", [1]),
        ("Spark drops it ([script](findings/no_such_script.py)).", [1]),
        (
            "- Spark drops it ([script](claims/spark_windows.py)),\n  and Prism does not.\n- Beam's Prism holds it "
            "back.",
            [3],
        ),
        ("| Spark | drops |\n|---|---|\n| Spark | it ([1](findings.md#finding-1)) |\n| Beam | nothing |", [4]),
        ("## Spark\n\n```\nSpark\n```\n\nBeam keeps it.\nFor ever.", [7]),
        ("A timer fires once on Spark (*a timer fires once*).", []),
        ("A timer fires once on Spark (*or so it is said*).", [1]),
        ("| Spark | `conformance replay witnesses/no-such/file.json --engine spark-tws` |", [1]),
        ("| Spark | `conformance run --engine spark-tws@4.2.1` |", []),
    ],
)
def test_a_block_of_an_engine_without_a_tie_is_listed(text, found):
    assert [number for number, _ in untied(text, DOCS / "differences.md")] == found


def test_every_script_of_a_finding_is_recorded_with_what_it_says():
    """``docs/check_findings.py`` runs the scripts again. Another text of a script, or another release, may say
    something else."""
    said = check_findings.record()
    assert list(said) == sorted(check_findings.name_of(*run) for run in check_findings.runs())
    for script, arguments in check_findings.runs():
        found = said[check_findings.name_of(script, arguments)]
        assert found["script"] == check_findings.text_of(script), script
        assert found["lines"] or found["errors"] or "AssertionError" in check_findings.scripts()[script].read_text()
        asked = {tuple(argument.split("==")) for argument in arguments if "==" in argument}
        assert set(found["versions"].items()) <= (asked or {("pyspark", "4.3.0"), ("apache-beam", "2.77.0")})


def test_what_a_script_says_otherwise_is_told():
    before = {"lines": ["a", "b"], "failed": False, "errors": []}
    assert check_findings.difference(before, dict(before)) == ""
    assert "+c" in check_findings.difference(before, before | {"lines": ["a", "c"]})
    assert "ended with an error" in check_findings.difference(before, before | {"failed": True})
    assert "ended with KeyError" in check_findings.difference(before, before | {"errors": ["KeyError"]})


def test_a_script_that_there_is_not_is_one_line(capsys):
    assert check_findings.main(["no_such_script.py"]) == 2
    assert "no script is called no_such_script" in capsys.readouterr().err


def test_the_readme_says_how_many_scenarios_there_are():
    (number,) = re.findall(r"(\d+) in all", (REPOSITORY / "README.md").read_text(encoding="utf-8"))
    assert int(number) == len(load_scenarios())
