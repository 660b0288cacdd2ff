"""Queues of turns: their order, and what a queue does that has nothing left to do."""

import threading
from types import SimpleNamespace

import pytest

from conformance.run.queues import Cases, Waiting, queues, run_queue


class Turns:
    """Turns that record what is done with them, and the processes that are closed."""

    def __init__(self):
        self.done, self.closed, self.lock = [], [], threading.Lock()
        self.started, self.until = threading.Event(), {}

    def turn(self, name, heavy=False, host="", alive=True):
        capabilities = SimpleNamespace(heavy=heavy, host=host)

        def begin(again=""):
            self.done.append((f"begin{again}", name))
            return SimpleNamespace(alive=alive or bool(again))

        def run(engine):
            if name in self.until:
                self.started.set()
                assert self.until[name].wait(10)
            with self.lock:
                self.done.append(("run", name))

        info = SimpleNamespace(id=name, capabilities=capabilities)
        return SimpleNamespace(info=info, begin=begin, open=lambda: begin(" again"), run=run)

    def close(self, name):
        self.closed.append(name)

    def ran(self):
        return [name for what, name in self.done if what == "run"]


@pytest.fixture
def turns():
    return Turns()


def there():
    cases = Cases()
    cases.tell(there=True)
    return cases


def test_engines_of_the_first_process_begin_first_and_a_process_is_closed_after_its_last_turn(turns):
    queue = [turns.turn("a", host="x"), turns.turn("b", host="y"), turns.turn("c", host="x", alive=False)]
    run_queue(0, Waiting([queue], turns), there())
    expected = ["begin a", "begin c", "run a", "begin b", "run b", "begin again c", "run c"]
    assert [" ".join(done) for done in turns.done] == expected
    assert turns.closed == ["y", "x"]


def test_heavy_engines_have_a_queue_for_each_of_two_releases_and_light_ones_another(turns):
    def named(*found):
        return [[info.id for info in queue] for queue in queues(turn.info for turn in found)]

    heavy = [turns.turn(name, heavy=True) for name in ("h@1", "i@2", "j@1")]
    light = [turns.turn("a"), turns.turn("b")]
    assert named(light[0], *heavy, light[1]) == [["h@1", "j@1"], ["i@2"], ["a", "b"]]
    assert named(*heavy) == [["h@1", "j@1"], ["i@2"]]
    assert named(*light) == [["a", "b"], []], "the second queue helps the first"
    assert named() == []


def test_without_cases_nothing_runs(turns):
    cases = Cases()
    cases.tell(there=False)
    run_queue(0, Waiting([[turns.turn("a")]], turns), cases)
    assert turns.done == [("begin", "a")]


def test_a_queue_that_is_done_takes_light_turns_of_another_from_the_end(turns):
    """While the first light engine is busy, the queue of the heavy engine does the others; it leaves none behind."""
    turns.until["slow"] = threading.Event()
    light = [turns.turn("slow"), turns.turn("b"), turns.turn("c")]
    waiting = Waiting([[turns.turn("heavy", heavy=True)], light], turns)
    with_light = threading.Thread(target=run_queue, args=(1, waiting, there()))
    with_light.start()
    assert turns.started.wait(10)
    run_queue(0, waiting, there())
    assert turns.ran() == ["heavy", "c", "b"]
    turns.until["slow"].set()
    with_light.join()
    assert turns.ran() == ["heavy", "c", "b", "slow"]
    assert sorted(turns.closed) == ["b", "c", "heavy", "slow"]


def test_a_turn_whose_process_is_busy_and_a_heavy_one_are_not_taken(turns):
    waiting = Waiting(
        [[turns.turn("light")], [turns.turn("a", host="x"), turns.turn("b", host="x")], [turns.turn("h", heavy=True)]],
        turns,
    )
    first = waiting.take(1)
    assert first.info.id == "a"
    assert waiting.take(0).info.id == "light"
    assert waiting.take(0) is None
    waiting.end(first)
    assert turns.closed == []
    assert waiting.take(0).info.id == "b"
