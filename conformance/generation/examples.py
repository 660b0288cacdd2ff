"""Examples of a strategy from Hypothesis: the same seed gives the same examples.

Hypothesis runs in its generate phase only, without a database, with a seed.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar
from unittest import mock

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import seed as with_seed
from hypothesis import strategies as st
from hypothesis.internal.cache import LRUCache
from hypothesis.internal.conjecture import providers
from hypothesis.internal.constants_ast import Constants

from conformance.model.values import digest

T = TypeVar("T")


def seeded(*parts: Any) -> int:
    """A seed that depends on all the parts, and on nothing else."""
    return int(digest([str(part) for part in parts]), 16)


def examples(strategy: st.SearchStrategy[T], wanted: int, seed: int, identify: Callable[[T], object]) -> list[T]:
    """``wanted`` distinct examples, or as many as three rounds of Hypothesis find."""
    found: dict[object, T] = {}
    for attempt in range(3):
        missing = wanted - len(found)
        if missing <= 0:
            break

        @with_seed(seed + attempt)
        @settings(
            max_examples=missing + missing // 4 + 2,
            phases=[Phase.generate],
            database=None,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        )
        @given(strategy)
        def collect(example: T) -> None:
            found.setdefault(identify(example), example)

        with _no_local_constants():
            collect()
    return list(found.values())[:wanted]


@contextmanager
def _no_local_constants() -> Iterator[None]:
    """Keep local constants out of the examples. Hypothesis (6.170.15) mixes in the constants of loaded modules outside
    site-packages, so the same seed would give other cases beside a user's port, or in a checkout. Hypothesis has no
    setting for this."""
    nothing_known: LRUCache[Any, Any] = LRUCache(1024)  # the cache may already have such constants
    with (
        mock.patch.object(providers, "_get_local_constants", Constants, create=True),
        mock.patch.object(providers, "CONSTANTS_CACHE", nothing_known, create=True),
    ):
        yield
