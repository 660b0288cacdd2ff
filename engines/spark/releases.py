"""What differs between the releases of PySpark."""

from __future__ import annotations

from packaging.version import Version

FOREIGN = ("SPARK_CONF_DIR", "SPARK_DIST_CLASSPATH", "SPARK_HOME")
"""Environment variables that would lead a release of Spark to what another installation has."""


def released() -> tuple[int, int]:
    """The release of the PySpark that is installed, (4, 3) say."""
    import pyspark

    major, minor = pyspark.__version__.split(".")[:2]
    return int(major), int(minor)


def beside(version: Version) -> list[str]:
    """What has to be installed with a PySpark. 3.5.9 takes no NumPy 2, and PyArrow 25 takes no other."""
    return ["pyarrow<19"] if version < Version("4") else []
