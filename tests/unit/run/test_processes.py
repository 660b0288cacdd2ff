"""Several processes do the work of one, where that is safe."""

import subprocess
import sys
import threading

import pytest

from conformance.run.processes import available


def alone(program):
    """What a program prints in a process without threads, as a process that forks must be: this one may have those of
    other tests."""
    return subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    ).stdout


def test_answers_come_in_the_order_of_their_items():
    asked = "from conformance.run.processes import answers; print(list(answers(str, range(5), processes=2)))"
    assert alone(asked).strip() == "['0', '1', '2', '3', '4']"


@pytest.mark.parametrize("first", ["1", "os.kill(os.getpid(), 9)"])
def test_an_exception_or_a_process_that_dies_ends_the_work_at_once(first):
    """The work of a process that died is not waited for, nor that of the others when nobody takes it."""
    program = f"""
import os, time
from conformance.run.processes import workers
def work(item):
    return {first} if item == 0 else time.sleep(600)
try:
    with workers(work, 2) as ask:
        for answer in ask(range(9)):
            raise KeyError(answer)
except Exception as error:
    print(type(error).__name__)
"""
    assert alone(program).strip() == ("KeyError" if first == "1" else "BrokenProcessPool")


def test_a_process_with_threads_is_not_forked(monkeypatch):
    """Its fork may crash at once: gRPC's and Py4J's threads do that (grpcio 1.85, Py4J 0.10.9)."""
    monkeypatch.setattr("os.cpu_count", lambda: 8)
    monkeypatch.setattr(threading, "active_count", lambda: 1)
    assert available() == 4
    monkeypatch.undo()
    monkeypatch.setattr("os.cpu_count", lambda: 8)
    ended = threading.Event()
    thread = threading.Thread(target=ended.wait)
    thread.start()
    assert available() == 1
    ended.set()
    thread.join()


def test_a_self_test_in_several_processes_finds_what_one_finds():
    """It draws, asks, and looks for teeth in them."""
    program = """
from conformance.plugins.registry import load_scenarios
from conformance.selftest.selftest import Want, selftest
some, mutants = load_scenarios(["null-output", "stored-state"]), ["output-twice", "state-lost-after-a-bundle"]
one, two = (selftest(some, mutants, wanted=1, seeds=1, want=Want.HOLES, processes=n) for n in (1, 2))
print(one == two, len(one.kills))
"""
    assert alone(program).strip() == "True 2"
