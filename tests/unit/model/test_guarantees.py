"""Guarantees: claims that stand above the predicates that decide them."""

import pickle

import pytest

from conformance.model.equivalence import Equivalence
from conformance.model.feature import Feature
from conformance.model.perturbation import SINGLES
from conformance.model.scenario import Guarantee, Guarantees, Source

DRIVEN = frozenset({Feature.WATERMARK})
GUIDE = Source("a guide", "it is so")

of_counts = Guarantees("counts", needs=DRIVEN)
of_sums = Guarantees("sums")


@of_counts("a count is there", source=GUIDE)
@of_sums("a sum is there", id="a-sum", formerly=("sums-are-there",), vacuous_under=(SINGLES,))
def is_there(run):
    yield True


@of_counts("a count is at most ten", needs=frozenset())
def is_small(run):
    yield True


def test_the_claims_of_a_program_are_its_guarantees_in_the_order_of_the_module():
    assert of_counts == [
        Guarantee("a count is there", "counts", is_there, source=GUIDE, needs=DRIVEN),
        Guarantee("a count is at most ten", "counts", is_small),
    ]
    assert of_sums == [
        Guarantee(
            "a sum is there", "sums", is_there, id="a-sum", formerly=("sums-are-there",), vacuous_under=(SINGLES,)
        )
    ]


def test_a_predicate_below_claims_stays_the_function_that_it_is():
    assert [*is_there(None)] == [True]
    assert pickle.loads(pickle.dumps(is_there)) is is_there


def test_what_a_guarantee_does_not_have_cannot_be_claimed():
    with pytest.raises(TypeError, match="perturbations"):
        of_sums("a sum is a number", perturbations=())(is_there)
    with pytest.raises(ValueError, match="exactly one"):
        of_sums("a sum is a number", same_under=(SINGLES,), alike=Equivalence.IDENTICAL)(is_there)
    assert len(of_sums) == 1
