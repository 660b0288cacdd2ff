"""How many packs of a batch of cases the slower columns run, where a run has some 50 to 80 for them: a full run of all scenarios is to end
within 20 minutes on 2 cores. They stand apart from the adapters, whose source says for which of them a witness was confirmed.

Of 900 cases of all scenarios in 10 steps one takes 2.5 s with the JVM's flatMapGroupsWithState, 6 s with its transformWithState, 10 s with
the Python APIs, alone on 2 cores (Spark 4.3.0).
"""

SPARK_JVM = 10
SPARK_PYTHON = 7

SPARK_NATIVE = 4
"""A query takes as long for the few cases of one program as for those of all."""

BEAM_DIRECT = 40

BEAM_PRISM = 20
"""One takes 7 s, three times as long as on beam-direct (Beam 2.77.0)."""
