"""Times of a run, for viewers that ask for them."""

from collections.abc import Iterable

from conformance.results.results import Results


def seconds_of(results: Results, engine: str) -> float:
    """How long an engine took, with its start, its checks and its witnesses; 0 where the results do not say."""
    engines = results.timing.get("engines")
    told = engines.get(engine) if isinstance(engines, dict) else None
    taken = told.get("all", 0.0) if isinstance(told, dict) else 0.0
    return float(taken) if isinstance(taken, (int, float)) else 0.0


def per_case(results: Results, engine: str, cases: Iterable[int]) -> float:
    """An engine's seconds for each case of each of its rows, of which ``cases`` has the numbers. A pack has cases of
    many guarantees, so a row has no time of its own: its share is that of its cases."""
    return seconds_of(results, engine) / max(sum(cases), 1)
