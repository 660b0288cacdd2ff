"""Run the probes, and record what they saw in conformance/results/claims_probed.json: python docs/claims/record.py
[PROBE…]

Some start Spark, which needs Java. That of Prism takes the binary that the harness would take.
"""

import json
import platform
import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

from conformance.engines.beam.runners import prism_binary
from conformance.model.values import digest
from conformance.results.catalogue import catalogue

HERE = Path(__file__).parent
RECORD = HERE.parents[1] / "conformance" / "results" / "claims_probed.json"
LINE = re.compile(r"^claim (\S+): (confirmed|contradicted): (.*)$", re.MULTILINE)
PACKAGES = {"spark": "pyspark", "beam": "apache-beam"}


def probe(name, of):
    """Claim -> what a probe saw of it; ``of``: the claims that it is asked to decide, by id."""
    script = HERE / f"{name}.py"
    options = [f"--prism_location={prism_binary.obtain()}"] if "prism_location" in script.read_text() else []
    done = subprocess.run([sys.executable, script, *options], capture_output=True, text=True, timeout=300)
    found = {claim: (answer, seen) for claim, answer, seen in LINE.findall(done.stdout)}
    if done.returncode or set(found) != set(of):
        sys.exit(f"{name} said {sorted(found)}, not {sorted(of)}\n{done.stdout}\n{done.stderr[-3000:]}")
    text = digest([script.read_text(), (HERE / "saying.py").read_text()])
    return {
        claim: {
            "answer": answer,
            "seen": seen,
            "script": text,
            "versions": {
                (framework := of[claim].document.framework): version(PACKAGES[framework]),
                "python": platform.python_version(),
            },
        }
        for claim, (answer, seen) in found.items()
    }


by_probe = {}
for claim in catalogue():
    if claim.probe:
        by_probe.setdefault(claim.probe, {})[claim.id] = claim
asked = sys.argv[1:] or list(by_probe)
known = {claim for of in by_probe.values() for claim in of}
record = json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else {}
record = {claim: seen for claim, seen in record.items() if claim in known}
for name in asked:
    found = probe(name, by_probe[name])
    record |= found
    for claim, seen in found.items():
        print(f"{claim}: {seen['answer']}: {seen['seen']}")
RECORD.write_text(json.dumps(dict(sorted(record.items())), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
