"""Bugs that several calls, values or names show together: each has a narrow circumstance in which it acts."""

from conformance.engines.mutants.combined import cells, firings, names, steps, values
