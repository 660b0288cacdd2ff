"""Errors of the machine that a query runs on: no query is to blame for them."""

WORDS = (
    "Python worker failed to connect back",
    "the client of Spark Connect ended with code -",  # by a signal
    "java.lang.OutOfMemoryError",
    "No space left on device",
    "Cannot allocate memory",
    "Too many open files",
)


def of_the_machine(error: str) -> bool:
    """Whether an error, as a line tells it, is one of the machine."""
    return any(words in error for words in WORDS)
