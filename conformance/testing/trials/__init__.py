"""The small cases that the adapter kit runs, in trials of one timeline each. Each case has a name for messages."""

from conformance.testing.calls import T
from conformance.testing.trials import elements, jobs, times
from conformance.testing.trials.jobs import plan
from conformance.testing.trials.times import ROWS_AND_TIMER
from conformance.testing.trials.trial import CELLS, ONE, PROGRAMS, Trial, case_of, together

__all__ = ["CELLS", "CHAIN", "PROGRAMS", "REFUSED", "ROWS_AND_TIMER", "TRIALS", "Trial", "plan", "together"]

TRIALS: tuple[Trial, ...] = (
    elements.state(),
    elements.events(),
    elements.timers(),
    elements.output_times(),
    elements.exceptions(),
    elements.exceptions_over_bundles(),
    elements.bundles(),
    elements.typed(),
    elements.containers(),
    elements.misfits(),
    elements.typed_keys(),
    elements.null_keys(),
    times.watermark(),
    times.windows(),
    times.lateness(),
    *jobs.recoveries(),
    jobs.no_data(),
    jobs.partitions(1, "one partition"),
    jobs.partitions(5, "five partitions"),
    times.coalesced(),
    times.processing_time(),
    jobs.initial_state(),
    jobs.inspection(),
    plan("another"),
)

CHAIN = case_of("chain", ONE, [("a", [["timers", "set", "one", T + 5_000]])])
"""A timer sets another, both due in one advance."""

REFUSED = case_of("timed", ONE, [("a", [["timers", "set", "one", "soon"]])])
"""A case that an engine should refuse: it sets a timer for a word."""
