"""Marks of tests."""

import pytest


def quick(names, among):
    """Parameters of a test: ``among``, of which all but ``names`` are marked ``slow``. What they share, the quick ones
    show."""
    return [name if name in names else pytest.param(name, marks=pytest.mark.slow) for name in among]
