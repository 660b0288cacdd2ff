"""A quick run asks too little to see each rare bug. Where it does not see one, it must not read like a run that could
have."""

from collections import defaultdict

import pytest
from drawn import suite_of
from unconfirmed import judged

from conformance.cli.commands.run import QUICK, QUICK_ROWS
from conformance.judgement.cell import Strength, Verdict
from conformance.judgement.verdict import fold
from conformance.plugins.registry import load_scenarios

SCENARIOS = load_scenarios(["per-key-counting"])
RARE = ["one-case-of-thirty-loses-output", "one-case-of-a-hundred-doubled"]
FULL, SEEDS = 10, 10


def rows(mutant, cases):
    """Guarantee -> its row on the mutant."""
    cells = defaultdict(list)
    for cell in judged(SCENARIOS, f"mutant:{mutant}", cases):
        cells[cell.guarantee].append(cell)
    return {guarantee: fold(found) for guarantee, found in cells.items()}


@pytest.fixture(scope="module")
def full():
    return [*{case.id: case for seed in range(3) for case in suite_of(SCENARIOS, FULL, seed).cases}.values()]


@pytest.fixture(scope="module")
def quick():
    return [suite_of(SCENARIOS, QUICK, seed, every=False, most=QUICK_ROWS).cases for seed in range(SEEDS)]


@pytest.mark.parametrize("mutant", RARE)
def test_a_row_that_a_full_run_violates_never_simply_holds_in_a_quick_run(mutant, full, quick):
    """It is violated, or holds in part, or holds on few cases and says so."""
    violated = {guarantee for guarantee, row in rows(mutant, full).items() if row.verdict is Verdict.VIOLATED}
    assert violated
    missed = 0
    for cases in quick:
        found = rows(mutant, cases)
        for guarantee in violated:
            row = found[guarantee]
            assert row.verdict in (Verdict.VIOLATED, Verdict.HOLDS, Verdict.UNKNOWN)
            if row.verdict is Verdict.HOLDS:
                missed += 1
                assert row.in_part or row.strength is Strength.FEW, (guarantee, row.least, row.words)
    assert missed, "else these quick runs show nothing of what a quick run misses"
