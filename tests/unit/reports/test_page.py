"""The matrix page: built from results alone, with every verdict and witness without JavaScript, and deaf to what texts
would like to be."""

import re
from base64 import b64encode
from dataclasses import replace
from hashlib import sha256
from html.parser import HTMLParser
from importlib.resources import files

import pytest
from hostile import EVIL, hostile_results
from packed import PLACE, parts, unpacked

from conformance.judgement.cell import Verdict
from conformance.model.program import by_processing_time
from conformance.model.schedule import Advance, Deliver, Event, Schedule
from conformance.plugins.registry import load_scenarios
from conformance.reports.page import html, kills
from conformance.reports.page.pages import FIRST, broken
from conformance.reports.text import markdown
from conformance.selftest.power import Asked, Power
from conformance.selftest.selftest import SelfTest

SCRIPT = "\n".join((files("conformance.reports") / "templates" / name).read_text("utf-8") for name in html.SCRIPTS)


@pytest.fixture
def results():
    return hostile_results()


class Page(HTMLParser):
    """What a browser without JavaScript finds in a page."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.ids, self.links, self.attributes, self.texts = [], [], [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.tags.append(tag)
        self.attributes += attributes
        self.ids += [found["id"]] if "id" in found else []
        self.links += [found["href"]] if "href" in found else []

    handle_startendtag = handle_starttag

    def handle_data(self, data):
        self.texts.append(data)


@pytest.fixture(params=[False, True], ids=["without JavaScript", "with JavaScript"])
def seen(request):
    """What a browser makes of a page."""
    return unpacked if request.param else str


@pytest.fixture(params=["one", "two", "with a kill matrix"])
def text(request, results, seen):
    selftest = SelfTest({EVIL: frozenset({(EVIL, EVIL)})}, frozenset({(EVIL, EVIL)}), (), {f"{EVIL}+b": (EVIL, EVIL)})
    if request.param == "one":
        return seen(html.render([results]))
    return seen(html.render([results, results], selftest if request.param != "two" else None))


def test_nothing_in_a_text_becomes_markup(text):
    """The scripts are ours, bound by their digests; nothing is loaded, and nothing leads out of the page."""
    page = Page(text)
    assert page.tags.count("script") == 2
    assert text.count(SCRIPT) == 1
    ours = " ".join(f"'sha256-{b64encode(sha256(code.encode()).digest()).decode()}'" for code in (FIRST, SCRIPT))
    assert dict(page.attributes)["content"].endswith(f"script-src {ours}")
    assert not {"link", "img", "iframe", "object", "base", "form-action"} & {*page.tags}
    assert all(link.startswith("#") for link in page.links)
    assert not [name for name, _ in page.attributes if name.startswith("on") or name in ("src", "style", "srcdoc")]


def test_every_link_leads_somewhere_and_every_name_is_given_once(text):
    page = Page(text)
    assert {link[1:] for link in page.links} <= {*page.ids}
    assert len({*page.ids}) == len(page.ids)


def matrix_links(page):
    """Where the cells of the matrix lead."""
    return re.findall(r"<a class=[a-z-]+ href=#(c[0-9a-f]{7}) ", page)


def test_every_cell_leads_to_its_evidence(results):
    page = unpacked(html.render([results]))
    assert len({*matrix_links(page)} & {*Page(page).ids}) == 5
    assert Page(page).tags.count("article") == 3, (
        "the table of the row tells of what holds, and of what cannot be asked"
    )


def test_without_javascript_a_cell_that_says_everything_leads_nowhere(results):
    """What leads to it from elsewhere ends at the cell."""
    page = html.render([results])
    quiet = re.findall(r"<a class=([a-z-]+) id=c[0-9a-f]{7} ", page)
    assert sorted(quiet) == ["holds", "unsupported"]
    assert len({*matrix_links(page)} & {*Page(page).ids}) == 3


def test_without_javascript_the_page_has_every_reason_and_how_to_replay_every_witness(results):
    page = html.render([results])
    said = "".join(Page(page).texts)
    assert "JavaScript unpacks them" in said
    for cell in results.cells:
        assert cell.reason in said
    for witness in results.witnesses.values():
        assert f"conformance replay {witness.id}" in said


def test_what_is_packed_is_unpacked_in_its_place(results):
    """Each part has one place; a guarantee's has its pictures and its cases under each perturbation."""
    page = html.render([results])
    assert sorted(int(place[3]) for place in PLACE.finditer(page)) == [*range(len(parts(page)))]
    (row,) = [place for place in PLACE.finditer(page) if "class=row" in place[1]]
    assert "<svg" in parts(page)[int(row[3])]
    assert '<table class="under">' in parts(page)[int(row[3])]
    assert html.render([results]) == page, "the same results give the same page"


def test_a_plain_page_has_nothing_packed(results):
    """Every part of the packed one stands in its place."""
    plain = html.render([results], plain=True)
    assert parts(plain) == []
    assert "JavaScript unpacks them" not in plain
    for part in parts(html.render([results])):
        assert f"<noscript>{part}</noscript>" in plain
    page = Page(plain)
    assert len({*matrix_links(plain)} & {*page.ids}) == 5
    assert {link[1:] for link in page.links} <= {*page.ids}
    assert len({*page.ids}) == len(page.ids)


def test_a_long_name_breaks_after_hyphens_and_colons_and_before_capital_letters():
    assert broken("spark-native:<mapGroups()") == "spark-<wbr>native:<wbr>&lt;map<wbr>Groups()"


def test_a_verdict_is_word_and_symbol(text):
    for verdict in ("✗ violated", "✓ holds", "– unsupported", "! error", "? unknown"):
        assert verdict in text


def test_a_cell_tells_the_script_its_verdict_under_each_perturbation(results):
    results.cells += [replace(results.cells[0], perturbation="split", verdict=Verdict.HOLDS)]
    page = html.render([results])
    letters = re.search('<p id="letters" hidden>(.*?)</p>', page)[1].split(" ")
    found = [letters[int(value)] for name, value in Page(page).attributes if name == "data-p"]
    assert found == ["vh", "h", "e", "u", "s"]


def test_a_violated_cell_has_a_picture_a_text_and_a_command(results):
    page = unpacked(html.render([results]))
    (article,) = [
        part for part in page.split("<article")[1:] if "conformance replay" in part.partition("</article>")[0]
    ]
    assert article.count('role="img"') == 2  # the engine and the reference
    assert "first difference" in article
    assert re.search(r"<pre>.*bundle of 1.*</pre>", article, re.DOTALL)


def test_what_another_engine_gave_on_the_same_case_is_not_drawn_twice(results):
    first = results.cells[0]
    other = replace(results.witnesses[first.witness], engine="beam-direct", message="another message")
    results.witnesses[other.id] = other
    results.cells = [first, replace(first, engine="beam-direct", witness=other.id)]
    page = unpacked(html.render([results]))
    assert page.count("and the same came out") == 1
    results.cells = [first]
    assert page.count('role="img"') == unpacked(html.render([results])).count('role="img"')
    assert all(f"conformance replay {name}" in page for name in results.witnesses)


def test_the_page_shows_where_engines_differ(results):
    """How many outputs are identical; the smallest case where they differ, with what either gave."""
    page = unpacked(html.render([results]))
    assert "7 <small>of 9</small>" in page
    assert "2 of 9 differ, 1 not on time" in page
    results.agreements = []
    assert "Agreement between engines" not in unpacked(html.render([results]))


def test_the_page_shows_what_the_cases_of_a_cell_had(results):
    results.cells = [replace(cell, coverage={"late": 2}) for cell in results.cells]
    assert "of an engine with: late 2." in unpacked(html.render([results]))
    results.cells[0] = replace(results.cells[0], coverage={"late": 3})
    assert "of an engine with: late 2 to 3." in unpacked(html.render([results]))


def test_the_page_shows_the_cases_under_each_perturbation_in_one_table_for_all_engines(results):
    cells = [replace(cell, perturbation="split", cases=7, witness="") for cell in results.cells]
    results.cells += [replace(c, violations=4) if c.verdict is Verdict.VIOLATED else c for c in cells]
    table = unpacked(html.render([results])).partition('<table class="under">')[2].partition("</table>")[0]
    assert re.search("<th>as drawn<th title=[^>]*>split", table)
    assert '<td class="violated">3<td class="violated">4/7' in table
    assert table.count("<tr") == 6
    assert table.count('colspan="2"') == 1, "what cannot be expressed has its reason in place of counts"


def of_version(results, number):
    return {name: replace(record, versions={"spark": number}) for name, record in results.environment.items()}


def test_versions_stand_side_by_side_with_what_changed(results):
    """In both directions; the last run has the plain links."""
    old = replace(results, environment=of_version(results, "4.2.1"))
    new = replace(results, environment=of_version(results, "4.3.0"))
    flipped = {"beam-direct": Verdict.VIOLATED, "spark-tws": Verdict.HOLDS}
    new.cells = [replace(cell, verdict=flipped.get(cell.engine, cell.verdict)) for cell in results.cells]
    page = html.render([old, new])
    assert "1 guarantee on engines: no longer holds" in page
    assert "1 guarantee on engines: holds now" in page
    assert page.count("<b>was holds</b>") == page.count("<b>was violated</b>") == 1
    head = page.partition('<table class="matrix operators">')[2].partition("</thead>")[0]
    assert [head.count(f"<small>{version}</small>") for version in ("4.2.1", "4.3.0")] == [5, 5]
    links = {*re.findall(r"<a class=[a-z-]+ (?:href=#|id=)(c[0-9a-f]{7}[@1]*) ", page)}
    assert {name for name in links if "@" in name} == {f"{name}@1" for name in links if "@" not in name}


def test_an_engine_that_only_one_run_has_is_named(results):
    fewer = replace(results, cells=[cell for cell in results.cells if cell.engine != "slow"])
    page = html.render([results, fewer])
    assert "Only in (run 1): slow" in page
    assert "Nothing changed." in page


def test_the_kill_matrix_is_the_same_in_both_pages():
    found = SelfTest({"one": frozenset({("s", "g")})}, frozenset({("s", "g")}), ())
    alone = kills.render(found)
    assert "Every mutant is caught" in alone
    assert "<script>" not in alone
    both = html.render([hostile_results()], found)
    assert alone[alone.index("<caption>") : alone.rindex("</table>")] in both


def test_an_engine_is_compared_with_the_latest_run_that_has_it(results):
    """Not with the run before, which may be of another framework."""
    gone = replace(results, cells=[cell for cell in results.cells if cell.engine != "spark-tws"])
    fixed = replace(
        results, cells=[replace(c, verdict=Verdict.HOLDS) if c.engine == "spark-tws" else c for c in results.cells]
    )
    page = html.render([results, gone, fixed])
    assert page.count("<b>was violated</b>") == 1
    assert page.count("1 guarantee on engines: holds now") == 1


def test_a_change_that_does_not_change_the_verdict_is_told_as_one(results):
    results.cells += [replace(results.cells[0], perturbation="split", verdict=Verdict.HOLDS, witness="")]
    cells = [*results.cells[:-1], replace(results.cells[-1], verdict=Verdict.UNKNOWN)]
    page = html.render([results, replace(results, cells=cells)])
    assert "<b>was" not in page
    assert page.count("<b>changed</b>") == 1
    assert "holds → unknown (split)" in page


def test_engines_whose_names_are_nearly_alike_keep_their_evidence_apart(results):
    results.environment["beam_direct"] = replace(results.environment["beam-direct"], shown_as="beam_direct")
    results.cells.append(replace(results.cells[1], engine="beam_direct"))
    page = Page(html.render([results]))
    assert len({*page.ids}) == len(page.ids)
    assert {link[1:] for link in page.links} <= {*page.ids}


def test_the_smallest_witness_is_shown_and_the_others_are_named(results):
    first = results.witnesses[results.cells[0].witness]
    more = Schedule(
        (Advance(0, 1_000), Deliver(1, tuple(Event(f"e{n}", "a", None, 1_000) for n in range(3))), Advance(2, 9_000))
    )
    larger = replace(first, case=replace(first.case, schedule=more))
    results.witnesses[larger.id] = larger
    results.cells.insert(0, replace(results.cells[0], perturbation="split", witness=larger.id))
    page = unpacked(html.render([results]))
    assert "The smallest case seen to fail (as drawn), 1 element in all" in page
    assert f'Another, of 3 elements (split): <code class="copy">conformance replay {larger.id}' in page


def test_a_guarantee_that_only_an_older_run_has_keeps_its_row(results):
    """Scenarios change, too."""
    texts = results.scenarios["s"]
    newer = replace(results, scenarios={"s": replace(texts, guarantees={"h": texts.guarantees["g"]})})
    newer.cells = [replace(cell, guarantee="h") for cell in results.cells]
    page = Page(html.render([results, newer]))
    assert {"row-s-g", "row-s-h"} <= {*page.ids}
    assert {link[1:] for link in page.links} <= {*page.ids}


def test_a_row_that_holds_in_part_has_a_mark_words_and_a_count_of_its_own(results):
    holds = next(cell for cell in results.cells if cell.verdict is Verdict.HOLDS)
    unexercised = replace(holds, perturbation="restart", verdict=Verdict.UNKNOWN, cases=0, reason="not exercised")
    whole = html.render([results])
    results.cells.append(unexercised)
    page = unpacked(html.render([results]))
    assert "◐ holds, in part (1 of 2)" in page
    assert "<a class=in-part href" in page
    assert re.search(r"<td>\d+<td>\s*</tr>", page), "no case under restart"
    assert 'class="v in-part">1 in part' in page, "the count of its engine"
    assert "class=in-part href" not in whole


@pytest.mark.parametrize(("cases", "bar"), [(9, "▂"), (50, "▄"), (100, "█")])
def test_the_strength_of_what_holds_is_seen_at_a_glance(results, cases, bar):
    results.cells = [replace(c, cases=cases) if c.verdict is Verdict.HOLDS else c for c in results.cells]
    page = html.render([results])
    assert re.search(f"<i data-n={cases}[^>]*>{bar}</i>", page)
    assert re.search(f"{bar} (few|some|many) cases: [^<]*, {cases} cases<", unpacked(page))
    assert f"{bar} 1" in markdown.render([results])


def test_the_page_says_per_engine_how_many_seeded_bugs_a_run_would_catch(results):
    engine = results.engines[0]
    power = Power(engine, Asked(5, brief=True), 1, 7, {"a": ("s", "g")}, (EVIL,), ("c",))
    page = unpacked(html.render([results], None, [power, replace(power, engine="another")]))
    told = (
        "a brief run (5 cases of each program on each timeline, seed 0: 7 cases in 1 pack) would catch 1 of 2 "
        "seeded bugs"
    )
    assert page.count(told) == 1
    assert EVIL not in page


def test_a_whole_run_shows_the_power_that_was_measured_for_runs_like_it(results, monkeypatch):
    """For no other: not for some scenarios, and not for a run with other options or to no end."""
    engine = results.engines[0]
    whole = replace(results.run, partial=False, brief=False, seed=7, scenarios=tuple(s.id for s in load_scenarios()))
    power = Power(engine, Asked(whole.wanted, 1), 3, 7, {"a": ("s", "g")}, ("missed",))
    monkeypatch.setattr("conformance.reports.page.sections.known_powers", lambda: (power,))

    def told(run):
        return "would catch 1 of 2 seeded bugs" in unpacked(html.render([replace(results, run=run)]))

    assert told(whole)
    for other in (
        {"scenarios": whole.scenarios[:1]},
        {"partial": True},
        {"brief": True},
        {"wanted": whole.wanted + 1},
        {"seed": None},
    ):
        assert not told(replace(whole, **other))


def test_a_quick_run_shows_the_power_of_quick_runs(results, monkeypatch):
    """Though it leaves out what waits for processing time."""
    scenarios = load_scenarios()
    shown = tuple(s.id for s in scenarios if not by_processing_time(s.programs.values()))
    assert len(shown) < len(scenarios)
    asked = Asked(5, 1, brief=True)
    power = Power(results.engines[0], asked, 3, 7, {"a": ("s", "g")}, ("missed",))
    monkeypatch.setattr("conformance.reports.page.sections.known_powers", lambda: (power,))
    quick = replace(results.run, partial=False, brief=True, seed=7, wanted=5, scenarios=shown)
    for run, told in (quick, True), (replace(quick, scenarios=shown[1:]), False), (replace(quick, brief=False), False):
        assert ("would catch 1 of 2 seeded bugs" in unpacked(html.render([replace(results, run=run)]))) is told
