"""What ``import apache_beam`` gives. Beam is imported when it is used."""

from typing import Any


def __getattr__(name: str) -> Any:
    import apache_beam

    return getattr(apache_beam, name)
