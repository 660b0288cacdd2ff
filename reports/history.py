"""The project's catalogue of known changes between releases, from docs/history.toml."""

from __future__ import annotations

from conformance.comparison.recall import Change, read_catalogue
from conformance.reports.own import own_file


def known_history() -> list[Change]:
    """The known changes; none where the project's catalogue is not at hand."""
    place = own_file("history.toml")
    return read_catalogue(place) if place else []
