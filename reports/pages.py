"""The common parts of the pages: the reading of templates, the style, and the policy for browsers."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from importlib.resources import files

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from reports.style import STYLE

TEMPLATES = Environment(
    loader=PackageLoader("reports", "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)


def framed(template: str, scripts: Sequence[str] = (), **values: object) -> str:
    """A page: its template with the style, one script of these files, and a policy. By the policy, a browser runs and loads nothing but
    these two."""
    style = _text("page.css") + STYLE
    code = "\n".join(map(_text, scripts))
    allowed = f"'{_digest(code)}'" if code else "'none'"
    policy = f"default-src 'none'; style-src '{_digest(style)}'; script-src {allowed}"
    return TEMPLATES.get_template(template).render(style=Markup(style), script=Markup(code), policy=policy, **values)


def _text(name: str) -> str:
    return (files("reports") / "templates" / name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    """The digest by which a content security policy names a script or a style."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
