"""Pipelines that Beam's documents say are refused, or that one release or runner refuses and another one takes.

Each is asked for with the smallest bounded pipeline. The answer is the class of Beam's own error, not its text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from conformance.engines import answering

if TYPE_CHECKING:
    import apache_beam as beam

Build = Callable[["beam.Pipeline"], Any]
"""Puts transforms into a pipeline."""


@dataclass(frozen=True)
class Refusal:
    """A pipeline that may be refused: in words, and as the name of a function of ``pipelines`` or ``compared``."""

    words: str
    build: str


USUAL: Mapping[str, Refusal] = {
    "process-returns-text": Refusal("a DoFn whose process() returns a text", "returning_text"),
    "stateful-without-key": Refusal("a stateful DoFn on elements that are no pairs", "stateful_without_key"),
    "stateful-in-sessions": Refusal("a stateful DoFn in session windows, which merge", "stateful_in_sessions"),
    "ordered-list-state": Refusal("an OrderedListState, written and read", "ordered_list"),
    "two-states-of-one-name": Refusal("a DoFn that declares two states of one name", "two_states_of_one_name"),
    "timer-without-callback": Refusal("a DoFn that sets a timer without a callback", "timer_without_callback"),
    "timer-for-a-text": Refusal("a timer that is set to a text", "timer_for_a_text"),
    "key-by-pickle": Refusal("GroupByKey on keys whose coder is a PickleCoder", "grouped_by_pickle"),
    "state-key-by-pickle": Refusal("a stateful DoFn on keys whose coder is a PickleCoder", "stateful_by_pickle"),
    "trigger-that-finishes": Refusal("GroupByKey with a trigger that fires once", "trigger_that_finishes"),
    "group-without-end": Refusal(
        "GroupByKey on an unbounded input, in the global window, with the default trigger", "group_without_end"
    ),
    "splittable-dofn": Refusal("a splittable DoFn; in a streaming pipeline, where the runner has those", "splittable"),
    "windows-that-differ": Refusal("GroupByKey behind a Flatten of two windowings", "windows_that_differ"),
    "windows-with-gaps": Refusal("an element that lies in no sliding window", "windows_with_gaps"),
    "types-that-differ": Refusal("a transform of integers on texts, by their type hints", "types_that_differ"),
    "singleton-of-two": Refusal("AsSingleton() of a collection of two elements", "singleton_of_two"),
}
"""By name."""

COMPARED: Mapping[str, Refusal] = {
    "state-in-exception-handling": Refusal("a stateful DoFn with_exception_handling()", "state_in_exception_handling"),
    "state-allowed-in-exception-handling": Refusal(
        "a stateful DoFn with_exception_handling(), which allows it to keep state",
        "state_allowed_in_exception_handling",
    ),
    "fanout-in-sliding-windows": Refusal(
        "CombinePerKey().with_hot_key_fanout() in sliding windows", "fanout_in_sliding_windows"
    ),
    "state-on-the-pipeline": Refusal("a stateful DoFn on the pipeline itself", "state_on_the_pipeline"),
    "state-on-nothing": Refusal("a stateful DoFn on what a transform without an output returns", "state_on_nothing"),
    "types-of-tags": Refusal("with_output_types() that names the type of a tagged output", "types_of_tags"),
    "flatten-with": Refusal("FlattenWith() of another collection", "flatten_with"),
    "flatten-of-a-list-in-a-tuple": Refusal(
        "Flatten() of a collection and a list of collections", "flatten_of_a_list_in_a_tuple"
    ),
    "texts-for-a-sequence-of-numbers": Refusal(
        "a transform of sequences of numbers on lists of texts, by their type hints", "texts_for_a_sequence_of_numbers"
    ),
    "texts-for-a-mapping-of-numbers": Refusal(
        "a transform of mappings of numbers on dictionaries of texts, by their type hints",
        "texts_for_a_mapping_of_numbers",
    ),
    "dictionary-for-a-typed-one": Refusal(
        "a transform of a TypedDict on dictionaries, by their type hints", "dictionary_for_a_typed_one"
    ),
    "counter-of-texts": Refusal("a transform of a Counter of texts, by its type hint", "counter_of_texts"),
    "trigger-behind-a-group": Refusal(
        "a pipeline that fails where the trigger behind a GroupByKey is not the one before it", "trigger_behind_a_group"
    ),
    "key-by-keyword": Refusal("GroupByKey on a data class that is made by the names of its fields", "key_by_keyword"),
    "combined-with-side-input": Refusal("CombinePerKey() with a side input", "combined_with_side_input"),
    "periodic-data": Refusal("PeriodicImpulse() that puts out the data that it is given", "periodic_data"),
}
"""Those that tell releases apart. They are asked about where two releases are compared."""

REFUSALS: Mapping[str, Refusal] = {**USUAL, **COMPARED}

OF_PRISM = tuple(name for name in USUAL if name != "ordered-list-state")
"""Prism gives up on an ordered list after 100 s (Beam 2.77.0)."""


def answers(names: Iterable[str], finish: Callable[[Build], Any]) -> dict[str, str]:
    """What Beam says to these pipelines. ``finish`` runs a pipeline to its end on the engine's runner."""
    from conformance.engines.beam.refused import compared, pipelines

    def ask(name: str) -> None:
        finish(getattr(compared if name in COMPARED else pipelines, REFUSALS[name].build))

    return answering.answers(names, ask, kind)


def kind(error: Exception) -> str:
    """The class of an error; where a job service tells of it, the last class that it names."""
    if type(error) is RuntimeError and (named := re.findall(r"^\s*(\w+(?:Error|Exception)): ", str(error), re.M)):
        return str(named[-1])
    return type(error).__name__
