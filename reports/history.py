"""The project's catalogue of known changes between releases, from docs/history.toml."""

from __future__ import annotations

from pathlib import Path

from conformance.comparison.recall import Change, read_catalogue


def known_history() -> list[Change]:
    """The known changes: beside this module where it is installed, under docs/ in a checkout; none elsewhere."""
    places = (Path(__file__).parent / "history.toml", Path(__file__).parents[1] / "docs" / "history.toml")
    return next((read_catalogue(place) for place in places if place.exists()), [])
