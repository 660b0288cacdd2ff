"""A run of many cases, and the memory of its processes batch by batch:

    python -m benchmarks.scale [--engine NAME]... [--cases N] [--scenario NAME]... [--checker spark]

``--cases`` counts for each guarantee, as in ``conformance run``: 1,000 give more than 100,000 cases in all. Memory is
the highest resident memory (MiB) within a batch: of the runner, of the process that holds the engine (Spark's driver in
Python), and of its JVM.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

PARTS = ("runner", "engine", "JVM")


def processes() -> dict[int, tuple[int, str, int]]:
    """Process id -> (its parent's id, its command, its resident memory in MiB)."""
    found = {}
    for path in Path("/proc").glob("[0-9]*"):
        try:
            command = (path / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            status = (path / "status").read_text()
        except OSError:
            continue
        parent, memory = (re.search(rf"^{name}:\s+(\d+)", status, re.MULTILINE) for name in ("PPid", "VmRSS"))
        if parent and memory:
            found[int(path.name)] = int(parent[1]), command, int(memory[1]) // 1024
    return found


def memory(runner: int) -> dict[str, int]:
    there = processes()
    found = dict.fromkeys(PARTS, 0)
    for process, (parent, command, size) in there.items():
        if process == runner:
            found["runner"] = size
        elif parent == runner and "conformance.execution.worker" in command:
            found["engine"] = max(found["engine"], size)
        elif "java" in command.split(" ")[0] and there.get(parent, (0,))[0] == runner:
            found["JVM"] = max(found["JVM"], size)
    return found


def measure(engine: str, wanted: int, scenarios: list[str], checker: str) -> None:
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None) as folder:
        given = f"run --engine {engine} --cases {wanted} --seed 1 --checker {checker} --out {folder}/out"
        only = [f"--scenario={scenario}" for scenario in scenarios]
        started = time.monotonic()
        process = subprocess.Popen(
            [sys.executable, "-m", "conformance.cli", *given.split(), *only, "--witnesses", folder],
            stdout=subprocess.PIPE,
            text=True,
        )
        highest = dict.fromkeys(PARTS, 0)

        def sample() -> None:
            while process.poll() is None:
                for part, size in memory(process.pid).items():
                    highest[part] = max(highest[part], size)
                time.sleep(0.5)

        threading.Thread(target=sample, daemon=True).start()
        said = "drawing"
        assert process.stdout
        for line in process.stdout:
            if re.search(r"batch \d+ of|reducing and confirming|done in| cases on ", line):
                sizes = "  ".join(f"{part} {highest[part]:5}" for part in PARTS)
                print(f"{time.monotonic() - started:7.0f} s  {sizes}  {said}", flush=True)
                highest.update(dict.fromkeys(PARTS, 0))
                said = line.strip()
        print(f"{time.monotonic() - started:7.0f} s  {said}; exit code {process.wait()}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--engine", action="append", help="default: spark-tws-jvm and spark-tws")
    parser.add_argument("--cases", type=int, default=1_000)
    parser.add_argument("--scenario", action="append", default=[], help="default: all")
    parser.add_argument("--checker", default="auto")
    options = parser.parse_args()
    for engine in options.engine or ["spark-tws-jvm", "spark-tws"]:
        print(engine)
        measure(engine, options.cases, options.scenario, options.checker)


if __name__ == "__main__":
    main()
