"""Transforms before a subject that change no element. A script has the source of the function, which uses nothing
else."""

from __future__ import annotations

from typing import Any


def unchanged(elements: Any, of: str) -> Any:
    """The elements of an input, each as it was, at its time."""
    import apache_beam as beam

    same = elements | f"same {of}" >> beam.Map(lambda element: element)
    none = elements | f"none {of}" >> beam.Filter(lambda element: False)
    return (same, none) | f"both {of}" >> beam.Flatten()
