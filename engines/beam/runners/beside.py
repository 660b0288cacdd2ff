"""Another pipeline, which runs in this process and on the same runner while the pipeline of a pack does."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from conformance.engines.beam.refused.refusals import Build


@contextmanager
def another(finish: Callable[[Build], Any], wanted: bool) -> Iterator[None]:
    """Within this context, if it is ``wanted``, a small stateful pipeline runs in a thread, again and again. ``finish``
    runs a pipeline to its end.

    Raises:
        RuntimeError: that pipeline failed, or did not put out what it must.
    """
    if not wanted:
        yield
        return
    over = threading.Event()
    errors: list[Exception] = []

    def go_on() -> None:
        while not errors and not over.is_set():
            try:
                finish(_counting)
            except Exception as error:
                errors.append(error)

    thread = threading.Thread(target=go_on, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
    if errors:
        raise RuntimeError(f"the other pipeline: {type(errors[0]).__name__}: {errors[0]}") from errors[0]


def _counting(pipeline: Any) -> None:
    """Counts the elements of a key in state, and checks the counts."""
    import apache_beam as beam
    from apache_beam.testing.util import assert_that, equal_to

    from conformance.engines.beam.plans.dofns import Counting

    created = pipeline | "elements" >> beam.Create([("a", n) for n in range(3)], reshuffle=False)
    pairs = created | "typed" >> beam.Map(lambda pair: pair).with_output_types(tuple[str, int])
    assert_that(pairs | "counting" >> beam.ParDo(Counting()), equal_to([1, 2, 3]))
