"""The files that the project's own pages are made of, such as the catalogue of known changes between releases: beside
this module where they are installed, in docs/ and baselines/ in a checkout."""

from pathlib import Path

from conformance.comparison.measured import Row, UnreadableMeasurements, read
from conformance.comparison.recall import Change, read_catalogue
from conformance.plugins.points import HOME


def own_file(name: str) -> Path | None:
    """A file of the project's own; None where there is none."""
    return next((place for place in _places(name, HOME / "docs") if place.exists()), None)


def own_baselines() -> Path | None:
    """The folder of the measured releases' baselines; None where there is none."""
    return next((place for place in _places("baselines", HOME) if any(place.glob("*.jsonl"))), None)


def measured(name: str, kind: type[Row]) -> list[Row]:
    """The rows of a file beside the baselines; none where it is not at hand, or of another version."""
    place = own_baselines()
    try:
        return read(place / name, kind) if place and (place / name).exists() else []
    except UnreadableMeasurements:
        return []


def _places(name: str, in_checkout: Path) -> tuple[Path, Path]:
    return Path(__file__).parent / name, in_checkout / name


def known_history() -> list[Change]:
    """The known changes; none where the project's catalogue is not at hand."""
    place = own_file("history.toml")
    return read_catalogue(place) if place else []
