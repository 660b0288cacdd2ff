"""How many packs of a batch of cases the slower engines run. A batch has some 50 to 80 packs for them. A full run of all scenarios ends
within 20 minutes on 2 cores with these numbers. They stand apart from the adapters: another number does not make another adapter.

A pack of 900 cases of all scenarios in 10 steps takes 2.5 s with the JVM's flatMapGroupsWithState, 6 s with its transformWithState, 10 s with
the Python APIs, alone on 2 cores (Spark 4.3.0).
"""

ADAPTER = False
"""No part of what identifies an adapter: how much is run does not change what an engine does."""

SPARK_JVM = 10
SPARK_PYTHON = 7

SPARK_NATIVE = 4
"""A query takes as long for the few cases of one program as for the cases of all programs."""

BEAM_DIRECT = 40

BEAM_PRISM = 20
"""A pack takes 7 s, three times as long as on beam-direct (Beam 2.77.0)."""
