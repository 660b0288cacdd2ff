"""The Java and the PySpark that are installed here."""

import os
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path

HOME = ("bin", "data", "jars", "licenses", "sbin")
"""The parts of PySpark's folder that are Spark."""


def java() -> str | None:
    """The java program that Spark would start, None where there is none."""
    home = os.environ.get("JAVA_HOME")
    return shutil.which("java", path=str(Path(home) / "bin")) if home else shutil.which("java")


@cache
def java_version() -> str:
    program = java()
    if program is None:
        return "none"
    said = subprocess.run([program, "-version"], capture_output=True, text=True, check=False).stderr
    found = re.search(r'version "([^"]+)"', said)
    return found.group(1) if found else "unknown"


def home(folder: Path) -> Path:
    """PySpark's folder without its Python part. Spark would put that, an archive, on the path of its Python processes,
    which then compile PySpark anew: 0.5 s of the 0.8 s of the process that each query of transformWithState starts
    (Spark 4.3.0)."""
    import pyspark

    place = folder / "spark"
    place.mkdir(exist_ok=True)
    for part in Path(pyspark.__file__).parent.iterdir():
        if part.name in HOME and not (place / part.name).exists():
            (place / part.name).symlink_to(part)
    return place
