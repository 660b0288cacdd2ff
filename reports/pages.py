"""What the pages share: how templates are read, how a page looks, and what it lets a browser do."""

from __future__ import annotations

import base64
import hashlib
from importlib.resources import files

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from reports import picture

TEMPLATES = Environment(
    loader=PackageLoader("reports", "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)


def framed(template: str, script: str = "", **values: object) -> str:
    """A page: its template with the style, a script if it has one, and a policy that lets a browser run and load nothing but
    these two."""
    style = _text("page.css") + picture.STYLE
    code = _text(script) if script else ""
    allowed = f"'{_digest(code)}'" if script else "'none'"
    policy = f"default-src 'none'; style-src '{_digest(style)}'; script-src {allowed}"
    return TEMPLATES.get_template(template).render(style=Markup(style), script=Markup(code), policy=policy, **values)


def _text(name: str) -> str:
    return (files("reports") / "templates" / name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    """What a content security policy calls a script or a style by."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
