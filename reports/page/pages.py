"""The common parts of the pages: the reading of templates, the style, the policy for browsers, and what a page has
packed."""

import base64
import hashlib
import json
import re
import zlib
from collections.abc import Iterator, Sequence
from itertools import chain

from markupsafe import Markup, escape

from conformance.reports.templating import file_text, templates
from conformance.reports.words import amount, some

TEMPLATES = templates("conformance.reports")


def raw(text: str) -> Markup:
    """Text between tags, with its quotes as they are."""
    return Markup(text.replace("&", "&amp;").replace("<", "&lt;"))


TEMPLATES.filters["raw"] = raw


def broken(name: str) -> Markup:
    """A name that may break after hyphens and colons and before capital letters."""
    return Markup(re.sub(r"(?<=[-:])(?=.)|(?<=[a-z])(?=[A-Z])", "<wbr>", str(escape(name))))


TEMPLATES.filters["broken"] = broken
TEMPLATES.filters["some"] = some
TEMPLATES.filters["amount"] = amount


ALIKE = 3
"""The characters at the beginning of a line by which packed lines are put together."""


def _runs(numbers: Sequence[int]) -> Iterator[int]:
    """The first number and the length of each stretch of numbers that follow one another."""
    begun = 0
    for at, number in enumerate(numbers, 1):
        if at == len(numbers) or numbers[at] != number + 1:
            yield from (numbers[begun], at - begun)
            begun = at


class Parts:
    """Parts of a page that its script unpacks: markup that stands at the end of the page, compressed. In a page that is
    ``plain`` they stand in their places, for browsers without JavaScript."""

    def __init__(self, plain: bool = False) -> None:
        self.plain = plain
        self._markup: list[str] = []

    def add(self, markup: str) -> int:
        """The number of a new part."""
        self._markup.append(markup)
        return len(self._markup) - 1

    @property
    def packed(self) -> str:
        """The parts of a page that is not plain: their distinct lines, and for each part its stretches of lines (the
        number of the first one, and how many), as JSON in the format of zlib, as ``in_base_85`` has it. Parts have many
        lines in common, farther apart than zlib looks back; lines that begin alike stand together for the same
        reason."""
        parts = [] if self.plain else [markup.split("\n") for markup in self._markup]
        lines = sorted(dict.fromkeys(chain.from_iterable(parts)), key=lambda line: line[:ALIKE])
        numbers = {line: number for number, line in enumerate(lines)}
        content = [lines, [list(_runs([numbers[line] for line in part])) for part in parts]]
        found = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
        return in_base_85(zlib.compress(found.encode(), 9))


def in_base_85(content: bytes) -> str:
    """Bytes as text that means nothing in HTML: their number, a space, and five characters for each four bytes, as in
    RFC 1924, but with "," and "." in the place of "&" and "<". It is a sixteenth shorter than base64."""
    return f"{len(content)} {base64.b85encode(content, pad=True).decode().translate({ord('&'): ',', ord('<'): '.'})}"


FIRST = 'document.body.className = "js"'
"""The script at the beginning of a page. What the page's script will fold is then folded before the browser lays it
out, which takes the browser longer than all else. Without JavaScript nothing is folded."""


def framed(template: str, scripts: Sequence[str] = (), **values: object) -> str:
    """A page: its template with the style, one script of these files, FIRST, and a policy. By the policy, a browser
    runs and loads nothing but these."""
    style = file_text("page.css") + file_text("picture.css")
    code = "\n".join(map(file_text, scripts))
    allowed = " ".join(f"'{_digest(text)}'" for text in (FIRST, code)) if code else "'none'"
    policy = f"default-src 'none'; style-src '{_digest(style)}'; script-src {allowed}"
    page = TEMPLATES.get_template(template)
    return page.render(style=Markup(style), first=Markup(FIRST), script=Markup(code), policy=policy, **values)


def _digest(text: str) -> str:
    """The digest by which a content security policy names a script or a style."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
