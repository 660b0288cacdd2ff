"""What a run on an engine would catch: the mutants on its own cases, packs and capabilities."""

from dataclasses import replace

import pytest
from click.testing import CliRunner
from drawn import suite_of
from test_some_scenarios import MAXIMUM

from conformance.cli.commands import selftest
from conformance.cli.commands.run import QUICK
from conformance.cli.commands.upgrade import UPGRADE
from conformance.cli.main import main
from conformance.plugins.registry import load_engine, load_scenarios
from conformance.selftest.measured import powers_of
from conformance.selftest.power import Asked, Power, UnreadablePower, read_powers, with_others, write_powers

VALUE_STATE = load_scenarios(["value-state"])


def power_of(engine, scenarios, mutants, asked):
    [power] = powers_of([engine], scenarios, mutants, asked)
    return power


@pytest.mark.parametrize(
    ("mutant", "where"),
    [
        ("clear-does-nothing", "caught"),
        ("ttl-ignored", "not_visible"),  # no program of the scenario has a TTL
        ("initial-state-ignored", "not_visible"),
    ],
)
def test_a_seeded_bug_is_caught_missed_or_not_visible(mutant, where):
    power = power_of("reference", VALUE_STATE, [mutant], Asked(1))
    assert [name for name in ("caught", "missed", "not_visible") if mutant in getattr(power, name)] == [where]


def test_what_an_engine_cannot_express_is_not_visible_to_it():
    """beam-fnapi has one bundle and no restart: what a restart loses it could not show."""
    lost = ["state-lost-on-restart"]
    assert power_of("reference", VALUE_STATE, lost, Asked(1)).caught
    assert power_of("beam-fnapi", VALUE_STATE, lost, Asked(1)).not_visible == tuple(lost)


def test_a_mutant_answers_the_very_cases_that_the_engine_is_given():
    power = power_of("spark-tws", VALUE_STATE, ["clear-does-nothing"], Asked(1, 3))
    suite = suite_of(VALUE_STATE, 1, 3, load_engine("spark-tws").capabilities, every=False).cases
    assert power.cases == len(suite)
    assert 0 < power.packs < power.cases
    assert power_of("beam-fnapi", VALUE_STATE, ["clear-does-nothing"], Asked(1, 3)).packs < power.packs


def test_what_a_reading_of_late_breaks_catches_no_bug():
    """beam-direct drops nothing as late. That breaks guarantees of late data, which says nothing of timers."""
    power = power_of("beam-direct", load_scenarios(["late-data"]), ["timers-in-reverse"], Asked(1, 1))
    assert (power.caught, power.missed) == ({}, ("timers-in-reverse",))


def test_several_engines_are_measured_as_each_is_alone():
    mutants, names = ["clear-does-nothing", "state-lost-on-restart", "ttl-ignored"], ["reference", "beam-fnapi"]
    several = powers_of(names, VALUE_STATE, mutants, Asked(1))
    assert several == [power_of(name, VALUE_STATE, mutants, Asked(1)) for name in names]


def test_a_bug_that_no_guarantee_minds_is_missed():
    """In another order the maximum does not fall either."""
    [power] = powers_of(["reference"], [MAXIMUM], ["bundle-reversed"], Asked(1))
    assert power.missed == ("bundle-reversed",)


def test_the_power_of_a_run_survives_its_file(tmp_path):
    power = Power("e", Asked(5, brief=True), 1, 7, {"a": ("s", "g")}, ("b",), ("c",))
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
    before = [Power("a", asked, packs=1), Power("b", asked, packs=1), Power("c", other), Power("d", asked)]
    now = [Power("e", asked), Power("b", asked, packs=2)]
    assert with_others(now, before) == [
        Power("a", asked, packs=1),
        Power("b", asked, packs=2),
        Power("d", asked),
        Power("e", asked),
    ]
    assert with_others([Power("b", other)], before) == [Power("b", other), Power("c", other)]


@pytest.mark.parametrize(
    ("kind", "asked"),
    [("--quick", Asked(QUICK, 1, brief=True)), ("--upgrade", Asked(UPGRADE, 1, brief=True))],
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
