"""What an engine says to questions that its framework may refuse, whatever the framework."""

from collections.abc import Callable, Iterable

from conformance.model.engine import ACCEPTED


def answers(names: Iterable[str], ask: Callable[[str], str | None], kind: Callable[[Exception], str]) -> dict[str, str]:
    """Name of a question -> ACCEPTED, with what ``ask`` tells if it tells something, or "refused: " and the kind of the
    error that it raises."""
    found = {}
    for name in names:
        try:
            told = ask(name)
            found[name] = f"{ACCEPTED}: {told}" if told else ACCEPTED
        except Exception as error:
            found[name] = f"refused: {kind(error)}"
    return found
