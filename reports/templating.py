"""The reading of templates, of pages and of XML files."""

from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from conformance.reports.words import legal


def file_text(name: str) -> str:
    """A file among the templates, as it is."""
    return (files("conformance.reports") / "templates" / name).read_text(encoding="utf-8")


def templates(package: str) -> Environment:
    """The templates of a package. Every name in them must be there, and texts are escaped."""
    return Environment(
        loader=PackageLoader(package, "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_carried,
    )


def _carried(value: Any) -> Any:
    """A text without what XML cannot carry, any other value as it is. Markup has none of it."""
    return legal(value) if type(value) is str else value


XML = templates("conformance.reports")
