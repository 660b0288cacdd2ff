"""The rendering of the pages: templates, and the functions that they may call."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from conformance.reports.text.markdown import plain
from conformance.reports.words import SYMBOLS, replay_command
from conformance.results.witness import Witness

TEMPLATES = Environment(
    loader=FileSystemLoader(Path(__file__).parent / "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)


def rendered(template: str, **values: object) -> str:
    """The page of a template, named without its endings."""
    return TEMPLATES.get_template(f"{template}.md.j2").render(
        plain=lambda text: Markup(plain(text)),
        words=_words,
        titled=titled,
        place_of=place_of,
        replay_command=replay_command,
        symbols=SYMBOLS,
        **values,
    )


def _words(items: Iterable[object]) -> str:
    return ", ".join(map(str, items))


def titled(text: str) -> str:
    """A text as a heading: its first letter is a capital."""
    return text[:1].upper() + text[1:]


def order(witness: Witness) -> tuple[str, str, str, str]:
    """A key to sort witnesses by."""
    return witness.case.scenario, witness.guarantee, witness.engine, witness.id


def place_of(witness: Witness) -> str:
    """The place in the site that shows a witness."""
    return f"scenarios/{witness.case.scenario}.md#witness-{witness.id}"
