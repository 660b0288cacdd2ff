"""Value state: a cell holds the value last written, whatever value that is, and only a write or a clear changes it."""

from __future__ import annotations

from conformance.model.feature import Feature
from conformance.model.program import Cell
from conformance.model.values import Json, canonical
from conformance.scenarios.calls.combined_calls import Asked, gives, reads
from conformance.scenarios.calls.named_lists import FewCells, Part, after, of_lists, one_of
from conformance.scenarios.documents import BEAM_BLOG, JAVADOC, Document

BEAM_VALUE = Document("Beam Java API, ValueState.read", f"{JAVADOC}/2.67.0/org/apache/beam/sdk/state/ValueState.html")
BEAM_EMPTY = BEAM_VALUE.says("null will be returned if the value has never been written")
BEAM_INDEPENDENT = BEAM_VALUE.says(
    "Any direct modification of the returned object should not modify state without going through the appropriate "
    "state interface"
)
WRITE_BACK = BEAM_BLOG.says("as long as you also remember to write the mutated value")

PLAIN: tuple[Json, ...] = ("a", {"b": [1, None]}, "\0é\U0001f600")

EMPTY: tuple[Json, ...] = ("", 0, [], {}, False)
"""Values that are false in a condition of Python."""

TYPED: tuple[Json, ...] = (1, 1.0, "1", True, 2**53 + 1)
"""Values that have an equal in another type, or that another type rounds."""

CHANGE = "changed"


class OneCell(FewCells):
    cells = {"cell": Cell.VALUE}


CELL = OneCell()

WRITES = tuple(f"cell get; cell set {canonical(value)}; cell get" for value in (*PLAIN, None, *EMPTY, *TYPED))

CLEAR = "cell get; cell clear; cell get"

ONE_VALUE = (
    Asked("an empty value cell gives its default", reads(lambda read: not read.written.last), BEAM_EMPTY),
    Asked("a value cell gives the value last written", gives(one_of(*PLAIN))),
    Asked("a cleared value is gone", after("clear")),
    Asked("a null that was written is told from nothing written", gives(one_of(None)), needs=frozenset({Feature.NULL})),
    Asked("an empty text, list or object, 0 and false are values", gives(one_of(*EMPTY))),
    Asked("a value keeps its type", gives(one_of(*TYPED))),
)

CHANGED_LIST = (
    Asked(
        "a value that is changed after it was read is not stored unless it is written",
        reads(
            lambda read: read.written.last == "change" and isinstance(read.wanted, list),
            lambda read: read.gave != [*read.wanted, CHANGE] or read.right(),
        ),
        BEAM_INDEPENDENT,
    ),
    Asked("a value that is changed after it was written is stored as it was written", after("lend")),
    Asked("a value that was read, changed and written is stored with the change", after("extend"), WRITE_BACK),
)

CHANGES = ('set ["w"]', f'change "{CHANGE}"', f'lend ["w"] "{CHANGE}"', f'extend "{CHANGE}"')

SCENARIO = of_lists(
    "value state",
    "Write, clear and change the value of a cell, and emit what it held before and holds now.",
    {
        "one value": Part(CELL, ("cell get", CLEAR, CLEAR, *WRITES), ONE_VALUE),
        "changed list": Part(
            CELL, ("cell get", *(f"cell get; cell {what}; cell get" for what in CHANGES)), CHANGED_LIST
        ),
    },
)
