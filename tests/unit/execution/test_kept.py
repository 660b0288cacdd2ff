"""Kept traces: what answers in an engine's place, and what never does."""

import importlib.util
import json
import linecache
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from drawn import suite_of
from inprocess import InProcess

from conformance.execution.ask import Ask
from conformance.execution.host import EngineDown
from conformance.execution.kept import Kept
from conformance.execution.packing import packs_of
from conformance.execution.process import ANSWERS, Process, shelf_of
from conformance.model.engine import CannotRun
from conformance.model.plan import PlanTwin
from conformance.model.runs import Pack, PackRun
from conformance.model.scenario import programs_of
from conformance.model.trace import Emission, Trace
from conformance.plugins.adapter import _parsed
from conformance.plugins.registry import load_engine, load_scenarios
from conformance.plugins.source import Untold, program_digest

PROGRAM = """
from conformance.model import Cell, Program

GAP = 10
SINCE = {"a": (1, 2)}

def longer(ms):
    "Says nothing of what it does."
    return ms + GAP

class Timeout(Program):
    cells = {"last": Cell.VALUE}

    def on_event(self, event, state, timers, emit):
        state.last.set(longer(event.event_time))
        emit([state.last.get(), SINCE["a"]])

def predicate(run):
    yield 1
"""


def module(tmp_path, text):
    path = tmp_path / f"own_{abs(hash(text))}.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location("own_scenario", path)
    found = importlib.util.module_from_spec(spec)
    sys.modules["own_scenario"] = found
    spec.loader.exec_module(found)
    return found


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        ("GAP = 10", "GAP = 11", False),
        ("ms + GAP", "ms - GAP", False),
        ("(1, 2)", "(1, 3)", False),
        ("Cell.VALUE", "Cell.BAG", False),
        ("emit([", "emit([0, ", False),
        ("yield 1", "yield 2", True),
        ("GAP = 10", "# the gap\nGAP = 10", True),
        ("def predicate", "OTHER = 1\n\ndef predicate", True),
    ],
)
def test_the_digest_of_a_program_covers_what_it_does_and_no_more(tmp_path, old, new, same):
    before = program_digest(module(tmp_path, PROGRAM).Timeout())
    assert old in PROGRAM
    assert (program_digest(module(tmp_path, PROGRAM.replace(old, new, 1)).Timeout()) == before) is same


HELPERS = "def more(ms):\n    return ms + 1\n"


@pytest.mark.parametrize(
    "used",
    [
        ("import own_helpers\n\nGAP = 10", "own_helpers.more(ms)"),
        ("from own_helpers import more\n\nGAP = 10", "more(ms)"),
        ("from own_helpers import more as plus\n\nGAP = 10", "plus(ms)"),
        ("GAP = 10", "__import__('sys') and more(ms)"),
        ("GAP = 10\nLATER = {}\nfrom own_helpers import more\nLATER['x'] = more", "LATER['x'](ms)"),
        ("try:\n    from own_helpers import more\nexcept ImportError:\n    more = None\nGAP = 10", "more(ms)"),
        (
            "try:\n    from no_such import more\nexcept ImportError:\n    from own_helpers import more\nGAP = 10",
            "more(ms)",
        ),
    ],
)
def test_what_a_program_uses_of_other_files_counts(tmp_path, monkeypatch, used):
    """However it is imported, also within a function."""
    within = "    from own_helpers import more\n" * used[1].startswith("__import__")
    text = PROGRAM.replace("GAP = 10", used[0]).replace("    return ms + GAP", f"{within}    return {used[1]} + GAP")
    monkeypatch.syspath_prepend(tmp_path)

    def told(helpers):
        (tmp_path / "own_helpers.py").write_text(helpers)
        found = importlib.util.spec_from_file_location("own_helpers", tmp_path / "own_helpers.py")
        loaded = importlib.util.module_from_spec(found)
        found.loader.exec_module(loaded)
        monkeypatch.setitem(sys.modules, "own_helpers", loaded)
        linecache.checkcache()
        _parsed.cache_clear()
        return program_digest(module(tmp_path, text).Timeout())

    assert told(HELPERS) == told("# nothing\n" + HELPERS) != told(HELPERS.replace("+ 1", "+ 22"))


def test_what_is_changed_beside_its_definition_counts(tmp_path):
    changed = PROGRAM.replace("GAP = 10", 'GAP = 10\nif True:\n    SINCE = {"b": 1}\n')
    for text in (changed, PROGRAM + '\nSINCE["a"] = 4\n', PROGRAM + "\nSINCE.clear()\n"):
        assert program_digest(module(tmp_path, text).Timeout()) != program_digest(module(tmp_path, PROGRAM).Timeout())


def test_parameters_count_and_what_is_not_in_the_source_is_no_digest(tmp_path):
    found = module(tmp_path, PROGRAM)
    one, two, three = found.Timeout(), found.Timeout(), found.Timeout()
    two.gap, three.gap = 3, object()
    assert program_digest(one) != program_digest(two)
    with pytest.raises(Untold, match="not JSON serializable"):
        program_digest(three)
    inner = module(tmp_path, PROGRAM + "\ndef made():\n    class Inner(Timeout):\n        pass\n    return Inner\n")
    with pytest.raises(Untold, match="Inner is not defined at the top of the module"):
        program_digest(inner.made()())


def test_the_digests_of_programs_are_the_same_in_every_process():
    script = (
        "from conformance.plugins.registry import load_scenarios\n"
        "from conformance.plugins.source import program_digest\n"
        "print([program_digest(p) for s in load_scenarios() for p in s.programs.values()])"
    )
    told = {
        subprocess.run(
            [sys.executable, *flags, "-c", script],
            capture_output=True,
            text=True,
            check=True,
            env={"PYTHONHASHSEED": seed},
        ).stdout
        for seed, flags in (("0", []), ("1", ["-B"]))
    }
    assert len(told) == 1


class Asked(InProcess):
    """An engine in this process, with what ``AnyEngine`` tells."""

    def __init__(self, spoil=lambda pack, run: run):
        super().__init__(load_engine("reference"), spoil)
        self.environment, self.evidence, self.lacks, self.answers = {"python": "3"}, {}, "", {}


@pytest.fixture(scope="module")
def packs():
    scenarios = load_scenarios(["per-key-counting"])
    return packs_of(suite_of(scenarios, 1, 1).cases, 20)


@pytest.fixture
def pack(packs):
    return packs[0]


def shelf(folder, programs=None, fresh=False, report=lambda line: None):
    engine = load_engine("reference")
    kept = Kept(folder, report=report)
    return shelf_of(engine, "adapter", kept, programs or programs_of(load_scenarios()), fresh)


def not_started():
    raise AssertionError("the engine was started")


def answers(folder):
    return list((folder / ANSWERS).glob("*.arrow"))


def test_what_was_answered_is_not_asked_again_and_the_engine_not_started(tmp_path, pack):
    run = Process(Asked, shelf(tmp_path)).run(pack)
    later = shelf(tmp_path)
    engine = Process(not_started, later)
    assert engine.run(pack) == run
    assert engine.met().environment == {"python": "3"}
    assert later.age[0] == 1
    assert len(later.age[1]) == len("2026-11-20")


def test_a_run_asks_an_engine_about_itself_once(tmp_path, pack):
    """What it lacks, and which queries it refuses: a process that only confirms, or that runs in the place of another,
    is not asked."""
    asked = []

    class Tells(Asked):
        @property
        def answers(self):
            asked.append("answers")
            return {"query": "accepted"}

        @answers.setter
        def answers(self, value): ...

    mine = shelf(tmp_path, fresh=True)
    first, again = Process(Tells, mine), Process(Tells, mine, hash_seed=1)
    assert first.met().answers == again.met().answers == {"query": "accepted"}
    again.run(pack)
    assert asked == ["answers"]


def test_another_pack_order_seed_or_adapter_is_asked(tmp_path, pack):
    Process(Asked, shelf(tmp_path)).run(pack)
    asked = Asked()
    Process(lambda: asked, shelf(tmp_path), hash_seed=1).run(pack)
    Process(lambda: asked, shelf(tmp_path)).run(replace(pack, cases=pack.cases[::-1]))
    other = replace(shelf(tmp_path), name="another")
    Process(lambda: asked, other).run(pack)
    assert len(asked.packs) == 3


def test_a_changed_program_is_asked_again(tmp_path, pack):
    programs = programs_of(load_scenarios())
    Process(Asked, shelf(tmp_path, programs)).run(pack)
    mine = f"{pack.cases[0].scenario}/{pack.cases[0].program}"
    changed = type(
        "Changed", (type(programs[mine]),), {"on_event": lambda *_: None, "__module__": "conformance.scenarios.changed"}
    )
    asked = Asked()
    Process(lambda: asked, shelf(tmp_path, {**programs, mine: changed()})).run(pack)
    assert asked.packs == [pack]


def test_what_a_plan_failed_with_is_not_asked_again(tmp_path, pack):
    """Whether it failed in one case's call, or as a whole."""
    base = next(case for case in pack.cases if not case.perturbation)
    twin = PlanTwin("x", "another").perturbation.twin(base, 0)
    empty = twin.schedule.with_bundles({bundle.id: () for bundle in twin.schedule.bundles})
    planned = Pack((twin, replace(twin, schedule=empty, base="other")))

    class Fails(Asked):
        def run(self, pack):
            if twin in pack.cases:
                raise EngineDown(f"QueryFailed: EngineFault: [case {twin.id}] update: broken")
            return super().run(pack)

    for failing, alone in ((planned, Pack((planned.cases[1],))), (Pack((twin,)), None)):
        asked = Fails()
        given = Ask(Process(lambda asked=asked: asked, shelf(tmp_path))).pack(failing)
        assert (given.failure, given.lost) == ("", {})
        assert "broken" in given.traces[twin.id].error
        assert asked.packs == ([alone] if alone else [])
        kept = Ask(Process(not_started, shelf(tmp_path))).pack(failing)
        assert kept.traces == given.traces


def test_an_engine_with_kept_answers_is_not_given_up(tmp_path, packs):
    """All packs that a second run asks for may be those that fail."""

    class Fails(Asked):
        def run(self, pack):
            raise EngineDown("QueryFailed: no equality")

    Process(Asked, shelf(tmp_path)).run(packs[0])
    engine = Process(Fails, shelf(tmp_path))
    engine.run(packs[0])
    for other in packs[1:4]:
        with pytest.raises(EngineDown, match="no equality"):
            engine.run(other)
    assert engine.given_up == ""


def test_fresh_asks_and_keeps(tmp_path, pack):
    Process(Asked, shelf(tmp_path)).run(pack)
    asked = Asked()
    Process(lambda: asked, shelf(tmp_path, fresh=True)).run(pack)
    assert asked.packs == [pack]
    Process(not_started, shelf(tmp_path)).run(pack)


def test_so_many_runs_are_answered_as_there_were(tmp_path, pack):
    first = Process(Asked, shelf(tmp_path))
    first.run(pack)
    first.run(pack)
    asked = Asked()
    later = Process(lambda: asked, shelf(tmp_path))
    for _ in range(3):
        later.run(pack)
    assert len(asked.packs) == 1


def test_runs_that_differ_are_given_in_their_order(tmp_path, pack):
    """What fails only sometimes fails as often in the second run; fresh answers take the place of kept ones."""

    def once(number):
        def another(pack, run):
            traces = {case: Trace.collect([Emission("a", number, 1)]) for case in run.traces}
            return replace(run, traces=traces)

        return lambda: Asked(another)

    mine = shelf(tmp_path)
    first = [Process(once(number), mine).run(pack) for number in (1, 2)]
    assert first[0] != first[1]
    later = Process(not_started, shelf(tmp_path))
    assert [later.run(pack), later.run(pack)] == first
    new = Process(once(3), shelf(tmp_path, fresh=True)).run(pack)
    assert Process(not_started, shelf(tmp_path)).run(pack) == new


def test_what_is_lost_is_not_kept(tmp_path, pack):
    def fails(pack, run):
        raise EngineDown("it ended")

    with pytest.raises(EngineDown):
        Process(lambda: Asked(fails), shelf(tmp_path)).run(pack)
    assert answers(tmp_path) == []


@pytest.mark.parametrize(
    "spoil", [lambda raw: raw[: len(raw) // 2], lambda raw: raw[:-9] + b"x" + raw[-8:], lambda raw: b""]
)
def test_a_corrupt_file_is_one_line_and_asked_again(tmp_path, pack, spoil):
    Process(Asked, shelf(tmp_path)).run(pack)
    (file,) = answers(tmp_path)
    file.write_bytes(spoil(file.read_bytes()))
    asked, said = Asked(), []
    Process(lambda: asked, shelf(tmp_path, report=said.append)).run(pack)
    assert len(asked.packs) == len(said) == 1
    assert file.name in said[0]
    assert "\n" not in said[0]
    Process(not_started, shelf(tmp_path)).run(pack)


def test_runs_at_the_same_time_leave_whole_files(tmp_path, pack):
    with ThreadPoolExecutor(8) as pool:
        jobs = [pool.submit(lambda: Process(Asked, shelf(tmp_path, fresh=True)).run(pack)) for _ in range(16)]
        runs = [job.result() for job in jobs]
    assert all(run == runs[0] for run in runs)
    assert len(answers(tmp_path)) == 1
    assert list(tmp_path.rglob("part-*")) == []
    said = []
    Process(not_started, shelf(tmp_path, report=said.append)).run(pack)
    assert said == []


def test_an_engine_that_is_not_what_it_was_is_no_evidence(tmp_path, pack, packs):
    """The engine names another version once it is started: kept answers of the first version were given already."""
    Process(Asked, shelf(tmp_path)).run(pack)
    other = Asked()
    other.environment = {"python": "4"}
    engine = Process(lambda: other, shelf(tmp_path))
    engine.run(pack)
    with pytest.raises(EngineDown, match="python is '4' and was '3'"):
        engine.run(packs[1])
    assert not engine.starts()
    assert Process(lambda: other, shelf(tmp_path)).met().environment == {"python": "4"}


def test_an_engine_that_cannot_start_any_more_is_down(tmp_path, pack, packs):
    def cannot():
        raise CannotRun("no Java")

    with pytest.raises(CannotRun):
        Process(cannot, shelf(tmp_path)).met()
    Process(Asked, shelf(tmp_path)).run(pack)
    engine = Process(cannot, shelf(tmp_path))
    with pytest.raises(EngineDown, match="no Java"):
        engine.run(packs[1])
    assert not engine.starts()


def test_what_is_old_or_too_much_goes(tmp_path):
    kept = Kept(tmp_path)
    for number in range(4):
        kept.keep_data(f"engines/{number}", list(range(10_000)))
    assert kept.prune() == 0
    size = sum(size for _, size, _ in kept.files())
    assert kept.prune(megabytes=size * 0.6 / 2**20) == 2
    assert kept.prune(days=0) == 2
    assert list(kept.files()) == []


def test_a_folder_that_cannot_be_written_to_costs_a_line(tmp_path, pack):
    (tmp_path / "file").write_text("no folder")
    said = []
    run = Process(Asked, shelf(tmp_path / "file", report=said.append)).run(pack)
    assert isinstance(run, PackRun)
    assert sum("cannot be written" in line for line in said) == 1  # once, whatever else does not fit
    assert all("cannot be written" in line or "is left out" in line for line in said)


def test_what_is_kept_is_read_from_folders_beside(tmp_path, pack):
    Process(Asked, shelf(tmp_path / "one")).run(pack)
    there = replace(shelf(tmp_path / "two"), kept=Kept(tmp_path / "two", [tmp_path / "one"]))
    Process(not_started, there).run(pack)
    assert json.dumps(there.age)


def test_a_program_that_is_not_known_here_is_asked_each_time(tmp_path, pack):
    """A stored witness may have neighbours of a scenario that is not installed."""
    asked = Asked()
    for _ in range(2):
        Process(lambda: asked, replace(shelf(tmp_path), programs={})).run(pack)
    assert len(asked.packs) == 2
