"""The matrix page of a real run in a real browser, from ``file://`` and without a network."""

import json
import re
from dataclasses import replace

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from conformance.judgement.cell import Verdict
from conformance.reports.page import html
from conformance.reports.words import standing

UNFOLDED = "#?open=*"


@pytest.fixture
def page(opened, ran):
    return opened(ran / "matrix.html", UNFOLDED)


@pytest.mark.parametrize(("width", "height"), [(1280, 800), (390, 844)])
def test_the_chooser_comes_first_and_nothing_scrolls_sideways_but_tables(page, results, violated, width, height):
    """Within the first screen: the versions, the five parts and the chooser of a move."""
    page.set_viewport_size({"width": width, "height": height})
    versions = [" ".join(found) for e in results.engines if (found := results.environment[e].framework)]
    expect(page.get_by_text(versions[0], exact=False).first).to_be_in_viewport()
    parts = page.get_by_role("navigation", name="Parts of this page").get_by_role("link")
    assert parts.all_inner_texts() == ["Moving", "Engines", "Scenarios", "Findings", "Evidence"]
    for name in ("I run", "and want to move to"):
        expect(page.get_by_label(name, exact=True)).to_be_in_viewport(ratio=1)
    assert page.evaluate("document.scrollingElement.scrollWidth") <= width
    link(page, violated[0]).evaluate("link => link.click()")
    assert page.evaluate("document.querySelector('section.row.open').scrollWidth") <= width


def test_the_differences_lead_to_evidence(page):
    overview = page.locator("#overview")
    assert 1 <= overview.locator("li:not(.faint)").count() <= 10
    for lead in (overview.locator("li > a").first, overview.locator("li .where a").first):
        lead.click()
        expect(page.locator("section.row.open")).to_be_visible()
        page.keyboard.press("Escape")


def test_by_keyboard_the_first_links_skip_to_what_the_page_has(open_page, ran):
    page = open_page(ran / "matrix.html")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the chooser")).to_be_in_viewport()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="The matrix")).to_be_in_viewport()


def test_a_word_of_the_house_tells_its_meaning_where_it_stands(page):
    word = page.locator("#matrix abbr").first
    word.focus()
    assert word.get_attribute("title")
    assert page.evaluate("getComputedStyle(document.activeElement, '::after').content").strip(
        '"'
    ) == word.get_attribute("title")


@pytest.mark.parametrize("width", [1280, 390])
def test_the_map_can_be_hit_and_fits(page, width):
    page.set_viewport_size({"width": width, "height": 844})
    sizes = page.evaluate(
        "[...document.querySelectorAll('#map td a')].map(a => a.getBoundingClientRect()).map(r => [r.width, r.height])"
    )
    assert all(side >= 24 for size in sizes for side in size)
    assert page.evaluate("document.querySelector('#map').scrollWidth <= document.querySelector('#map').clientWidth")


def test_the_map_says_where_a_scenario_stands_and_leads_into_the_matrix(opened, ran, results):
    """Whose scenarios are folded until then."""
    page = opened(ran / "matrix.html")
    expect(rows(page)).to_have_count(0)
    engine = "beam-direct"

    def is_broken(cells):
        return engine in cells and cells[engine].verdict is Verdict.VIOLATED

    scenario = next(row[0] for row, cells in results.folded().items() if is_broken(cells))
    column = results.environment[engine].shown_as
    name = results.scenarios[scenario].name
    square = page.locator(".map").get_by_label(re.compile(f"^{re.escape(name)} on {re.escape(column)}: .*violated"))
    broken = [row for row, cells in results.folded().items() if row[0] == scenario and is_broken(cells)]
    expect(square).to_contain_text(re.compile(f"^{len(broken)}/"))
    square.click()
    there = [row for row in results.folded() if row[0] == scenario]
    expect(rows(page)).to_have_count(len(there))
    expect(page.locator(f"#scenario-{scenario} tr").nth(1)).to_be_in_viewport()


def test_a_query_finds_what_rests_on_few_cases(page, results):
    def rests_on_fewer(cells, than):
        return any(standing(c) == "holds" and c.least < than for c in cells.values())

    query(page, "strength:<30")
    expect(rows(page)).to_have_count(sum(rests_on_fewer(cells, 30) for cells in results.folded().values()))


def test_a_query_joins_words_and_counts(page, results, violated):
    """As many rows as the results have, and as many cells by verdict; the address keeps the query."""
    engine, _ = violated
    folded = results.folded()

    def stands(cells, name, verdict):
        return name in cells and cells[name].verdict is verdict

    for text, fits in [
        (
            f"{engine}:violated or reference:violated",
            lambda cells: any(stands(cells, e, Verdict.VIOLATED) for e in (engine, "reference")),
        ),
        (f"not {engine}:violated", lambda cells: not stands(cells, engine, Verdict.VIOLATED)),
        (
            f"not ({engine}:violated or any:unknown)",
            lambda cells: (
                not stands(cells, engine, Verdict.VIOLATED)
                and not any(c.verdict is Verdict.UNKNOWN for c in cells.values())
            ),
        ),
    ]:
        query(page, text)
        expect(rows(page)).to_have_count(sum(map(fits, folded.values())))
    query(page, f"{engine}:violated count")
    left = [c for cells in folded.values() if stands(cells, engine, Verdict.VIOLATED) for c in cells.values()]
    number = sum(c.verdict is Verdict.VIOLATED for c in left)
    expect(page.locator("output")).to_contain_text(f"{number} cells violated")
    assert "count" in page.url
    page.evaluate("dispatchEvent(new Event('hashchange'))")
    expect(page.get_by_label("Find")).to_have_value(f"{engine}:violated count")
    expect(page.locator("output")).to_contain_text(f"{number} cells violated")


def rows(page):
    return page.locator("#matrix tbody tr:not(.scenario):visible")


def query(page, text):
    page.get_by_label("Find").fill(text)


def link(page, engine, row=None, word="violated"):
    """The first visible cell of an engine with this verdict."""
    return page.locator(f':is(#matrix, #operators-table) a.v.{word}[data-e="{engine}"]:visible').first


def test_a_query_leaves_the_rows_that_fit(page, results, violated):
    """As many as the results have."""
    engine, _ = violated
    folded = results.folded()
    expect(rows(page)).to_have_count(len(folded))
    for text, fits in [
        (f"{engine}:violated", lambda cells: engine in cells and cells[engine].verdict is Verdict.VIOLATED),
        (
            f"{engine}:violated reference:holds",
            lambda cells: (
                {e: standing(c) for e, c in cells.items()}.items() >= {engine: "violated", "reference": "holds"}.items()
            ),
        ),
        (f"{engine}:!holds", lambda cells: engine in cells and standing(cells[engine]) != "holds"),
        ("any:in-part", lambda cells: any(c.in_part for c in cells.values())),
        ("any:unknown", lambda cells: any(c.verdict is Verdict.UNKNOWN for c in cells.values())),
    ]:
        query(page, text)
        expect(rows(page)).to_have_count(sum(map(fits, folded.values())))
    query(page, "window nonsense")
    expect(rows(page)).to_have_count(0)
    page.get_by_role("button", name="Reset").click()
    expect(rows(page)).to_have_count(len(folded))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("spork:violated", "no engine is called spork"),
        ("any:violatd", "no verdict is called violatd"),
        ("(any:violated", "a bracket is not closed"),
        ("was:holds now:violated", "this page has one"),
        ("finding:999", "no cell here shows finding 999"),
        ("grade:weakish", "no grade is called weakish"),
    ],
)
def test_a_query_that_cannot_be_meant_says_so(page, text, says):
    query(page, text)
    expect(page.locator("output")).to_contain_text(says)


def test_engines_may_be_asked_for_by_family_and_any_by_none(page, results):
    folded = results.folded().values()
    beams = [[c.verdict for e, c in cells.items() if e.startswith("beam")] for cells in folded]
    query(page, "beam:violated")
    expect(rows(page)).to_have_count(sum(Verdict.VIOLATED in found for found in beams))
    query(page, "!holds")
    expect(rows(page)).to_have_count(sum(any(standing(c) != "holds" for c in cells.values()) for cells in folded))
    query(page, '"of a key"')
    texts = [f"{(x := results.scenarios[s]).guarantees[g].claim} {x.name} {x.summary}" for s, g in results.folded()]
    expect(rows(page)).to_have_count(sum("of a key" in text.lower() for text in texts))


def test_differences_only(page, results):
    page.get_by_label("Differences only").check()
    both = {Verdict.HOLDS, Verdict.VIOLATED}
    expect(rows(page)).to_have_count(
        sum(both <= {c.verdict for c in cells.values()} for cells in results.folded().values())
    )


def test_a_perturbation_shows_the_verdicts_under_it(page, results, violated):
    engine, _ = violated
    own = [cell for cell in results.cells if cell.engine == engine and cell.perturbation == "split"]
    page.locator("[name=perturbation]").select_option("split")
    shown = page.locator(f':is(#matrix, #operators-table) a.v[data-e="{engine}"]')
    words = [text.split(" ", 1)[1] for text in shown.all_inner_texts()]
    assert sorted(word for word in words if word != "asked") == sorted(cell.verdict.value for cell in own)
    expect(page.locator("output")).to_contain_text("under split")
    expect(page.locator("#matrix tbody td p").first).to_be_hidden()  # these numbers are of all perturbations


@pytest.mark.parametrize("width", [1280, 390])
def test_the_menu_of_engines_is_on_the_screen_and_goes_away(page, width):
    page.set_viewport_size({"width": width, "height": 800})
    page.locator(".menu summary").click()
    box = page.locator(".menu > div").bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= width
    assert page.evaluate("document.scrollingElement.scrollWidth") <= width
    page.keyboard.press("Escape")
    expect(page.locator(".menu > div")).to_be_hidden()


def test_a_column_can_be_taken_away(page):
    column = page.locator("#matrix thead th[data-column]").last
    name = column.get_attribute("data-column")
    page.locator(".menu summary").click()
    page.get_by_role("checkbox", name=name, exact=True).uncheck()
    expect(column).to_be_hidden()


def test_the_address_holds_the_state(open_page, ran, page, violated):
    """A page that is opened by it shows the same."""
    engine, _ = violated
    query(page, f"{engine}:violated")
    page.get_by_label("Differences only").check()
    count = rows(page).count()
    again = open_page(ran / "matrix.html", "#" + page.url.partition("#")[2])
    expect(rows(again)).to_have_count(count)
    expect(again.get_by_label("Find")).to_have_value(f"{engine}:violated")


def test_a_cell_opens_by_keyboard_and_closes_again(page, violated):
    engine, _ = violated
    cell = link(page, engine)
    cell.focus()
    page.keyboard.press("Enter")
    article = page.locator("article.open")
    expect(article).to_be_visible()
    expect(article).to_be_focused()
    expect(article.get_by_text(f"on {engine}", exact=False).first).to_be_visible()
    expect(article.get_by_role("img").first).to_be_visible()
    expect(article.get_by_text("conformance replay")).to_be_visible()
    assert cell.get_attribute("href") in page.url
    page.keyboard.press("Escape")
    expect(article).to_have_count(0)
    expect(cell).to_be_focused()


def test_back_leads_out_of_a_cell_and_into_it(page, violated):
    cell = link(page, violated[0])
    cell.focus()
    page.keyboard.press("Enter")
    article = page.locator("article.open")
    expect(article).to_be_visible()
    page.go_back()
    expect(article).to_have_count(0)
    expect(cell).to_be_focused()
    page.go_forward()
    expect(article).to_be_visible()
    page.keyboard.press("Escape")
    page.go_back()
    expect(article).to_be_visible()


def test_arrow_keys_move_between_cells(page):
    cells = page.locator("#matrix tbody").first.locator("tr:nth-child(2) a.v")
    cells.first.focus()
    page.keyboard.press("ArrowRight")
    expect(cells.nth(1)).to_be_focused()
    page.keyboard.press("ArrowDown")
    below = page.locator("#matrix tbody").first.locator("tr:nth-child(3) a.v").nth(1)
    expect(below).to_be_focused()


def test_a_cell_opens_by_its_link(open_page, ran, page, violated):
    engine, _ = violated
    anchor = link(page, engine).get_attribute("href")
    linked = open_page(ran / "matrix.html", anchor)
    expect(linked.locator("article.open")).to_be_visible()
    expect(linked.locator("article.open")).to_have_attribute("id", anchor[1:])
    linked.get_by_role("button", name="Close ✕").click()
    expect(linked.locator("article.open")).to_have_count(0)


def test_a_guarantee_of_the_evidence_unfolds_on_demand(page, violated):
    """A cell that was opened and closed leaves it folded."""
    link(page, violated[0]).click()
    panel = page.locator("section.row.open")
    name = panel.get_attribute("id")
    page.keyboard.press("Escape")
    panel = page.locator(f"section[id='{name}']")
    heading = panel.locator("h3").get_by_role("button")
    expect(heading).to_have_attribute("aria-expanded", "false")
    expect(panel.locator("article:visible")).to_have_count(0)
    heading.press("Enter")
    expect(heading).to_have_attribute("aria-expanded", "true")
    expect(panel.locator("article:visible").first).to_be_visible()
    heading.press("Enter")
    heights = page.locator("section.row").evaluate_all("all => all.map(each => each.offsetHeight)")
    assert max(heights) < 100


def test_all_evidence_ends_up_in_the_page(page, results):
    """It is unpacked when the browser is idle, so that the page opens at once."""
    cells = sum(len(cells) for cells in results.folded().values())
    expect(page.locator("section.row :is(article, tr)[id]")).to_have_count(cells, timeout=60_000)
    expect(page.locator("section.row noscript")).to_have_count(0)
    expect(page.locator("#sources pre")).to_have_count(page.locator("#sources details").count())


def test_a_scenario_folds(page):
    first = page.locator("#matrix tbody").first
    button = first.get_by_role("button")
    button.click()
    expect(first.locator("tr:visible")).to_have_count(1)
    expect(button).to_have_attribute("aria-expanded", "false")
    button.press("Enter")
    expect(button).to_have_attribute("aria-expanded", "true")


def test_what_a_query_finds_is_not_hidden_by_folding(page, violated):
    page.get_by_role("button", name="Fold all").click()
    expect(rows(page)).to_have_count(0)
    assert "open=" not in page.url
    query(page, f"{violated[0]}:violated")
    assert rows(page).count() > 0


def test_the_page_is_small_enough_to_send(ran):
    """That of a full run, too (the CI's has every engine)."""
    assert (ran / "matrix.html").stat().st_size < 3_000_000


def test_dark_mode_follows_the_system_and_the_button(page):
    def background():
        return page.evaluate("getComputedStyle(document.body).backgroundColor")

    page.emulate_media(color_scheme="light")
    light = background()
    page.emulate_media(color_scheme="dark")
    dark = background()
    assert light != dark
    page.emulate_media(color_scheme="light")
    button = page.get_by_role("button", name="Theme")
    button.click()
    expect(button).to_have_text("Theme: dark")
    assert background() == dark
    button.click()
    assert background() == light


@pytest.mark.parametrize(("scheme", "cell_open"), [("light", False), ("dark", True)])
def test_nothing_serious_stands_in_anyones_way(opened, part, violated, scheme, cell_open):
    """As axe-core finds it, with a move told, and with a cell open."""
    page = opened(part, "#?open=*&from=spark-fmgws-pandas%403.5.9&to=spark-tws%404.3.0")
    page.emulate_media(color_scheme=scheme)
    expect(page.locator("#move h3")).to_be_visible()
    if cell_open:
        link(page, violated[0]).click()
    expect(page.locator("section.row noscript")).to_have_count(0, timeout=60_000)
    found = Axe().run(page, options={"resultTypes": ["violations"]}).response["violations"]
    serious = [v for v in found if v["impact"] in ("serious", "critical")]
    assert not serious, json.dumps([{v["id"]: [n["html"][:200] for n in v["nodes"][:3]]} for v in serious], indent=1)


def test_the_header_and_the_first_column_stay(page):
    page.set_viewport_size({"width": 600, "height": 500})
    region = page.get_by_role("region", name="The matrix")
    region.evaluate("region => region.scrollTo(400, 1500)")
    header, corner = region.locator("thead th[data-column]").last, region.locator("thead th.corner")
    top = region.bounding_box()
    assert abs(corner.bounding_box()["x"] - top["x"]) < 3
    assert header.bounding_box()["y"] - top["y"] < 60


def test_without_javascript_the_table_and_all_evidence_are_readable(open_page, ran, results):
    """The evidence as text: each cell that says not all itself has it where its link leads, with the command that
    replays its witness."""
    page = open_page(ran / "matrix.html", java_script_enabled=False)
    cells = sum(len(cells) for cells in results.folded().values())
    assert page.locator(":is(#matrix, #operators-table) td > a:visible").count() == cells
    assert page.locator("section.row article[id]:visible, #scenarios td > a[id]:visible").count() == cells
    expect(page.locator("form.controls")).to_be_hidden()
    expect(page.locator("#evidence .warn")).to_be_visible()
    with_witness = sum(bool(c.witness) for cells in results.folded().values() for c in cells.values())
    shown = page.locator("#evidence article:has(:text('conformance replay'))").count()
    assert shown >= with_witness  # a cell that is unknown may show one too


def test_versions_side_by_side_with_what_changed(open_page, results, tmp_path, violated):
    """Changed only: the rows with a cell that changed, in either direction."""
    engine, row = violated
    other = {Verdict.VIOLATED: Verdict.HOLDS, Verdict.HOLDS: Verdict.VIOLATED}
    cells = [
        replace(c, verdict=other.get(c.verdict, c.verdict)) if (c.engine, c.row) == (engine, row) else c
        for c in results.cells
    ]
    path = tmp_path / "two.html"
    path.write_text(html.render([replace(results, cells=cells), results]), encoding="utf-8")
    page = open_page(path)
    there = [e for e in results.engines if not results.environment[e].native_operator]
    expect(page.locator("#matrix thead th[data-column]")).to_have_count(2 * len(there))
    page.get_by_label("Changed only").check()
    expect(rows(page)).to_have_count(1)
    expect(rows(page)).to_contain_text(results.scenarios[row[0]].guarantees[row[1]].claim)
    expect(page.locator("#changes")).to_contain_text(re.compile("no longer holds|holds now"))
    page.locator("#changes a").first.click()
    expect(page.locator("article.open")).to_be_visible()


def test_a_witness_that_runs_share_is_in_the_page_once_and_in_the_evidence_of_each(
    open_page, results, tmp_path, violated
):
    """Without JavaScript the later run's cell leads to it."""
    path = tmp_path / "two.html"
    path.write_text(html.render([results, results]), encoding="utf-8")
    engine, row = violated
    bare = open_page(path, java_script_enabled=False)
    articles = bare.locator(f"section[id='row-{row[0]}-{row[1]}'] article:has(h4:has-text('on {engine},'))")
    expect(articles).to_have_count(2)
    expect(articles.first.get_by_text("conformance replay")).to_be_visible()
    shared = articles.last.get_by_role("link", name=engine).get_attribute("href")
    assert shared == f"#{articles.first.get_attribute('id')}"
    page = open_page(path, f"#{articles.last.get_attribute('id')}")
    expect(page.locator("article.open svg").first).to_be_visible()
    expect(page.locator("article.open").get_by_role("button", name="Copy").first).to_be_visible()


def test_paper_shows_the_table_whole(page, violated):
    """On A3, in light colours, and whatever is open on the screen."""
    page.emulate_media(media="print", color_scheme="dark")
    page.set_viewport_size({"width": 1500, "height": 1000})  # A3 landscape without its margins
    link(page, violated[0]).evaluate("link => link.click()")
    expect(page.locator("form.controls")).to_be_hidden()
    assert page.evaluate("getComputedStyle(document.querySelector('.scroll')).overflow") == "visible"
    assert page.evaluate("document.querySelector('#matrix table').offsetWidth") <= 1500
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.evaluate("getComputedStyle(document.querySelector('section.row.open')).position") == "static"


def test_forced_colours_keep_words_and_frames(open_page, ran):
    page = open_page(ran / "matrix.html", forced_colors="active")
    assert page.evaluate("getComputedStyle(document.querySelector('#matrix a.v')).borderStyle") == "solid"


def test_the_guards_of_these_tests_can_fail(browser, ran, tmp_path):
    """A button without a name is found by axe-core; a script and a picture that are not ours are stopped and seen."""
    text = (ran / "matrix.html").read_text(encoding="utf-8")
    intruder = '<button></button><script>document.title = "taken"</script><img src="http://example.invalid/x.png">'
    path = tmp_path / "broken.html"
    path.write_text(text.replace("<main>", f"<main>{intruder}", 1), encoding="utf-8")
    context = browser.new_context(offline=True)
    page = context.new_page()
    errors = []
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    page.goto(path.as_uri())
    assert page.title() != "taken"
    assert sum("Content Security Policy" in error for error in errors) == 2
    found = Axe().run(page, options={"resultTypes": ["violations"]}).response["violations"]
    assert "button-name" in {v["id"] for v in found if v["impact"] in ("serious", "critical")}
    context.close()


def test_a_claim_leads_to_the_cells_that_decide_it(page):
    """And to the guarantee that it is asked as; contradicted claims come first, the others under their own words."""
    section = page.locator("#claims")
    expect(section.locator("tbody th[scope=rowgroup]").first).to_contain_text("contradicted")
    line = section.locator("#claim-beam-default-trigger-once")
    if not line.count():
        pytest.skip("the run left out the transform that the claim is about")
    expect(line).to_contain_text("emits exactly once")
    line.get_by_role("link", name="beam-native:windows").click()
    expect(page.locator("section.row.open .open")).to_contain_text("beam-native:windows")
    page.keyboard.press("Escape")
    line.get_by_role("link", name="a window comes out once").click()
    expect(page.get_by_role("heading", name="windowed counting: a window comes out once")).to_be_visible()


def test_claims_that_were_not_asked_are_listed_apart(open_page, part):
    apart = open_page(part).locator("#claims details")
    expect(apart.locator("summary")).to_contain_text("not asked in this run")
    expect(apart.locator("li").first).to_be_hidden()
    apart.locator("summary").click()
    expect(apart.locator("li").first).to_be_visible()
