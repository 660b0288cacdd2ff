"""What a run on an engine would catch: the mutants on its own cases, packs and capabilities."""

from dataclasses import replace

import pytest
from click.testing import CliRunner

from conformance.cli import selftest
from conformance.cli.main import main
from conformance.execution.kept import Kept
from conformance.plugins.registry import load_scenarios
from conformance.selftest.power import Asked, Power, UnreadablePower, powers_of, read_powers, with_others, write_powers

VALUE_STATE = load_scenarios(["value-state"])


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """Cases are drawn once."""
    return Kept(tmp_path_factory.mktemp("kept"))


@pytest.fixture
def power_of(kept):
    def power_of(engine, scenarios, mutants, asked):
        [power] = powers_of([engine], scenarios, mutants, asked, kept=kept)
        return power

    return power_of


@pytest.mark.parametrize(
    ("mutant", "where"),
    [
        ("clear-does-nothing", "caught"),
        ("ttl-ignored", "not_visible"),  # no program of the scenario has a TTL
        ("initial-state-ignored", "not_visible"),
    ],
)
def test_a_seeded_bug_is_caught_missed_or_not_visible(power_of, mutant, where):
    power = power_of("reference", VALUE_STATE, [mutant], Asked(5))
    assert [name for name in ("caught", "missed", "not_visible") if mutant in getattr(power, name)] == [where]


def test_what_an_engine_cannot_express_is_not_visible_to_it(power_of):
    """beam-fnapi has one bundle and no restart: what a restart loses it could not show."""
    lost = ["state-lost-on-restart"]
    assert power_of("reference", VALUE_STATE, lost, Asked(5)).caught
    assert power_of("beam-fnapi", VALUE_STATE, lost, Asked(5)).not_visible == tuple(lost)


def test_a_bug_that_the_chosen_packs_do_not_show_is_missed(power_of):
    """A share of the packs has no restart of this scenario."""
    few = power_of("spark-tws", VALUE_STATE, ["state-lost-on-restart"], Asked(5, share=0.03))
    assert (few.missed, few.run < few.drawn) == (("state-lost-on-restart",), True)
    assert power_of("spark-tws", VALUE_STATE, ["state-lost-on-restart"], Asked(5, all_packs=True)).caught


def test_what_one_engine_shows_is_asked_first_of_the_next_and_changes_no_answer(kept, power_of):
    mutants = ["clear-does-nothing", "state-lost-on-restart", "ttl-ignored"]
    several = powers_of(["reference", "beam-fnapi"], VALUE_STATE, mutants, Asked(5), kept=kept)
    assert several == [power_of(name, VALUE_STATE, mutants, Asked(5)) for name in ("reference", "beam-fnapi")]


def test_what_is_likely_changes_no_answer(kept, power_of):
    """Neither a guarantee that is broken, nor one that there is none of."""
    mutants = ["clear-does-nothing", "ttl-ignored"]
    plain = power_of("beam-fnapi", VALUE_STATE, mutants, Asked(5))
    likely = {mutants[0]: plain.caught[mutants[0]], mutants[1]: ("no", "row")}
    assert powers_of(["beam-fnapi"], VALUE_STATE, mutants, Asked(5), kept=kept, likely=likely) == [plain]


def test_the_power_of_a_run_survives_its_file(tmp_path):
    power = Power("e", Asked(5, share=0.1, brief=True), 1, 7, {"a": ("s", "g")}, ("b",), ("c",))
    write_powers(tmp_path / "p.json", [power, replace(power, engine="f")])
    assert read_powers(tmp_path / "p.json") == [power, replace(power, engine="f")]
    (tmp_path / "p.json").write_text("{}")
    with pytest.raises(UnreadablePower):
        read_powers(tmp_path / "p.json")
    write_powers(tmp_path / "p.json", [replace(power, asked=None)])
    with pytest.raises(UnreadablePower):
        read_powers(tmp_path / "p.json")


def test_a_file_keeps_the_engines_that_were_not_measured_anew():
    """Those that were asked alike, in their places."""
    asked, other = Asked(100, seed=1), Asked(100, seed=2)
    before = [Power("a", asked, run=1), Power("b", asked, run=1), Power("c", other), Power("d", asked)]
    now = [Power("e", asked), Power("b", asked, run=2)]
    assert with_others(now, before) == [
        Power("a", asked, run=1),
        Power("b", asked, run=2),
        Power("d", asked),
        Power("e", asked),
    ]
    assert with_others([Power("b", other)], before) == [Power("b", other), Power("c", other)]


@pytest.mark.parametrize(
    ("kind", "asked"),
    [("--quick", Asked(5, share=0.1, brief=True)), ("--upgrade", Asked(15, share=0.25, brief=True))],
)
def test_the_command_says_what_would_be_missed(tmp_path, monkeypatch, kind, asked):
    monkeypatch.setattr(selftest, "mutant_ids", lambda: ["clear-does-nothing", "output-twice", "ttl-ignored"])
    out = tmp_path / "p.json"
    options = ["selftest", "--as", "beam-fnapi", kind, "--scenario", "value-state", "--json", str(out)]
    said = CliRunner().invoke(main, options)
    assert said.exit_code == 0, said.output
    [power] = read_powers(out)
    assert power.asked == asked
    assert f"would catch {len(power.caught)} of {power.visible} seeded bugs" in said.output.replace("\n", " ")
    assert CliRunner().invoke(main, ["selftest", kind]).exit_code == 2


def test_a_run_is_quick_or_of_an_upgrade():
    said = CliRunner().invoke(main, ["selftest", "--as", "beam-fnapi", "--quick", "--upgrade"])
    assert said.exit_code == 2
    assert "give one of them" in said.output
