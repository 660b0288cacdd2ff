"""The catalogue of claims, and what results say of them."""

from pathlib import Path

import pytest

from conformance.judgement.cell import MatrixCell, Verdict
from conformance.model.case import Case
from conformance.model.schedule import Advance, Schedule
from conformance.model.trace import Trace
from conformance.model.values import digest
from conformance.plugins.registry import engine_ids, load_engine, load_scenarios, variant_ids
from conformance.reports.findings import known_findings
from conformance.reports.text.claims import claim_lines, claims_lines, shown_by
from conformance.results import catalogue, claims
from conformance.results.baseline import Baseline
from conformance.results.catalogue import UnusableClaims
from conformance.results.claims import Answer, Probed
from conformance.results.record import EngineRecord, GuaranteeRecord, RunRecord, ScenarioRecord
from conformance.results.results import Results
from conformance.results.witness import Witness

PROBES = Path(__file__).parents[3] / "docs" / "claims"

HEAD = """
[engines]
both = ["spark-tws", "spark-native:count"]
[documents.guide]
title = "A guide"
framework = "spark"
[[claim]]
id = "one"
quote = "it holds"
document = "guide"
"""


def results(*cells, versions=None):
    """Of cells (engine, guarantee, verdict) or (…, perturbation), each of three cases."""
    found = [
        MatrixCell(
            "s",
            "p",
            guarantee,
            under[0] if under else "as drawn",
            engine,
            verdict,
            "",
            cases=0 if verdict in (Verdict.UNSUPPORTED, Verdict.ERROR) else 3,
            violations=int(verdict is Verdict.VIOLATED),
            witness="abc" if verdict is Verdict.VIOLATED else "",
        )
        for engine, guarantee, verdict, *under in cells
    ]
    record = EngineRecord(versions=versions or {"spark": "4.3.0"})
    texts = {"g": GuaranteeRecord("g", source="Beam guide", quote="as it says")}
    environment = {c.engine: record for c in found}
    return Results(RunRecord(), environment, {"s": ScenarioRecord("s", guarantees=texts)}, found)


def decided(how, *cells, probed=None, **more):
    (claim,) = catalogue.read(HEAD + how)
    (decision,) = claims.decide([claim], results(*cells, **more), probed or {})
    return decision


def unknown(found, scenarios):
    """The guarantees that claims name and no scenario has, as SCENARIO/GUARANTEE."""
    there = {(scenario.id, guarantee.id) for scenario in scenarios for guarantee in scenario.guarantees}
    return sorted("/".join(row) for row in {condition.row for claim in found for condition in claim.conditions} - there)


def answers(decision):
    return {found.engine: found.answer for found in decision.engines}


H, V, N, U, E = Verdict.HOLDS, Verdict.VIOLATED, Verdict.UNSUPPORTED, Verdict.UNKNOWN, Verdict.ERROR
BY_BOTH = 'engines = ["both"]\ndecided_by = ["s/g", "s/h"]'


def test_claims_are_a_screen_unless_their_evidence_is_asked_for():
    found = [decided(BY_BOTH, ("spark-tws", "g", verdict)) for verdict in (V, H, H, H, H, H)]
    first, *rest, last = claims_lines(found)
    assert first == "✗ contradicted: “it holds” (one)"
    assert rest[-1] == "  and 2 more confirmed: -v"
    assert len(rest) == 4
    assert last == "1 contradicted, 5 confirmed"
    everything = [*claims_lines(found, everything=True)]
    assert everything == [line for decision in found for line in claim_lines(decision)] + [last]


def test_the_catalogue_has_claims_of_both_frameworks_and_every_way_to_decide_them():
    found = catalogue.catalogue()
    assert len(found) >= 60
    assert {claim.document.framework for claim in found} == {"spark", "beam"}
    for way in catalogue.WAYS:
        assert any(getattr(claim, way) for claim in found)


def test_quotes_are_short_and_official_documents_have_an_address_and_a_version():
    for claim in catalogue.catalogue():
        assert len(claim.quote.split()) < 40, claim.id
        if claim.document.official:
            assert claim.document.url.startswith("https://"), claim.id
            assert claim.document.version, claim.id


def test_claims_name_guarantees_and_engines_that_there_are():
    there = {*engine_ids(), *variant_ids(), *(name.partition(":")[0] for name in engine_ids())}
    assert unknown(catalogue.catalogue(), load_scenarios()) == []
    for claim in catalogue.catalogue():
        assert set(claim.engines) <= there, claim.id


def test_claims_ask_every_scenario_that_was_measured():
    """So that the quotes of its guarantees are judged as the catalogue says. A scenario that was not measured yet needs
    no claim."""
    asked = {condition.scenario for claim in catalogue.catalogue() for condition in claim.conditions}
    measured = {scenario for _, scenario, _, _ in Baseline.read(PROBES.parent / "measured.jsonl").cells}
    assert measured
    assert measured & {scenario.id for scenario in load_scenarios()} <= asked


def test_what_contradicts_a_claim_is_a_finding_with_a_script():
    """Of recorded probes at least; a run says for itself what it contradicts, and names the finding where there is
    one."""
    record = claims.probed()
    for claim in catalogue.catalogue():
        contradicted = claim.probe and record[claim.id].answer is Answer.CONTRADICTED
        assert claim.finding or not contradicted, claim.id
        assert not claim.finding or known_findings()[int(claim.finding)].scripts, claim.id


def test_a_claim_that_a_query_is_refused_is_decided_by_the_engines_own_answer():
    (claim,) = catalogue.read(HEAD + 'engines = ["x", "y", "z"]\nrefused = ["one", "two"]')
    said = {"x": {"one": "refused: A", "two": "refused: B"}, "y": {"one": "accepted", "two": "refused: B"}, "z": {}}
    run = results(*((engine, "g", U) for engine in said))
    run.environment.update({engine: EngineRecord(answers=answered) for engine, answered in said.items()})
    (decision,) = claims.decide([claim], run, {})
    assert answers(decision) == {"x": Answer.CONFIRMED, "y": Answer.CONTRADICTED, "z": Answer.NOT_ASKED}
    assert [found.answers for found in decision.engines] == [
        ("one: refused: A", "two: refused: B"),
        ("one: accepted",),
        (),
    ]
    assert "    contradicted on y: one: accepted" in list(claim_lines(decision))


def test_a_claim_about_refusals_names_queries_that_its_engines_are_asked():
    for claim in catalogue.catalogue():
        for name in claim.engines if claim.refused else ():
            assert set(claim.refused) <= set(load_engine(name).questions), claim.id


def test_a_guarantee_that_nobody_has_is_named():
    found = catalogue.read(HEAD + BY_BOTH)
    assert unknown(found, []) == ["s/g", "s/h"]


def test_every_probe_was_run_as_it_is():
    """What is recorded was seen by these very scripts."""
    record = claims.probed()
    asked = {claim.id: claim.probe for claim in catalogue.catalogue() if claim.probe}
    assert set(record) == set(asked)
    shared = (PROBES / "saying.py").read_text(encoding="utf-8")
    for name, probe in asked.items():
        assert record[name].script == digest([(PROBES / f"{probe}.py").read_text(encoding="utf-8"), shared]), probe
        assert record[name].answer in (Answer.CONFIRMED, Answer.CONTRADICTED)


@pytest.mark.parametrize(
    ("cells", "answer"),
    [
        ([("spark-tws", "g", H), ("spark-tws", "h", H)], Answer.CONFIRMED),
        ([("spark-tws", "g", H)], Answer.CONFIRMED),
        ([("spark-tws", "g", H), ("spark-tws", "h", V)], Answer.CONTRADICTED),
        ([("spark-tws", "g", H), ("spark-native:count", "g", V)], Answer.CONTRADICTED),
        ([("spark-tws", "g", H), ("spark-native:count", "g", U)], Answer.CONFIRMED),
        ([("spark-tws", "g", H), ("spark-tws", "h", U)], Answer.UNDECIDED),
        ([("spark-tws", "g", E)], Answer.UNDECIDED),
        ([("spark-tws", "g", H), ("spark-tws", "h", N)], Answer.CONFIRMED),
        ([("spark-tws", "g", N)], Answer.NOT_DECIDABLE),
        ([("spark-tws", "other", V)], Answer.NOT_ASKED),
        ([("spark-native:window", "g", V), ("spark-tws-tester", "g", V)], Answer.NOT_ASKED),
    ],
)
def test_a_claim_is_contradicted_by_what_it_speaks_of_alone(cells, answer):
    assert decided(BY_BOTH, *cells).answer is answer


def test_the_cells_that_decide_are_named():
    decision = decided(BY_BOTH, ("spark-tws", "g", H), ("spark-tws", "h", V), ("spark-native:count", "h", H))
    assert answers(decision) == {"spark-tws": Answer.CONTRADICTED, "spark-native:count": Answer.CONFIRMED}
    (against,) = decision.by_answer[Answer.CONTRADICTED]
    assert [(cell.guarantee, cell.witness) for cell in against.because] == [("h", "abc")]
    text = "\n".join(claim_lines(decision))
    assert "contradicted on spark-tws: s/h violated in 3 cases, conformance replay abc" in text


def test_a_claim_speaks_of_variants_and_releases_of_its_engines():
    (claim,) = catalogue.read(HEAD + BY_BOTH)
    assert all(map(claim.speaks_of, ["spark-tws", "spark-tws:other", "spark-tws@4.1.4", "spark-native:count"]))
    assert not any(map(claim.speaks_of, ["spark-tws-pandas", "spark-native:window", "reference"]))


def test_where_a_claim_says_the_opposite_it_is_the_holding_that_contradicts():
    opposite = 'engines = ["both"]\ndecided_by = ["not s/g"]'
    assert decided(opposite, ("spark-tws", "g", H)).answer is Answer.CONTRADICTED
    assert decided(opposite, ("spark-tws", "g", V)).answer is Answer.CONFIRMED
    assert decided(opposite, ("spark-tws", "g", U)).answer is Answer.UNDECIDED


def test_what_may_happen_is_shown_by_a_violation_and_contradicted_by_nothing():
    may = 'engines = ["both"]\nshown_by = ["s/g"]'
    assert decided(may, ("spark-tws", "g", H)).answer is Answer.UNDECIDED
    assert decided(may, ("spark-tws", "g", H), ("spark-native:count", "g", V)).answer is Answer.CONFIRMED


def test_a_claim_may_be_of_one_perturbation():
    under = 'engines = ["both"]\ndecided_by = ["s/g@retry"]'
    cells = [("spark-tws", "g", V, "restart"), ("spark-tws", "g", H, "retry")]
    assert decided(under, *cells).answer is Answer.CONFIRMED
    assert decided(under, cells[0]).answer is Answer.NOT_ASKED


def test_a_probe_counts_for_the_version_that_it_ran_on():
    probe, cells = 'probe = "script"', [("spark-tws", "g", H)]
    seen = {"one": Probed(Answer.CONTRADICTED, "it does not", "digest", {"spark": "4.3.0", "python": "3.11.7"})}
    decision = decided(probe, *cells, probed=seen)
    assert (decision.answer, decision.reason) == (Answer.CONTRADICTED, "it does not")
    other = decided(probe, *cells, probed=seen, versions={"spark": "4.1.4"})
    assert other.answer is Answer.NOT_ASKED
    assert "4.3.0 (contradicted)" in other.reason
    assert decided(probe, *cells).answer is Answer.NOT_ASKED


@pytest.mark.parametrize(("engine", "shown"), [("spark-tws@4.3.0", True), ("spark-tws", True), ("beam-direct", False)])
def test_what_contradicts_by_holding_has_the_witness_against_its_opposite(engine, shown):
    (claim,) = catalogue.read(HEAD + 'engines = ["both"]\ndecided_by = ["not s/g"]')
    found = results((engine.replace("beam-direct", "spark-tws"), "g", H))
    case = Case("s", "p", Schedule((Advance(0, 1), Advance(1, 2))))
    found.witnesses["abc"] = Witness("not-g", "", case, None, engine, {}, "", Trace(()), Trace(()))
    (decision,) = claims.decide([claim], found, {})
    assert decision.answer is Answer.CONTRADICTED
    command = "conformance replay abc"
    assert (command in "\n".join(claim_lines(decision))) is shown
    assert shown_by(decision.engines[0]) == (command if shown else "")


def test_the_guarantees_whose_opposite_is_claimed_have_one():
    """A predicate decides them."""
    scenarios = {scenario.id: scenario for scenario in load_scenarios()}
    rows = {row for engine in [*engine_ids(), *variant_ids()] for row in catalogue.opposed(engine)}
    assert rows
    for scenario, guarantee in rows:
        assert f"not-{guarantee}" in scenarios[scenario].askable


def test_what_is_not_decidable_says_why():
    decision = decided('not_decidable = "memory is in no output"', ("spark-tws", "g", V))
    assert (decision.answer, decision.reason) == (Answer.NOT_DECIDABLE, "memory is in no output")


def test_the_quotes_of_users_own_scenarios_are_claims_too():
    found = results(("beam-direct", "g", V), ("spark-tws", "g", V), ("reference", "g", H))
    (claim,) = claims.quoted(found, ())
    assert (claim.quote, claim.engines) == ("as it says", ("beam-direct",))
    assert claims.quoted(found, catalogue.read(HEAD + BY_BOTH)) == []


@pytest.mark.parametrize(
    ("how", "wrong"),
    [
        ("", "exactly one of"),
        ('probe = "a"\nnot_decidable = "b"', "exactly one of"),
        ('decided_by = ["s/g"]', "names the engines"),
        ('engines = ["both"]\nprobe = "a"', "names the engines"),
        ('engines = ["both"]\ndecided_by = ["g"]', "SCENARIO/GUARANTEE"),
        ('probe = ""', "probe is missing, empty"),
        ('probe = "a"\nclaims = 1', "unknown key 'claims'"),
        ('probe = "a"\nnote = 3', "note is missing, empty"),
        ('probe = "a"\n[[claim]]\nid = "one"\nquote = "q"\ndocument = "guide"\nprobe = "a"', "two claims 'one'"),
        ('probe = "a"\n[[claim]]\nid = "two"\nquote = "q"\ndocument = "book"\nprobe = "a"', "unknown document 'book'"),
        ("probe =", "not TOML"),
    ],
)
def test_a_catalogue_that_cannot_be_used_is_refused(how, wrong):
    with pytest.raises(UnusableClaims, match=wrong):
        catalogue.read(HEAD + how)
