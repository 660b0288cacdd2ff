"""What is said of a name that nothing has: the nearest name that there is, then all of them. And how a number of
things is said."""

import re
from collections.abc import Iterable
from difflib import get_close_matches

MOST = 12


def nearest(name: str, there: Iterable[str]) -> str:
    """The name in ``there`` that a mistyped name is most like, "" if none is like it. Case does not count."""
    by_lower = {known.lower(): known for known in there}
    return next((by_lower[found] for found in get_close_matches(name.lower(), by_lower, n=1)), "")


def instead(name: str, there: Iterable[str], what: str = "there are") -> str:
    """The end of a message about an unknown name: "did you mean A? There are: A, B", or "there are: A, B". Of many
    names, MOST: first those with a word that begins as one of the name does."""
    there, begins = list(there), _beginnings(name)
    if len(there) > MOST:
        there.sort(key=lambda known: not begins & _beginnings(known))
    near = nearest(name, there)
    more = f" and {len(there) - MOST} more" if len(there) > MOST else ""
    said = f"{what}: {', '.join(there[:MOST])}{more}" if there else "there is none"
    return f"did you mean {near}? {said[0].upper()}{said[1:]}" if near else said


def _beginnings(name: str) -> set[str]:
    """How the longer words of a name begin."""
    return {word[:4] for word in re.split(r"\W|_", name.lower()) if len(word) >= 4}


def unknown(kind: str, name: str, there: Iterable[str]) -> str:
    """The message about an unknown name, in one line: "unknown engine 'x'; there are: …"."""
    return f"unknown {kind} {name!r}; {instead(name, there)}"


def counted(number: int, what: str, plural: str = "s") -> str:
    """A number of things: "1 case", "2 cases"."""
    return f"{number} {what}" + ("" if number == 1 else plural)
