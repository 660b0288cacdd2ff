"""spark-tws-tester: the processor of ``spark-tws`` on PySpark's TwsTester, the in-memory stand-in for unit tests. No
JVM.

Its cells show whether tests that are written with it can be trusted.
"""

import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

from conformance.engines.spark.base import ROW_FILTER
from conformance.engines.spark.runtime import releases
from conformance.engines.spark.tws import STATE
from conformance.model.engine import CannotRun, Capabilities
from conformance.model.feature import NATIVE, ON_A_CHECKPOINT, Feature, emulated, unsupported
from conformance.model.program import Program
from conformance.model.runs import Pack, PackRun

CAPABILITIES = Capabilities(
    features={
        **STATE,
        Feature.MISFITS: NATIVE,
        Feature.SEVERAL_BUNDLES: emulated("a bundle is one call of test() for each of its keys"),
        Feature.WATERMARK: NATIVE,
        Feature.PROCESSING_TIME: NATIVE,
        Feature.FIXED_WINDOWS: emulated("window in key"),
        Feature.TTL: unsupported(
            "TwsTester keeps state for ever, whatever its TTL, as its docstring says (PySpark 4.3.0)"
        ),
        Feature.COALESCED: unsupported("setWatermark fires at once what is due (PySpark 4.3.0)"),
        Feature.NO_DATA: unsupported("TwsTester knows no micro-batches, and none without rows (PySpark 4.3.0)"),
        Feature.PARTITIONS: unsupported("TwsTester keeps its state in one process, without partitions (PySpark 4.3.0)"),
        Feature.RETRY: unsupported("a failure ends the call of TwsTester and stays half done (PySpark 4.3.0)"),
        Feature.CURRENT_TIME: unsupported("TwsTester runs no query (PySpark 4.3.0)"),
        Feature.SINK_FAILURE: unsupported("TwsTester has no sink and no checkpoint (PySpark 4.3.0)"),
        **dict.fromkeys(
            (Feature.RESTART, Feature.RESUME, Feature.CRASH, *ON_A_CHECKPOINT),
            unsupported("TwsTester has no checkpoint (PySpark 4.3.0)"),
        ),
        Feature.ROW_COUNT: unsupported("TwsTester reports no progress (PySpark 4.3.0)"),
        Feature.LATE_COUNTER: unsupported("TwsTester drops late rows without a word (PySpark 4.3.0)"),
        Feature.EMISSIONS: NATIVE,
        Feature.OUTPUT_TIME: unsupported(
            "TwsTester gives back the rows of a processor, without a time (PySpark 4.3.0)"
        ),
    },
    lateness=ROW_FILTER,
)


class SparkTwsTester:
    id = "spark-tws-tester"
    title = "Spark TwsTester (Python, rows, no JVM)"
    capabilities = CAPABILITIES
    package = "pyspark"
    foreign = releases.FOREIGN
    beside = staticmethod(releases.beside)

    def check(self) -> None:
        if find_spec("pyspark") is None:
            raise CannotRun("PySpark is not installed: pip install 'pyspark[connect]>=4.0' 'pandas>=2.2,<3'")

    def lacks(self) -> str:
        return "" if find_spec("pyspark.sql.streaming.tws_tester") else "PySpark before 4.2 has no TwsTester"

    def open(self, folder: Path) -> None:
        pass

    def close(self) -> None:
        pass

    def environment(self) -> dict[str, str]:
        import pyspark

        return {"spark": pyspark.__version__, "python": sys.version.split()[0]}

    def evidence(self) -> dict[Feature, str]:
        from conformance.engines.spark.tester import answers as tester_answers

        return tester_answers.evidence()

    def run(self, pack: Pack, programs: Mapping[str, Program]) -> PackRun:
        from conformance.engines.spark.tester import job as tester_job

        return tester_job.run(pack, programs)
