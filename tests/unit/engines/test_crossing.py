"""Values of a type on their way to the JVM and back, as JSON."""

import json

import pytest

from conformance.engines.spark.jvm.crossing import back, there
from conformance.model.types import Array, Double, Float, Map, String, Struct, shown
from conformance.scenarios.typed.typed_key_samples import KEYS
from conformance.scenarios.typed.typed_samples import SAMPLES, TYPES


def crossed(kind, value):
    return back(kind, json.loads(json.dumps(there(kind, value))))


@pytest.mark.parametrize("name", SAMPLES)
def test_a_typed_value_crosses_as_it_is(name):
    cell, value = SAMPLES[name]
    assert shown(crossed(TYPES[cell], value)) == shown(value)


@pytest.mark.parametrize("name", KEYS)
def test_a_typed_key_crosses_as_it_is(name):
    key = KEYS[name]
    assert shown(crossed(key.type, key.value)) == shown(key.value)


def test_a_null_crosses_at_any_depth():
    kind = Struct((("a", Array(Map(String(), Double()))), ("b", Float())))
    for value in (None, (None, None), ([None], None), ([{"x": None}], -0.0)):
        assert shown(crossed(kind, value)) == shown(value)


def test_the_bits_of_a_number_cross():
    assert there(Double(), -0.0) == -(2**63) != there(Double(), 0.0) == 0
    assert there(Float(), 1.5) == 0x3FC00000
