"""Run the scripts of the findings, and compare what each says with what it said before: python docs/check_findings.py
[SCRIPT…]

What they said lies in findings/said.json, with the versions that it was said of. The exit code is 1 if a script says
something else, or fails in another way. With --record, what the scripts say now takes the place of that. Some start
Spark, which needs Java; those of Prism take the binary that the harness would take.
"""

from __future__ import annotations

import difflib
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

from conformance.engines.beam.runners import prism_binary
from conformance.execution.environments import python_in
from conformance.model.engine import CannotRun
from conformance.model.values import digest
from conformance.subjects.processes.releases import release

HERE = Path(__file__).parent
SAID = HERE / "findings" / "said.json"
PRISM = "--prism_location"
"""The argument that names Prism's binary."""

ARGUMENTS = {
    "beam_reshuffle_drops_window_end": [[], [PRISM]],
    "beam_timer_cleared_from_a_timer": [[PRISM]],
    "beam_timer_moved_by_a_timer": [[PRISM]],
    "beam_values_are_shared": [[], ["direct"], ["prism", PRISM]],
    "direct_runner_switches": [[PRISM]],
    "prism_batches_lost": [[PRISM], ["direct"]],
    "prism_cuts_sessions": [[PRISM]],
    "prism_flatten_reorders": [[PRISM]],
    "prism_late_panes": [[PRISM], ["direct"]],
    "prism_loses_state": [[PRISM]],
    "prism_order_of_event_time": [[PRISM], ["direct"]],
    "prism_panes_in_no_order": [[PRISM], ["direct"]],
    "prism_sessions": [[PRISM], ["direct"]],
    "prism_side_input_too_early": [[PRISM], ["direct"]],
    "prism_splits_a_key": [[PRISM], [PRISM, "--experiments=prism_disable_sdf_split"]],
    "prism_state_gone_at_window_end": [[PRISM], ["direct"]],
    "prism_timers_of_one_instant": [[PRISM]],
    "prism_waits_for_the_watermark": [[PRISM]],
    "spark_binary_keys_in_group_state": [["pyspark==4.0.5"], ["pyspark==4.1.4"]],
    "spark_state_misfits": [[], ["tester"]],
}
"""Script -> the lists of arguments that it is run with; the others have none. A release is none of the script's: it is
run there, in an environment that is built when it is missing."""

ERROR = re.compile(r"^(?:\w+\.)*(\w+(?:Error|Exception)): ", re.MULTILINE)
"""How a line begins that names an error."""

PACKAGES = {"pyspark": "pyspark", "apache_beam": "apache-beam"}
"""Module -> the package that it comes with."""

Said = dict[str, Any]
"""``script``: the digest of its text; ``versions``: of the frameworks that it imports; ``lines``: what it printed;
``failed``: whether it ended with an error, and then the ``errors`` that it ended with, by their names."""


def scripts() -> dict[str, Path]:
    """Name -> script, of findings and of reports for upstream."""
    return {path.stem: path for folder in ("findings", "upstream") for path in sorted((HERE / folder).glob("*.py"))}


def runs() -> Iterator[tuple[str, list[str]]]:
    """(script, arguments) of each run."""
    return ((name, arguments) for name in scripts() for arguments in ARGUMENTS.get(name, [[]]))


def name_of(script: str, arguments: list[str]) -> str:
    return " ".join([script, *arguments])


def text_of(script: str) -> str:
    """The digest of a script's text: another text may say something else."""
    return digest(scripts()[script].read_text(encoding="utf-8"))


def said(script: str, arguments: list[str]) -> Said:
    """What a script says now."""
    path = scripts()[script]
    text = path.read_text(encoding="utf-8")
    of = next((release(argument) for argument in arguments if "==" in argument), None)
    given = [argument for argument in arguments if "==" not in argument]
    given = [f"{PRISM}={prism_binary.obtain()}" if argument == PRISM else argument for argument in given]
    with tempfile.TemporaryDirectory() as folder:
        python, environment = python_in(Path(folder), of) if of else (sys.executable, None)
        command = [python, str(path), *given]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, env=environment)
    imported = {
        PACKAGES[name] for name in re.findall(r"^\s*(?:from|import) (\w+)", text, re.MULTILINE) if name in PACKAGES
    }
    there = {of.package: of.version} if of else {}
    return {
        "script": digest(text),
        "versions": {package: there.get(package) or version(package) for package in sorted(imported)},
        "lines": [re.sub(r" at 0x[0-9a-f]+", "", line) for line in done.stdout.splitlines()],
        "failed": done.returncode != 0,
        "errors": sorted(set(ERROR.findall(done.stderr))) if done.returncode else [],
    }


def difference(before: Said, now: Said) -> str:
    """How what is said now differs, "" for not at all."""
    if before["failed"] != now["failed"]:
        return (
            "it ended with an error, and did not before"
            if now["failed"]
            else "it ended without an error, unlike before"
        )
    if before["errors"] != now["errors"]:
        return f"it ended with {', '.join(now['errors'])}, not with {', '.join(before['errors'])}"
    return "\n".join(difflib.unified_diff(before["lines"], now["lines"], "before", "now", lineterm="", n=1))


def record() -> dict[str, Said]:
    found: dict[str, Said] = json.loads(SAID.read_text(encoding="utf-8")) if SAID.exists() else {}
    return found


def main(asked: list[str]) -> int:
    recording = "--record" in asked
    names = {name.removesuffix(".py") for name in asked if name != "--record"}
    if unknown := sorted(names - scripts().keys()):
        print(f"no script is called {unknown[0]}: see docs/findings/ and docs/upstream/", file=sys.stderr)
        return 2
    known, otherwise = record(), 0
    for script, arguments in runs():
        name = name_of(script, arguments)
        if names and script not in names:
            continue
        try:
            now, before = said(script, arguments), known.get(name)
        except CannotRun as missing:
            print(f"{name}: not run: {missing}", flush=True)
            continue
        differs = difference(before, now) if before else "nothing was recorded"
        otherwise += bool(differs)
        print(f"{name}: {differs or 'as recorded'}", flush=True)
        if recording:
            known[name] = now
            keep(known)
    return 1 if otherwise and not recording else 0


def keep(known: dict[str, Said]) -> None:
    """Write down what is known of the runs that there are."""
    there = {name_of(*run) for run in runs()}
    kept = {name: known[name] for name in sorted(known) if name in there}
    SAID.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
