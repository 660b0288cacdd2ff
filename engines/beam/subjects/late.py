"""Rows of windows that have expired: where a pipeline must drop them, and whether those of a run come there so."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from conformance.subjects import questions
from conformance.subjects.questions import Asked, NotAsked, Pair, Run, Seen
from conformance.subjects.rows import START
from conformance.subjects.setup import Setup

UNGROUPED = "nothing groups some of its rows, so late ones come out"
UNKNOWN = "no late row is known to come to a grouping, in a window that has expired"
STATE = (
    "; a known fault of this runner: a DoFn with state, as in Deduplicate and GroupIntoBatches, gets them (finding 2)"
)
"""What is said of the bundle-based DirectRunner (Beam 2.77.0), where no function of the user's is to blame."""


def make(asked: Asked) -> Iterator[Run]:
    """Runs with late rows. The watermark has passed ``passed`` once each input has had a row."""
    for run in questions.LATE.make(asked):
        yield Run(run.delivery, Setup(passed=START - (asked.subject.delay or 0)))


def judge(pair: Pair, plain: Seen, varied: Seen) -> str:
    if not varied.ran.dropped:
        raise NotAsked(UNKNOWN)
    said = questions.same(pair, plain, varied)
    return said + STATE if said and varied.ran.stateful else said


def places(pipeline: Any, inputs: Mapping[str, Any], outputs: Mapping[str, Any]) -> tuple[dict[Any, bool], str]:
    """(the collections that come to the first transforms that drop late rows, and whether that is a DoFn with state;
    why nothing tells what is late there, "" where something does)."""
    from apache_beam import GroupByKey, ParDo, Reshuffle
    from apache_beam.pipeline import PipelineVisitor
    from apache_beam.transforms.userstate import is_stateful_dofn
    from apache_beam.transforms.window import FixedWindows, Sessions, SlidingWindows

    found, late, passing, shuffles = dict[Any, bool](), {*inputs.values()}, set[Any](), list[Any]()
    sides: list[Any] = []

    class Visitor(PipelineVisitor):
        def enter_composite_transform(self, node: Any) -> None:
            if isinstance(node.transform, Reshuffle):  # it may drop late rows, and need not
                shuffles.append(node)

        def leave_composite_transform(self, node: Any) -> None:
            if shuffles and shuffles[-1] is node:
                shuffles.pop()

        def visit_transform(self, node: Any) -> None:
            states = isinstance(node.transform, ParDo) and is_stateful_dofn(node.transform.fn)
            drops = not shuffles and (states or isinstance(node.transform, GroupByKey))
            for value in late.intersection(node.inputs):
                if drops:
                    found[value] = found.get(value, False) or states
                else:
                    passing.add(node)
            sides.extend(side.pvalue for side in node.side_inputs if side.pvalue in late)

        def visit_value(self, value: Any, producer: Any) -> None:
            if producer in passing:
                late.add(value)

    pipeline.visit(Visitor())
    windows = [value.windowing.windowfn for value in (*found, *sides)]
    unknown = [each for each in windows if not isinstance(each, FixedWindows | SlidingWindows | Sessions)]
    why = f"nothing tells when its {type(unknown[0]).__name__} expire" if unknown else ""
    return found, why if late.isdisjoint(outputs.values()) else UNGROUPED
