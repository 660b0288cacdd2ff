"""Several processes do the work of one, where that is safe."""

import threading

from conformance.run.processes import answers, available


def test_answers_come_in_the_order_of_their_items():
    assert list(answers(str, range(5), processes=2)) == ["0", "1", "2", "3", "4"]


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
