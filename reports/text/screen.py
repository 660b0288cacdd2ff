"""Lines on a terminal."""

from rich.console import Console


def say(console: Console, text: str, style: str = "") -> None:
    """Prints a text as it is: nothing in it is markup, and no line is broken."""
    console.print(text, style=style or None, markup=False, highlight=False, soft_wrap=True)
