"""Waiting for a run of the bundle-based DirectRunner, which waits for ever where a thread of it has died (Beam
2.77.0)."""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any

WORKER = "ExecutorServiceWorker"
"""What the names of the runner's threads have in them."""


def ended(call: Callable[[], Any]) -> None:
    """Calls, and returns when it has ended. Raises what the call raises, or what a thread of the runner died of."""
    ends: SimpleQueue[BaseException | None] = SimpleQueue()
    before = threading.excepthook

    def died(told: threading.ExceptHookArgs) -> None:
        before(told)
        if told.thread and WORKER in told.thread.name:
            ends.put(told.exc_value)

    def work() -> None:
        try:
            call()
            ends.put(None)
        except BaseException as error:
            ends.put(error)

    threading.excepthook = died
    try:
        threading.Thread(target=work, daemon=True).start()
        error = ends.get()
    finally:
        threading.excepthook = before
    if error is not None:
        raise error
