"""The kit passes adapters that keep the protocol, whatever their engines are like, and names what is wrong with the
others."""

import json
import re
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from broken_toys import BROKEN, QUIRKS, NotHere, PutsOutTheLast
from commands import conformance
from toy_engine import Toy

from conformance.model.engine import CannotRun, Capabilities
from conformance.model.feature import NATIVE, Feature
from conformance.model.lateness import Lateness, LatenessProfile
from conformance.model.steps.kinds import CRASH_POINTS
from conformance.plugins.registry import load_engine
from conformance.results.results import Results
from conformance.testing import AdapterFault, check_engine

TOY = Path(__file__).parent / "toy_engine"
EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "ledger_adapter.py"
"""The adapter of the guide."""

READINGS = [
    (Lateness.NEVER, Lateness.NEVER),
    (Lateness.AT_OR_BEHIND, Lateness.AT_OR_BEHIND),
    (Lateness.BEHIND, Lateness.WINDOW_EXPIRED),
]

ADAPTER_LIKE = {
    "late-at-the-watermark": "a row at the watermark was dropped",
    "late-filter-one-step-late": "a row far behind the watermark was processed",
    "allowed-lateness-ignored": "of a window that ended, within its allowed lateness was dropped",
    "late-filter-misses-a-coalesced-advance": "lateness around a coalesced advance .* came out",
    "drops-not-counted": "0 rows are reported as late",
    "state-shared-across-keys": "key 'b': .* came out, not",
    "state-shared-across-windows": "state in windows",
    "window-boundary-off-by-one": "state in windows",
    "state-lost-after-a-bundle": "came out, not",
    "map-put-keeps-the-first": "map state",
    "set-holds-duplicates": "set state",
    "timers-lost-on-restart": "timers over a restart .* is missing",
    "fired-timers-restored": "timers that have fired, and that have not .* came out, unlike in the reference",
    "state-restored-twice": "over a restart",
    "output-of-a-failed-attempt-kept": "over a retry .* came out, not",
    "failed-bundle-skipped": "over a retry .* is missing",
    "timers-of-a-failed-attempt-kept": "timers over a retry",
    "repartitioned-keys-lose-state": "state in one partition",
    "bundles-swapped": "over bundles",
    "bundle-overtaken-by-the-watermark": "step 1, .* is missing",
    "last-of-a-bundle-dropped": "is missing",
    "first-of-a-bundle-doubled": "came out",
    "equal-elements-collapse": "equal elements .* is missing",
    "times-truncated-to-the-minute": "keys and event times",
    "output-under-another-key": "came out under the key 'a', not 'b'",
    "timers-one-step-early": "in step 1, not in step 2",
    "moving-a-timer-does-nothing": "timers",
    "timer-tags-ignored": "known by its name and tag",
    "timers-tell-the-watermark": "timers of our days",
    "coalesced-advance-settles": "lateness around a coalesced advance",
}
"""Mutants whose bug an adapter could have -> what the kit says of them."""

ENGINE_LIKE = [
    "bag-read-in-reverse",
    "bundle-reversed",
    "bundle-sorted-by-time",
    "drops-counted-twice",
    "due-timers-fire-though-cleared",
    "retry-in-reverse",
    "timers-cleared-by-timers-fire",
    "timers-in-reverse",
    "timers-in-the-order-set",
    "timers-set-by-timers-wait",
    "timers-strictly-after",
    "watermark-lost-on-restart",
]
"""Mutants that do what a real engine may do: guarantees speak of it, the kit does not."""

REORDERING = ["bundle-reversed", "bundle-sorted-by-time"]
"""Those of them that hand out elements of a key in another order, which the adapter's author must say."""


class Watched(Toy):
    """Counts how often it is opened and closed."""

    def __init__(self):
        super().__init__()
        self.calls = []

    def open(self, folder):
        self.calls.append("open")
        super().open(folder)

    def close(self):
        self.calls.append("close")
        super().close()


def test_the_reference_passes():
    """Every feature is asked for."""
    report = check_engine(load_engine("reference"))
    assert set(report.skipped) == {"packs at the same time"}
    assert report.cases > 100


def test_an_engine_of_one_case_a_run_passes():
    engine = load_engine("reference")
    engine.capabilities = replace(engine.capabilities, largest_pack=1)
    assert check_engine(engine).skipped["packed and alone"] == "no pack has two cases"


@pytest.mark.parametrize("reading", READINGS, ids=lambda reading: " ".join(r.name for r in reading))
def test_whatever_late_means(reading):
    check_engine(load_engine("reference").reading(LatenessProfile(*reading)))


def test_the_toy_passes():
    """What it lacks is told apart, with the reason."""
    engine = Watched()
    report = check_engine(engine)
    assert engine.calls[0] == "open"
    assert set(engine.calls[1:]) == {"close"}
    assert report.remarks == ()
    lacks = {
        "a bundle without data",
        "one partition",
        "five partitions",
        "a coalesced advance",
        "processing time",
        "initial state",
        "inspection",
        "typed state",
        "arrays and maps",
        "misfits",
        "typed keys",
        "null keys",
        "output times",
        "a failure of the sink behind a bundle",
        "a failure of the sink behind a bundle, the first",
        "two kills in one bundle",
    }
    kills = {f"a kill when {words}" for words in CRASH_POINTS.values()}
    assert set(report.skipped) == lacks | kills
    assert "keeps its state in one place" in report.skipped["five partitions"]
    for part in (
        "environment",
        "lateness",
        "a restart",
        "packed and alone",
        "one pack twice",
        "2 packs at the same time",
    ):
        assert part in report.checked
    assert "not checked: one partition (a number of partitions to choose: toy 0.1" in str(report)


def test_what_an_engine_lacks_is_not_asked_for():
    """Each feature by itself: the rest is still checked."""
    for lacking in Feature:
        if lacking is Feature.EMISSIONS:
            continue  # every program may ask for it
        features = {f: NATIVE if f is not lacking else Toy.capabilities.features[Feature.PARTITIONS] for f in Feature}
        engine = load_engine("reference")
        engine.capabilities = Capabilities(features, engine.capabilities.lateness)
        if lacking is Feature.LATE_COUNTER:
            with pytest.raises(AdapterFault, match="whose counter of late rows is unsupported"):
                check_engine(engine)
        else:
            assert len(check_engine(engine).checked) >= 8, lacking


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_adapter_is_caught(name):
    """In one line that names the fault."""
    kind, says = BROKEN[name]
    engine = kind()
    try:
        with pytest.raises(AdapterFault, match=says) as caught:
            check_engine(engine)
    finally:
        if hasattr(engine, "ended"):
            engine.ended.set()
    assert str(caught.value).startswith(f"{kind.id}: ")
    assert "\n" not in str(caught.value)
    assert ";" in str(caught.value) or "raised" in str(caught.value)


@pytest.mark.parametrize("name", QUIRKS)
def test_a_quirk_of_an_engine_is_a_remark(name):
    kind, remark = QUIRKS[name]
    report = check_engine(kind())
    assert any(re.search(remark, found) for found in report.remarks), report.remarks


def test_an_engine_may_put_out_less_than_a_call_emits():
    """Where its capabilities say so."""
    report = check_engine(PutsOutTheLast())
    assert report.skipped["every output of a call"] == "one row per key and call, its last emission"
    assert report.remarks == ()


@pytest.mark.parametrize("name", ADAPTER_LIKE)
def test_mutants_that_an_adapter_could_be_are_caught(name):
    with pytest.raises(AdapterFault, match=ADAPTER_LIKE[name]):
        check_engine(load_engine(f"mutant:{name}"))


@pytest.mark.parametrize("name", ENGINE_LIKE)
def test_mutants_that_an_engine_could_be_are_not_accused(name):
    check_engine(load_engine(f"mutant:{name}"), reorders="seeded" if name in REORDERING else "")


@pytest.mark.parametrize("name", REORDERING)
def test_an_adapter_that_reorders_a_bundle_without_a_reason_is_caught(name):
    with pytest.raises(
        AdapterFault, match=r"the elements came out as .*; hand the elements of a bundle over as they are"
    ):
        check_engine(load_engine(f"mutant:{name}"))


def test_an_engine_is_closed_in_any_event():
    class Failing(Watched):
        def run(self, pack, programs):
            raise KeyboardInterrupt

    engine = Failing()
    with pytest.raises(KeyboardInterrupt):
        check_engine(engine)
    assert engine.calls == ["open", "close"]


def test_an_engine_that_is_not_here_is_no_fault():
    with pytest.raises(CannotRun, match="pip install toy"):
        check_engine(NotHere())


def test_the_kit_leaves_no_thread_behind():
    before = threading.active_count()
    check_engine(Toy())
    assert threading.active_count() == before


def test_the_adapter_of_the_guide_passes():
    """The first example of the guide is a whole one."""
    scope = {"__name__": "ledger_adapter"}
    exec(EXAMPLE.read_text(encoding="utf-8"), scope)
    report = check_engine(scope["Ledger"]())
    assert "several bundles" in report.checked
    assert "value state" not in report.skipped
    assert report.skipped["timers"].startswith("event-time timers: ledger 1.0")


def _conformance(*arguments, cwd):
    done = conformance(*arguments, cwd=cwd, path=[TOY])
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_third_partys_engine_is_found_and_run(tmp_path):
    """By its entry point alone; nothing of the harness knows it."""
    engines = json.loads(_conformance("list", "engines", "--json", cwd=tmp_path))
    (listed,) = [engine for engine in engines if engine["id"] == "toy"]
    assert listed["title"] == Toy.title
    assert "toy (a tiny stream processor in memory)" in _conformance("list", "engines", cwd=tmp_path)
    _conformance(
        "run", "--engine", "toy", "--scenario", "per-key-counting", "--quick", "--seed", 1, "--out", "out", cwd=tmp_path
    )
    results = Results.read(tmp_path / "out" / "results.json.gz")
    verdicts = {cell.verdict.value for cell in results.cells if cell.engine == "toy"}
    assert {cell.scenario for cell in results.cells} == {"per-key-counting"}
    assert "holds" in verdicts
    assert verdicts <= {"holds", "unsupported", "unknown"}
