"""What an exported pipeline has around its transform: the plans of ``plans``, as source that needs Beam alone.

An element of an exported pipeline is a key with an id and a value.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple


class Around(NamedTuple):
    """The source of ``before(elements)`` and of ``behind(rows)``, "" for none, and lines that they import."""

    before: str = ""
    behind: str = ""
    imports: tuple[str, ...] = ()


BEFORE = """
def before(elements):
    {lines}
"""

BEHIND = """
def behind(rows):
    {lines}
"""

PAIRS = ".with_output_types(Tuple[str, Any])"
CHECKSUM = ("from zlib import crc32",)


def _before(*lines: str, imports: tuple[str, ...] = ()) -> Around:
    return Around(before=BEFORE.format(lines="\n    ".join(lines)), imports=imports)


def _behind(*lines: str) -> Around:
    return Around(behind=BEHIND.format(lines="\n    ".join(lines)))


SOURCES: Mapping[str, Around] = {
    "flatten-empty": _before(
        f'nothing = elements.pipeline | "nothing" >> beam.Create([], reshuffle=False){PAIRS}',
        'return (elements, nothing) | "with nothing" >> beam.Flatten()',
    ),
    "flatten-false": _before(
        f'nothing = elements | "none" >> beam.Filter(lambda element: len(element) < 0){PAIRS}',
        'return (elements, nothing) | "with none" >> beam.Flatten()',
    ),
    "partition": _before(
        "parts = elements | beam.Partition(lambda element, count: crc32(element[0].encode()) % count, 3)",
        'return tuple(parts) | "together" >> beam.Flatten()',
        imports=CHECKSUM,
    ),
    "reshuffle": _before(f'return elements | beam.Reshuffle() | "typed" >> beam.Map(lambda element: element){PAIRS}'),
    "explode": _before(f"return elements | beam.FlatMap(lambda element: [element]){PAIRS}"),
    "window-global": _before('return elements | "everywhere" >> beam.WindowInto(window.GlobalWindows())'),
    "map-behind": _behind('return rows | "mapped" >> beam.Map(lambda row: row)'),
    "reshuffle-behind": _behind('return rows | "reshuffled" >> beam.Reshuffle()'),
    "runtime-types": Around(),
    "no-type-check": Around(),
    "two-workers": Around(),
}
"""By plan. Those that are options alone have no source. A diamond is left out: where a timer fires twice behind it, it
does so in some runs only (Beam 2.77.0)."""


def composed(plans: Collection[str]) -> Around:
    """What all of these plans have around the transform, one after the other in the order of SOURCES."""
    parts = [part for name, part in SOURCES.items() if name in plans]
    imports = dict.fromkeys(line for part in parts for line in part.imports)
    return Around(
        _chained("before", "elements", [part.before for part in parts if part.before]),
        _chained("behind", "rows", [part.behind for part in parts if part.behind]),
        tuple(imports),
    )


def _chained(name: str, given: str, sources: list[str]) -> str:
    """The source of a function ``name`` that calls each of these functions of that name with what the one before it
    returned."""
    if len(sources) < 2:
        return "".join(sources)
    called, found = given, ""
    for number, source in enumerate(sources, 1):
        found += source.rstrip().replace(f"def {name}(", f"def {name}_{number}(", 1) + "\n\n"
        called = f"{name}_{number}({called})"
    return f"{found}\ndef {name}({given}):\n    return {called}\n"
