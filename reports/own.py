"""The files that the project's own pages are made of: beside these modules where they are installed, in docs/ in a
checkout."""

from __future__ import annotations

from pathlib import Path

from conformance.plugins.points import HOME


def own_file(name: str) -> Path | None:
    """A file of the project's own; None where there is none."""
    places = (Path(__file__).parent / name, HOME / "docs" / name)
    return next((place for place in places if place.exists()), None)
