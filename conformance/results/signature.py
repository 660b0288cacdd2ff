"""Signatures: how a guarantee failed. Cases that fail in the same way have the same signature."""

import re

PLACES = r"steps?|ind(?:ex|ices)|numbers?|from|for|at|to|until|ends?|starts?|of|watermark|try|attempt"
"""A number after one of these words says where or when, not how many."""

_NAMES = (
    (r"\{[^{}]*\}", "#"),
    (r"\bkey \S+?(?=[\s,;:.]|$)", "key #"),
)
_TIMES = (
    (r"\[[\d, ]*\d[\d, ]*\]", "[#]"),
    (r"\b[a-z]\d+\b", "#"),
    (r"\b\d+(?= ?(?:ms|s|seconds|milliseconds)\b)", "#"),
    (rf"\b({PLACES})( is| are)? \d+ and \d+\b", r"\1\2 # and #"),
    (rf"\b({PLACES})( is| are)? \d+\b", r"\1\2 #"),
    (r"\b\d{4,}\b", "#"),
)
_COUNT = r"(?<![\w.#-])\d+\b(?!\.\d)"


def signature(message: str) -> str:
    """How a guarantee failed: a predicate's message without its times, events, keys, values and places, but with its
    counts.

    A count is 0, 1 or larger. A larger one reads ``(several)``; a message's counts that are larger still read
    ``(more)``: *in 0 sessions* and *in 7 sessions* are two signatures, *in 7* and *in 8* are one.
    """
    for pattern, put in (*_NAMES, *_TIMES):
        message = re.sub(pattern, put, message)
    larger = sorted({number for found in re.findall(_COUNT, message) if (number := int(found)) > 1})

    def told(found: re.Match[str]) -> str:
        number = int(found[0])
        return found[0] if number < 2 else "(several)" if number == larger[0] else "(more)"

    return _joined(re.sub(r"\b[a-z]?\d+\b", _kept, re.sub(_COUNT, told, message)))


def _kept(found: re.Match[str]) -> str:
    return found[0] if found[0] in ("0", "1") else "#"


def _joined(message: str) -> str:
    return re.sub(r"#(?:, #)+", "#", message)
