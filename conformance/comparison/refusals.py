"""What one release of an engine refuses and another one accepts, or refuses in another way."""

from __future__ import annotations

from collections.abc import Iterator

from conformance.comparison.gate import Outcome, Ruled, of_engine
from conformance.model.engine import bare, is_accepted, same_answer
from conformance.results.results import Results


def refusals_changed(old: Results, new: Results) -> Iterator[Ruled]:
    """The rulings on questions whose answers differ: what was accepted and is refused now blocks, other changes are
    told."""
    after = {bare(engine): record.answers for engine, record in new.environment.items()}
    for engine, record in old.environment.items():
        for question, answer in record.answers.items():
            now = after.get(bare(engine), {}).get(question, answer)
            if not same_answer(now, answer):
                outcome = Outcome.BLOCKS if is_accepted(answer) and not is_accepted(now) else Outcome.TOLD
                yield of_engine(bare(engine), outcome, f"{question}: {answer} → {now}")
