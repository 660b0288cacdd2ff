"""How much of a batch of cases the slower engines run, see ``conformance.model.engine.Budget``. These numbers stand apart from the
adapters: another number does not make another adapter.

The costs are seconds on 2 idle cores (Spark 4.3.0, Beam 2.77.0), two packs at a time where an engine runs them so. They are estimates
made from packs of 10 steps: 4.4 s and 2.6 ms a case on spark-tws, 2.6 s and 0.7 ms on spark-tws-jvm, 1.8 s and 0.1 ms on spark-fmgws-jvm.
"""

from conformance.model.engine import Budget

ADAPTER = False
"""No part of what identifies an adapter: how much is run does not change what an engine does."""

SPARK_TWS_JVM = Budget(seconds=110, pack=0.5, step=0.25, case=0.0007)
SPARK_GROUPS_JVM = Budget(seconds=100, pack=0.5, step=0.17, case=0.0001)
SPARK_PYTHON = Budget(seconds=160, pack=1.0, step=0.35, case=0.0026)
SPARK_PANDAS = Budget(seconds=65, pack=1.0, step=0.35, case=0.01, cases=30, each=5)

SPARK_NATIVE = Budget(seconds=22, pack=0.5, step=0.15, case=0.0005, cases=30, each=5)
"""A query takes as long for the few cases of one program as for the cases of all programs."""

BEAM_DIRECT = Budget(seconds=60, pack=0.1, step=0.02, case=0.0032)

BEAM_NATIVE = Budget(seconds=6, pack=0.2, step=0.01, case=0.008, cases=30, each=5)

BEAM_PRISM_NATIVE = Budget(seconds=10, pack=0.4, step=0.02, case=0.008, cases=30, each=5)

BEAM_PLANS = 3

BEAM_AUTO = Budget(seconds=50, pack=3.0, case=0.002, cases=30, each=5)
"""It hands each pipeline to Prism or to FnApiRunner. Both are engines of their own, which are asked more."""

BEAM_AUTO_PLANS = 1
"""Each program has a pipeline of its own."""

BEAM_PRISM = Budget(seconds=55, pack=0.5, step=0.1, case=0.008, cases=30, each=5)
"""A pack takes 7 s, three times as long as on beam-direct (Beam 2.77.0)."""

SPARK_PLANS = 2
"""How many plans a run asks beside those that every run asks. A plan takes a pack of its own."""

SPARK_NATIVE_PLANS = 1
