"""What differs between the releases of PySpark."""

from collections.abc import Sequence
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from packaging.version import Version

from conformance.model.engine import Capabilities
from conformance.model.feature import NATIVE, Feature, unsupported

FOREIGN = ("SPARK_CONF_DIR", "SPARK_DIST_CLASSPATH", "SPARK_HOME")
"""Environment variables that would lead a release of Spark to what another installation has."""


OLDEST = Version("3.4")
"""The oldest release that was seen to run. 3.1.3 does not start on Java 17."""


STATE_SOURCE = Version("4.0")
"""The first release with a state data source."""


READING = dict.fromkeys((Feature.INSPECTION, Feature.ROW_COUNT), NATIVE)
"""What the state data source gives."""


REPARTITION = Version("4.2")
"""The first release whose sessions have a StreamingCheckpointManager."""


PLANS_SINCE = {
    # In 3.4.1 and 3.5.9 the watermark does not move where a branch of a union has filtered the heartbeat out.
    "union-of-halves": (4, 0),
    "union-false": (4, 0),
    "connect": (4, 0),  # 3.5.9 has no server beside a classic session
    "join-format-3": (4, 1),  # 4.0.5 refuses the setting
}
"""Plan -> the first release that was seen to run it as it is driven. Of the others no release is known that does
not."""


def dated(can: Capabilities, versions: Sequence[Version]) -> Capabilities:
    """What is left of the capabilities of a Spark engine in all of these releases."""
    plans = [plan for plan in can.plans if all(version.release >= PLANS_SINCE.get(plan.id, ()) for version in versions)]
    features = dict(can.features)
    if not all(version >= STATE_SOURCE for version in versions):
        lacking = (feature for feature in (*READING, Feature.NEXT_API) if features[feature].how != "unsupported")
        features |= dict.fromkeys(lacking, unsupported("PySpark before 4.0 has no state data source"))
    if not all(version.release >= PLANS_SINCE["connect"] for version in versions):
        features[Feature.NEXT_CLIENT] = unsupported("PySpark before 4.0 has no Spark Connect beside a classic session")
    if not all(version >= REPARTITION for version in versions):
        features[Feature.REPARTITION] = unsupported("PySpark before 4.2 has no StreamingCheckpointManager")
    return replace(can, features=features, plans=tuple(plans))


def installed() -> list[Version]:
    """The version of PySpark that is installed, none where there is none. PySpark is not imported."""
    try:
        return [Version(version("pyspark"))]
    except PackageNotFoundError:
        return []


def released() -> tuple[int, int]:
    """The release of the PySpark that is installed, (4, 3) say."""
    import pyspark

    major, minor = pyspark.__version__.split(".")[:2]
    return int(major), int(minor)


def row_encoder(jvm: Any, schema: Any) -> Any:
    """The JVM's encoder of rows with a schema, which 3.5.0 made public."""
    sql = jvm.org.apache.spark.sql
    return sql.Encoders.row(schema) if released() >= (3, 5) else sql.catalyst.encoders.RowEncoder.apply(schema)


def beside(version: Version) -> list[str]:
    """What has to be installed with a PySpark. 3.5.9 takes no NumPy 2, and PyArrow 25 takes no other."""
    return ["pyarrow<19"] if version < Version("4") else []
