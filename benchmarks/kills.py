"""What a killed run loses: nothing that an engine has answered.

    python -m benchmarks.kills [--engine NAME]... [--scenario NAME] [--kills N] [--a-run N] [--seed N]

A run goes undisturbed to its end. Then runs are killed at random moments, by SIGKILL, SIGTERM or SIGINT, ``--a-run`` of
them one after the other with one folder and one cache, until a run goes to its end. Exit code 1 if that one does not
find what the undisturbed run found, if a killed run leaves results that cannot be read, ends otherwise than is
documented, or leaves a process behind.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from conformance.results.results import RESULTS, Results

SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)

TIDY = 20
"""Seconds that the processes of engines have to end after the run that started them."""


def found_in(path: Path) -> Any:
    """What a run found: its results without what says when and how long."""
    data: Any = Results.read(path).to_json()
    del data["timing"]
    for record in data["environment"].values():
        record.pop("kept", None)
    return data


class Runs:
    """Runs of one command, with one folder and one cache below ``folder``."""

    def __init__(self, folder: Path, engines: Sequence[str], scenario: str, rows: int = 3) -> None:
        self.out = folder / "out"
        self._folder, self._traces = folder, folder / "traces"
        named = [part for engine in engines for part in ("--engine", engine)]
        asked = [*named, "--scenario", scenario, "--cases", "1", "--rows", str(rows), "--out", str(self.out)]
        self._command = [sys.executable, "-m", "conformance", "run", *asked]

    def run(self, after: float | None = None, by: signal.Signals = signal.SIGKILL) -> int:
        """The exit code of a run, which gets a signal after so many seconds if it still runs then. The text that it
        printed is in ``said``."""
        self._folder.mkdir(exist_ok=True)
        unset = {"CONFORMANCE_FRESH"}
        env = {name: value for name, value in os.environ.items() if name not in unset}
        env["CONFORMANCE_TRACES"] = str(self._traces)
        with (self._folder / "said").open("w+", encoding="utf-8") as said:
            process = subprocess.Popen(self._command, stdout=said, stderr=subprocess.STDOUT, env=env)
            try:
                code = process.wait(after)
            except subprocess.TimeoutExpired:
                process.send_signal(by)
                code = process.wait()
            said.seek(0)
            self.said = said.read()
        until = time.monotonic() + TIDY
        while (left := left_behind(process.pid)) and time.monotonic() < until:
            time.sleep(0.1)
        self.left_behind = left
        return code

    def faults_of_a_killed_run(self, code: int, by: signal.Signals) -> list[str]:
        """What is wrong with how a killed run ended, a sentence each."""
        faults = [f"{by.name}: left processes behind: {self.left_behind}"] if self.left_behind else []
        ended = "results in" in self.said  # then the interpreter may have been about to end
        if code not in (0, 3, -by) or (code == -by and by is not signal.SIGKILL and not ended):
            faults.append(f"{by.name}: exit code {code}")
        if "Traceback" in self.said or "Aborted" in self.said:
            faults.append(f"{by.name}: {self.said[-500:]}")
        if (self.out / RESULTS).exists():
            found_in(self.out / RESULTS)
        return faults


def left_behind(runner: int) -> list[int]:
    """The processes that a run started and that outlive it."""
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            if f"CONFORMANCE_RUNNER={runner}\0".encode() in path.read_bytes():
                found.append(int(path.parent.name))
    return found


def killed(runs: Runs, expected: Any, seconds: float, moments: Sequence[tuple[float, signal.Signals]]) -> list[str]:
    """Kills runs at these moments (parts of ``seconds``, by a signal), then lets one go to its end. Returns what is
    wrong, a sentence each."""
    faults = []
    for moment, by in moments:
        code = runs.run(moment * seconds, by)
        faults += runs.faults_of_a_killed_run(code, by)
        last = runs.said.splitlines()[-1:] or ["nothing"]
        print(f"{by.name} after {moment * seconds:.1f} s: exit code {code}: {last[0][:100]}", flush=True)
    if code := runs.run():
        return [*faults, f"the run after the kills ended with {code}: {runs.said[-500:]}"]
    return faults if found_in(runs.out / RESULTS) == expected else [*faults, "the results differ"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--engine", action="append")
    parser.add_argument("--scenario", default="per-key-counting")
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--a-run", type=int, default=4)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    engines = asked.engine or ["reference", "beam-direct"]
    dice, faults = random.Random(asked.seed), []
    with tempfile.TemporaryDirectory() as folder:
        whole = Runs(Path(folder, "whole"), engines, asked.scenario)
        started = time.monotonic()
        if code := whole.run():
            sys.exit(f"the undisturbed run ended with {code}: {whole.said[-500:]}")
        seconds = time.monotonic() - started
        expected = found_in(whole.out / RESULTS)
        moments = [(dice.random(), dice.choice(SIGNALS)) for _ in range(asked.kills)]
        for number in range(0, asked.kills, asked.a_run):
            runs = Runs(Path(folder, str(number)), engines, asked.scenario)
            faults += killed(runs, expected, seconds, moments[number : number + asked.a_run])
    for fault in faults:
        print(fault, file=sys.stderr)
    print(f"{asked.kills} kills of runs of {seconds:.0f} s: {len(faults)} faults")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
