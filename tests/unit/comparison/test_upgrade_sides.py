"""Which engines' checkpoints an upgrade carries over."""

from folded import H, U, V, run

from conformance.comparison.upgrade import silent_in_one


def test_an_engine_that_failed_in_a_part_of_its_cases_is_carried_over_and_one_without_an_answer_is_not():
    old = run({"whole@1": [H, H], "part@1": [H, V], "none@1": [H, H]})
    new = run({"whole@2": [H, H], "part@2": [U, V], "none@2": [U, U]})
    assert silent_in_one(["whole", "part", "none", "gone"], old, new) == ["none", "gone"]
