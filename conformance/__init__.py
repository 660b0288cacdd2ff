"""Which guarantees stateful stream processing really gives, engine by engine and version by version."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from conformance.subjects.subject import subject as subject


def __getattr__(name: str) -> Any:
    # Imported when it is asked for: every process of a run imports this package, and few of them need it.
    if name == "subject":
        from conformance.subjects.subject import subject

        return subject
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
