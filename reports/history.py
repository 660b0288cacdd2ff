"""The project's catalogue of known changes between releases, from docs/history.toml."""

from __future__ import annotations

from pathlib import Path

from conformance.comparison.recall import Change, read_catalogue
from conformance.plugins.points import HOME


def known_history() -> list[Change]:
    """The known changes: beside this module where it is installed, under docs/ in a checkout; none elsewhere."""
    places = (Path(__file__).parent / "history.toml", HOME / "docs" / "history.toml")
    return next((read_catalogue(place) for place in places if place.exists()), [])
