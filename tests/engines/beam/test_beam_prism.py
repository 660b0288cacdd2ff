"""What is Prism's alone: its binary, its process, and the proof that it was driven."""

import os
import platform
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from common import CALLS, COUNTED, PROGRAMS, STATE, T, calls_case, drawn, run, specified
from drawn import suite_of

from conformance.engines.beam.runners import prism_binary, prism_server
from conformance.engines.beam.runners.prism import BeamPrism
from conformance.model.case import Case
from conformance.model.engine import CannotRun, NotDriven
from conformance.model.feature import Feature
from conformance.model.program import Cell, Program
from conformance.model.runs import Pack
from conformance.model.schedule import Advance, Deliver, Event, Schedule
from conformance.plugins.registry import load_scenarios

pytestmark = pytest.mark.engine


class Sabotaged:
    """A pack with another timeline, or other rows in its bundles."""

    def __init__(self, pack, timeline=lambda timeline: timeline, rows=lambda rows: rows):
        self.timeline, self._pack, self._rows = timeline(list(pack.timeline)), pack, rows

    def bundle(self, step):
        return self._rows(list(self._pack.bundle(step)))


@pytest.mark.parametrize(
    ("sabotage", "says"),
    [
        (lambda timeline: [Advance(0, T + 1), *timeline[1:]], "at watermark"),
        (lambda timeline: [*timeline[:2], Advance(2, T + 3), *timeline[3:]], "at watermark"),
        (lambda timeline: timeline[:-1], "heartbeats"),
    ],
)
def test_a_schedule_that_was_not_driven_is_an_error(prism, monkeypatch, sabotage, says):
    """The proof uses the pack's timeline and its times; the stream is made from a sabotaged one."""
    from conformance.engines.beam.runners import carried

    stream, marks = carried.stream, carried.marks
    monkeypatch.setattr(carried, "marks", lambda pack: marks(Pack((COUNTED,))))
    monkeypatch.setattr(carried, "stream", lambda pack: stream(Sabotaged(pack, timeline=sabotage)))
    with pytest.raises(NotDriven, match=says):
        prism.run(Pack((COUNTED,)), PROGRAMS)


@pytest.mark.parametrize("rows", [lambda rows: rows[1:], lambda rows: rows[::-1]], ids=["lost", "reversed"])
def test_a_lost_or_displaced_element_is_an_error(prism, monkeypatch, rows):
    from conformance.engines.beam.runners import carried

    stream = carried.stream
    monkeypatch.setattr(carried, "stream", lambda pack: stream(Sabotaged(pack, rows=rows)))
    with pytest.raises(NotDriven, match="elements, the schedule has 2"):
        prism.run(Pack((COUNTED,)), PROGRAMS)


def test_without_a_source_that_checkpoints_itself_no_bundle_is_driven(prism, monkeypatch):
    """Prism then keeps the elements until the watermark moves on, and the proof notices."""
    import apache_beam

    from conformance.engines.beam.runners import carried

    class NoSource(apache_beam.DoFn):
        def process(self, element):
            return ()

    monkeypatch.setattr(carried, "SelfCheckpointing", NoSource)
    with pytest.raises(NotDriven, match="an element of step 1 reached its program in step 2"):
        prism.run(Pack((COUNTED,)), PROGRAMS)


def test_an_element_lost_before_a_program_is_an_error(prism, monkeypatch):
    from conformance.engines.beam.pipelines import pipeline

    monkeypatch.setattr(pipeline, "_among", lambda programs: lambda element: element[1][1] != "e2")
    with pytest.raises(NotDriven, match="not handed 1 elements of the 3"):
        prism.run(Pack((COUNTED,)), PROGRAMS)


def test_what_it_hands_out_later_comes_out_later(prism):
    """An element behind a timer of its key: the trace has it in the step in which it came out."""
    events = (
        Event("e1", "a", [["timers", "set", "one", T + 10]], T + 1),
        Event("e2", "a", STATE[0], T + 20),
    )
    steps = (Advance(0, T), Deliver(1, events[:1]), Deliver(2, events[1:]), Advance(3, T + 10), Advance(4, T + 90))
    case = Case("test", "calls", Schedule(steps))
    trace = prism.run(Pack((case,)), CALLS).traces[case.id]
    assert [(e.step, e.value[0]) for e in trace.emissions] == [(3, "fired"), (3, "e2"), (3, "e2")]


def test_its_traces_are_the_references_where_event_times_rise(prism):
    """One key, no timer: where neither order of event time nor a timer can make a difference."""
    counting = load_scenarios(["per-key-counting"])
    cases = [c for c in suite_of(counting, 8, can=prism.capabilities).cases if c.program == "count"]
    rising = [c for c in cases if (times := [a.event.event_time for a in c.schedule.arrivals]) == sorted(times)]
    assert len(rising) > 5
    assert run(prism, rising) == specified(prism, rising)


def test_a_slow_bundle_is_not_split(prism):
    """Split, a key's elements would find the state of before."""
    events = tuple(Event(f"e{n}", "a", None, T + n) for n in range(1, 7))
    case = Case("test", "slow", Schedule((Advance(0, T), Deliver(1, events), Advance(2, T + 90))))
    trace = prism.run(Pack((case,)), {"test/slow": Slow()}).traces[case.id]
    assert [e.value for e in trace.emissions] == [1, 2, 3, 4, 5, 6]


class Slow(Program):
    cells = {"sum": Cell.COMBINING}

    def on_event(self, event, state, timers, emit):
        state.sum.add(1)
        time.sleep(0.4)
        emit(state.sum.get())


def test_a_job_that_does_not_end_is_given_up(prism, monkeypatch):
    server = prism_server.PrismServer(prism._server.binary)
    monkeypatch.setattr(prism_server, "JOB_SECONDS", 0.2)
    server.options()
    process = server._process
    with pytest.raises(TimeoutError, match=r"did not end within 0.2 s"):
        server.within(lambda: time.sleep(5))
    assert process.poll() is not None


def test_a_server_that_has_ended_is_started_again(prism):
    prism._server._process.kill()
    prism._server._process.wait()
    case = calls_case([[("a", STATE[0])]])
    assert run(prism, [case], CALLS) == specified(prism, [case], CALLS)


def test_a_binary_that_ends_at_once_is_an_error():
    with pytest.raises(RuntimeError, match="Prism ended with code 0"):
        prism_server.PrismServer(Path(shutil.which("true"))).options()


def test_a_release_on_which_no_schedule_can_be_driven_says_so_and_needs_no_binary(monkeypatch, tmp_path):
    monkeypatch.setattr("conformance.engines.beam.runners.prism.version", lambda package: "2.76.0")
    for name in ("check", "obtain"):
        monkeypatch.setattr(prism_binary, name, lambda: pytest.fail("asked for a binary"))
    engine = BeamPrism()
    engine.check()
    engine.open(tmp_path)
    assert engine.lacks().startswith("the Prism of Beam 2.76.0 hands elements to a stateful DoFn in a later step")
    assert engine.lacks().endswith("that takes Beam 2.77.0")
    assert "prism" not in engine.environment()
    engine.close()


OLD_PRISM = """#!{}
import socket, sys, time

if any(option.startswith("--log") for option in sys.argv):
    sys.exit(2)
port = next(int(option.partition("=")[2]) for option in sys.argv if option.startswith("--job_port="))
server = socket.create_server(("localhost", port))
time.sleep(60)
"""


def test_a_release_that_knows_no_option_of_logging_starts_without(tmp_path):
    binary = tmp_path / "prism"
    binary.write_text(OLD_PRISM.format(sys.executable))
    binary.chmod(0o755)
    server = prism_server.PrismServer(binary)
    try:
        assert server.options()[0].startswith("--job_endpoint=localhost:")
    finally:
        server.close()


@pytest.mark.skipif(sys.platform != "linux", reason="a signal at the parent's death is Linux's")
def test_it_does_not_outlive_a_killed_process(prism):
    starts = (
        "import sys, time; from pathlib import Path; from conformance.engines.beam.runners.prism_server import "
        "PrismServer;"
        "server = PrismServer(Path(sys.argv[1])); server.options();"
        "print(server._process.pid, flush=True); time.sleep(60)"
    )
    command = [sys.executable, "-c", starts, str(prism._server.binary)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as parent:
        pid = int(parent.stdout.readline())
        os.kill(pid, 0)
        parent.send_signal(signal.SIGKILL)
    end = time.monotonic() + 10
    while _runs(pid) and time.monotonic() < end:
        time.sleep(0.05)
    assert not _runs(pid)


def _runs(pid):
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_auto_says_which_runner_it_took(auto):
    if auto._server is None:
        pytest.skip("no binary of Prism")
    cases = drawn(auto)
    notes = {}
    for case in cases[::60]:
        notes |= auto.run(Pack((case,)), PROGRAMS).notes
    assert set(notes.values()) <= {"ran on PrismRunner", "ran on FnApiRunner"}
    combining = {name for name in notes if Feature.COMBINING.name in {c.name for c in PROGRAMS[name].cells.values()}}
    assert combining
    assert {notes[name] for name in combining} == {"ran on FnApiRunner"}
    assert {notes[name] for name in set(notes) - combining} == {"ran on PrismRunner"}


def test_auto_without_prism_downloads_nothing(monkeypatch, tmp_path):
    import urllib.request

    from apache_beam.runners.portability import prism_runner

    from conformance.engines.beam.runners.auto import BeamAuto

    def refused(*args, **kwargs):
        raise AssertionError("a download")

    def missing():
        raise CannotRun("no binary")

    monkeypatch.setattr(prism_binary, "obtain", missing)
    monkeypatch.setattr(prism_runner, "urlopen", refused)
    monkeypatch.setattr(urllib.request, "urlopen", refused)
    engine = BeamAuto()
    engine.open(tmp_path)
    case = calls_case([[("a", STATE[0])]])
    result = engine.run(Pack((case,)), CALLS)
    assert result.traces == specified(engine, [case], CALLS)
    assert result.notes == {"test/calls": "ran on FnApiRunner"}
    assert engine.environment()["prism"] == "no binary"


class TestTheBinary:
    @pytest.fixture(autouse=True)
    def _nowhere(self, monkeypatch, tmp_path):
        monkeypatch.setenv("HOME", str(tmp_path))
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
        monkeypatch.setenv("PATH", str(tmp_path / "bin"))
        monkeypatch.delenv(prism_binary.VARIABLE, raising=False)
        monkeypatch.setattr(prism_binary, "_go", lambda: None)

    def _program(self, path, text="#!/bin/sh\n"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)
        return path

    def test_none_and_no_go(self):
        with pytest.raises(
            CannotRun, match=r"no Go to build it with: go install .*prism@v.* name it in CONFORMANCE_PRISM"
        ):
            prism_binary.check()

    def test_one_that_is_named(self, monkeypatch, tmp_path):
        monkeypatch.setenv(prism_binary.VARIABLE, str(self._program(tmp_path / "mine")))
        assert prism_binary.find() == tmp_path / "mine"
        monkeypatch.setenv(prism_binary.VARIABLE, str(tmp_path))
        with pytest.raises(CannotRun, match="is no program"):
            prism_binary.check()

    def test_another_program_of_that_name_is_passed_over(self, tmp_path):
        self._program(tmp_path / "bin" / "prism")
        assert prism_binary.find() is None
        of_beam = f"path\t{prism_binary.PACKAGE}\nmod\tgithub.com/apache/beam/sdks/v2\tv%s\th1:"
        self._program(tmp_path / "bin" / "prism", of_beam % "2.1.0")
        assert prism_binary.find() is None
        found = self._program(tmp_path / "bin" / "prism", of_beam % prism_binary._beam())
        assert prism_binary.find() == found

    def test_beams_own_and_ours(self):
        ours = self._program(prism_binary._ours())
        assert prism_binary.find() == ours
        of_beam = self._program(prism_binary._of_beam())
        assert prism_binary.find() == of_beam

    def test_beams_own_has_the_name_that_beam_gives_it(self):
        from apache_beam.runners.portability.prism_runner import PrismJobServer

        version = f"v{prism_binary._beam()}"
        url = PrismJobServer._construct_download_url(version, version, platform.system(), platform.machine())
        assert url.endswith(f"/{prism_binary._of_beam().name}.zip")

    def test_a_build(self, monkeypatch, tmp_path):
        """In a module of its own, whole or not at all."""
        go = self._program(
            tmp_path / "go",
            '#!/bin/sh\n/bin/echo "$1 in $(/bin/cat go.mod)" >> said\n'
            'if [ "$1" = build ]; then /bin/cp said "$3"; /bin/echo "$4" >> "$3"; /bin/chmod +x "$3"; else '
            '/bin/echo "$2" >> said; fi\n',
        )
        monkeypatch.setattr(prism_binary, "_go", lambda: str(go))
        prism_binary.check()
        built = prism_binary.obtain()
        assert built == prism_binary._ours()
        package = prism_binary.PACKAGE
        asked = ["get in module prism", f"{package}@v{prism_binary._beam()}", "build in module prism", package]
        assert built.read_text().splitlines() == asked

    def test_a_build_that_fails(self, monkeypatch, tmp_path):
        go = self._program(tmp_path / "go", "#!/bin/sh\necho looking >&2; echo no such host >&2; exit 1\n")
        monkeypatch.setattr(prism_binary, "_go", lambda: str(go))
        with pytest.raises(CannotRun, match=r"its build failed \(looking no such host\)"):
            prism_binary.obtain()
        assert prism_binary.find() is None

    def test_a_build_that_does_not_end(self, monkeypatch, tmp_path):
        go = self._program(tmp_path / "go", "#!/bin/sh\nexec /bin/sleep 60\n")
        monkeypatch.setattr(prism_binary, "_go", lambda: str(go))
        monkeypatch.setattr(prism_binary, "BUILD_SECONDS", 0.3)
        with pytest.raises(CannotRun, match=r"not done within 0.3 s"):
            prism_binary.obtain()
