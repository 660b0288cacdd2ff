"""How the adapter kit compares two traces: in everything but the orders in which engines may differ."""

import json
from collections import Counter
from typing import NamedTuple

from conformance.model.trace import Emission, Trace
from conformance.model.values import Json, canonical

Part = tuple[str, int, str]
"""(key, step, content) of the output of one element or timer. The content is canonical JSON without the element's
id."""


def short(value: object) -> str:
    """A value for a message."""
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= 120 else text[:120] + "…"


def elements(trace: Trace) -> set[str]:
    """The ids of the elements with output."""
    return {str(e.value[0]) for e in trace.judged if isinstance(e.value, list) and e.value and e.value[0] != "fired"}


def _content(emission: Emission) -> tuple[str, Json]:
    """(the element's id or "" for a timer, the rest of the output). A bag is sorted."""
    value = emission.value
    if emission.error is not None:
        return "", ["an exception"]
    if not isinstance(value, list) or not value or value[0] == "fired":
        return "", [value, emission.event_time]
    if value[1:3] == ["bag", "get"] and isinstance(value[-1], list):
        value = [*value[:-1], sorted(value[-1], key=canonical)]
    return str(value[0]), [*value[1:], emission.event_time]


def _parts(trace: Trace) -> Counter[Part]:
    """The outputs of a trace, by element and timer."""
    found: dict[tuple[str, int, str], list[Json]] = {}
    parts: Counter[Part] = Counter()
    for emission in trace.judged:
        origin, content = _content(emission)
        if origin:
            found.setdefault((emission.key, emission.step, origin), []).append(content)
        else:
            parts[emission.key, emission.step, canonical(content)] += 1
    parts.update((key, step, canonical(contents)) for (key, step, _), contents in found.items())
    return parts


def _first_unlike(one: str, two: str) -> tuple[str, str]:
    """The first differing outputs of two elements or timers."""
    left, right = json.loads(one), json.loads(two)
    pairs = [(canonical(a), canonical(b)) for a, b in zip(left, right, strict=False) if a != b]
    if not pairs or len(left) != len(right) or not isinstance(left[0], list):
        return short(one), short(two)
    return short(pairs[0][0]), short(pairs[0][1])


def in_order(trace: Trace) -> list[Json]:
    """The judged emissions, without the words of exceptions."""
    return [[e.key, e.step, e.value, e.event_time] if e.error is None else [e.key, e.step] for e in trace.judged]


class Difference(NamedTuple):
    """How a trace differs from the wanted one, and how to mend it if the difference tells."""

    words: str
    mend: str = ""


def difference(got: Trace, wanted: Trace, whence: str = "in the reference") -> Difference | None:
    """The first difference that counts."""
    came, shall = _parts(got), _parts(wanted)
    missing, extra = sorted((shall - came).elements()), sorted((came - shall).elements())
    for key, step, content in missing:
        for other_key, other_step, other in extra:
            if content == other and key == other_key:
                return Difference(
                    f"key {key!r} put out {short(content)} in step {other_step}, not in step {step}, as {whence}",
                    "what an element puts out has the step of its bundle, and what a timer does that of the advance "
                    "that makes it due",
                )
            if content == other and step == other_step:
                return Difference(
                    f"{short(content)} of step {step} came out under the key {other_key!r}, not {key!r}, as {whence}",
                    "give every emission the key of its element or timer as it was",
                )
        for other_key, other_step, other in extra:
            if (key, step) == (other_key, other_step):
                was, shall_be = _first_unlike(other, content)
                return Difference(f"step {step}, key {key!r}: {was} came out, not {shall_be}, as {whence}")
        return Difference(f"step {step}, key {key!r}: {short(content)} is missing, which came out {whence}")
    for key, step, content in extra:
        again = " once more" if shall[key, step, content] else ""
        return Difference(f"step {step}, key {key!r}: {short(content)} came out{again}, unlike {whence}")
    if ids := sorted(elements(wanted) ^ elements(got)):
        return Difference(
            f"the program got the element {ids[0]!r} under another id than {whence}",
            "hand the program the event unchanged",
        )
    return None


def out_of_order(got: Trace, wanted: Trace) -> Difference | None:
    """The first key and step whose elements came out in another order than in the reference, which takes them as they
    were delivered."""
    came, shall = _origins(got), _origins(wanted)
    for (key, step), ids in shall.items():
        if (other := came.get((key, step), ids)) != ids and {*other} == {*ids}:
            return Difference(
                f"step {step}, key {key!r}: the elements came out as {', '.join(other)}, not {', '.join(ids)}"
            )
    return None


def _origins(trace: Trace) -> dict[tuple[str, int], list[str]]:
    """(key, step) -> the ids of the elements with output, in the order of their first output."""
    found: dict[tuple[str, int], dict[str, None]] = {}
    for emission in trace.judged:
        if origin := _content(emission)[0]:
            found.setdefault((emission.key, emission.step), {})[origin] = None
    return {place: [*ids] for place, ids in found.items()}


def stray(got: Trace, wanted: Trace) -> Difference | None:
    """The first difference that counts on an engine that puts out only some emissions of a call: an emission that the
    reference lacks, or no emission of a key and step where the reference has some."""
    came = Counter((e.key, e.step, canonical(_content(e)[1])) for e in got.judged)
    shall = Counter((e.key, e.step, canonical(_content(e)[1])) for e in wanted.judged)
    for key, step, content in sorted((came - shall).elements()):
        return Difference(f"step {step}, key {key!r}: {short(content)} came out, unlike in the reference")
    for key, step in sorted({part[:2] for part in shall} - {part[:2] for part in came}):
        return Difference(f"step {step}, key {key!r}: all is missing that came out in the reference")
    if wanted.error and not got.error:
        return Difference("an exception is missing, which came out in the reference")
    return None
