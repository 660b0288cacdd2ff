"""What a run owes a witness, by what is known of it and by the kind of run: each row of the table."""

from dataclasses import replace
from itertools import product

import pytest

from conformance.confirmation.owed import OWED, Kind, Known, Mode, concerns, confirmed_here, owed_to_new, owed_to_stored
from conformance.model.case import Case
from conformance.model.engine import EngineInfo
from conformance.model.schedule import Advance, Deliver, Event, Schedule
from conformance.model.trace import Trace
from conformance.plugins.registry import load_engine
from conformance.results.witness import Confirmation, Witness

CASE = Case(
    "late-data",
    "global",
    Schedule((Advance(0, 1_000), Deliver(1, (Event("e1", "a", None, 2_000),)), Advance(2, 9_000))),
)
VERSIONS = {"fake": "1", "fake.setting": "on", "python": "3.11"}
INFO = EngineInfo("fake", "", load_engine("reference").capabilities, environment=VERSIONS)
HERE = Confirmation("fake", VERSIONS, "", 3, 3)


def witness(*confirmations, guarantee="one"):
    return Witness(
        guarantee, "", CASE, None, "fake", VERSIONS, "", Trace(()), Trace(()), confirmations=tuple(confirmations)
    )


def test_the_table_has_each_row():
    assert OWED.keys() == set(product(Known, Mode))


def runs(owed):
    return owed.packed, owed.alone, owed.passes


@pytest.mark.parametrize(
    ("confirmations", "full", "brief"),
    [
        ((HERE,), (True, 0, 3), (True, 0, 3)),
        ((replace(HERE, versions=VERSIONS | {"python": "3.13"}),), (True, 0, 3), (True, 0, 3)),
        ((), (False, 3, 1), (True, 1, 1)),
        ((replace(HERE, versions={"fake": "2"}),), (False, 3, 1), (True, 1, 1)),
        ((replace(HERE, failed=1),), (False, 3, 9), (True, 1, 9)),
        ((replace(HERE, engine="other", failed=2),), (False, 3, 5), (True, 1, 5)),
    ],
)
def test_what_is_known_of_a_stored_witness_decides_what_it_is_owed(confirmations, full, brief):
    """In a pack or not, how many runs alone once it failed, how many passes refute it."""
    for mode, wanted in ((Mode.FULL, full), (Mode.BRIEF, brief)):
        (found,) = owed_to_stored([witness(*confirmations)], INFO, mode).values()
        assert runs(found) == wanted
        assert found.trusted is (mode is not Mode.FULL and found.alone == 1)
        assert found.stands is (mode is Mode.BRIEF and found.alone == 0)
        assert (found.reduced, found.tightened, found.beside) == (False, False, False)


@pytest.mark.parametrize(
    ("mode", "wanted"),
    [
        (
            Mode.FULL,
            {Known.NEW: (3, 3, True, True), Known.FURTHER: (1, 3, True, True), Known.ENDED: (1, 3, False, True)},
        ),
        (
            Mode.BRIEF,
            {Known.NEW: (1, 1, True, False), Known.FURTHER: (1, 1, False, False), Known.ENDED: (1, 1, False, False)},
        ),
    ],
)
def test_what_is_new_is_owed_most_for_the_first_of_its_guarantee(mode, wanted):
    """Runs alone if it fails, and if it does not, whether it is reduced, and whether its neighbours are looked for."""
    kinds = [Kind(("s", g, under)) for g in "abcdef" for under in ("restart", "shift")]
    ended = {kind: replace(CASE, program=kind[1]) for kind in kinds if kind[2] == "restart"}
    known = {
        kind: Known.FURTHER if kind[2] == "shift" else Known.ENDED if kind[1] in "ef" else Known.NEW for kind in kinds
    }
    for kind, owed in owed_to_new(kinds, ended, mode).items():
        assert (owed.alone, owed.passes, owed.reduced, owed.beside) == wanted[known[kind]]
        assert (owed.packed, owed.trusted, owed.stands) == (False, False, False)


@pytest.mark.parametrize("mode", Mode)
def test_what_a_stored_witness_shows_under_one_change_is_further_under_another(mode):
    kinds = [Kind(("s", name, "restart")) for name in ("known", "new")]
    owed = owed_to_new(kinds, {}, mode, [Kind(("s", "known", "shift"))])
    assert list(owed.values()) == [OWED[Known.FURTHER, mode], OWED[Known.NEW, mode]]


def test_a_witness_is_confirmed_here_where_all_its_runs_failed():
    """On one engine, in one version and configuration, with one adapter, whatever the Python."""
    assert confirmed_here(witness(HERE), INFO)
    for changed in ({"python": "3.13"},):
        assert confirmed_here(witness(HERE), replace(INFO, environment=VERSIONS | changed))
    for changed in ({"fake": "2"}, {"fake.setting": "off"}):
        assert not confirmed_here(witness(HERE), replace(INFO, environment=VERSIONS | changed))
    assert not confirmed_here(witness(HERE), replace(INFO, adapter="another"))
    assert not confirmed_here(witness(HERE), replace(INFO, id="other"))
    assert not confirmed_here(witness(replace(HERE, failed=2)), INFO)


def test_a_witness_of_a_named_release_says_nothing_new_of_the_installed_one():
    of_a_release = replace(witness(HERE), engine="fake@1")
    newer = replace(INFO, environment={"fake": "2"})
    assert not concerns(of_a_release, newer)
    assert concerns(of_a_release, INFO)  # the release is the one that is installed
    assert concerns(of_a_release, replace(newer, id="fake@2"))
    assert concerns(witness(), newer)
    assert not concerns(witness(), replace(INFO, id="other"))


def test_after_a_change_of_the_adapter_one_witness_runs_alone_again():
    """The others have failed alone on this engine, version and configuration: one more failure in a pack is enough for
    them."""
    stored = [witness(HERE, guarantee=name) for name in ("one", "two", "three")]

    def in_packs(info):
        return [owed.packed for owed in owed_to_stored(stored, info, Mode.FULL).values()]

    assert in_packs(INFO) == [True, True, True]
    assert in_packs(replace(INFO, adapter="another")) == [False, True, True]
    assert in_packs(replace(INFO, environment={"fake": "2"}, adapter="another")) == [False, False, False]
