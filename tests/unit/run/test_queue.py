"""The order of engines, and which of them run at a time."""

import threading
from dataclasses import replace
from types import SimpleNamespace

import pytest

from conformance.model.engine import EngineInfo
from conformance.plugins.registry import engine_ids, load_engine
from conformance.run.queue import Deadline, Queue, by_value


def info(name):
    engine = load_engine(name)
    return EngineInfo(name, engine.title, engine.capabilities)


def test_engines_come_in_the_order_of_value():
    """A run begins with the reference and the common operators. Common programs follow, those of a quick run first,
    then other operators and the other engines of programs. Of a kind, they come as listed."""
    listed = [*map(info, engine_ids())]
    first, others = by_value(reversed(listed))
    assert first[0].id == "reference"
    assert all(one.capabilities.common and one.capabilities.native_operator for one in first[1:])
    assert {one.id for one in others[:2]} == {"beam-direct", "spark-tws"}
    used = [one.capabilities.common or one.capabilities.quick for one in others]
    assert used == sorted(used, reverse=True)
    of_programs = [one.capabilities.native_operator is None for one in others[sum(used) :]]
    assert of_programs == sorted(of_programs)
    assert {*of_programs} == {True, False}
    alike = [replace(listed[0], id=name) for name in "cab"]
    assert [one.id for found in by_value(alike) for one in found] == ["c", "a", "b"]


class Turns:
    """Turns that record when they run, and the processes that are closed."""

    def __init__(self):
        self.events, self.closed, self.lock = [], [], threading.Lock()
        self.begun, self.go_on = threading.Event(), {}

    def turn(self, name, heavy=False, host=""):
        def run():
            with self.lock:
                self.events.append(("begin", name))
            if name in self.go_on:
                self.begun.set()
                assert self.go_on[name].wait(10)
            with self.lock:
                self.events.append(("end", name))

        return SimpleNamespace(hosts=[host or name], heavy=heavy, run=run)

    def close(self, name):
        self.closed.append(name)

    def names(self, what):
        return [name for event, name in self.events if event == what]


@pytest.fixture
def turns():
    return Turns()


def beside(queue):
    """Another thread that takes turns."""
    thread = threading.Thread(target=queue.run)
    thread.start()
    return thread


def test_one_thread_takes_all_turns_in_order_and_closes_each_process_after_its_last(turns):
    queue = Queue([turns.turn("a", host="x"), turns.turn("b", host="y"), turns.turn("c", host="x")], turns)
    queue.run()
    assert turns.events == [(what, name) for name in "abc" for what in ("begin", "end")]
    assert turns.closed == ["y", "x"]


def test_a_light_engine_runs_beside_a_heavy_one_and_no_second_heavy_one_does(turns):
    turns.go_on["heavy"] = threading.Event()
    queue = Queue([turns.turn("heavy", heavy=True), turns.turn("other", heavy=True), turns.turn("light")], turns)
    first = beside(queue)
    assert turns.begun.wait(10)
    second = beside(queue)
    for _ in range(1_000):
        if "light" in turns.names("end"):
            break
        second.join(0.01)
    assert turns.names("begin") == ["heavy", "light"]
    turns.go_on["heavy"].set()
    first.join(10)
    second.join(10)
    assert turns.names("begin") == ["heavy", "light", "other"]


def test_engines_of_one_process_take_turns_in_it(turns):
    turns.go_on["a"] = threading.Event()
    queue = Queue([turns.turn("a", host="x"), turns.turn("b", host="x")], turns)
    first = beside(queue)
    assert turns.begun.wait(10)
    second = beside(queue)
    second.join(0.1)
    assert turns.names("begin") == ["a"]
    assert turns.closed == []
    turns.go_on["a"].set()
    first.join(10)
    second.join(10)
    assert turns.events == [("begin", "a"), ("end", "a"), ("begin", "b"), ("end", "b")]
    assert turns.closed == ["x"]


def test_a_turn_that_fails_leaves_its_process_to_the_next(turns):
    def fail():
        raise KeyError

    failing = turns.turn("a", host="x")
    failing.run = fail
    queue = Queue([failing, turns.turn("b", host="x")], turns)
    with pytest.raises(KeyError):
        queue.run()
    queue.run()
    assert turns.names("end") == ["b"]
    assert turns.closed == ["x"]


def test_a_run_without_a_limit_is_never_spent():
    assert not Deadline(None).limited
    assert not Deadline(None).spent
    assert not Deadline(100).spent
    assert Deadline(0).spent
