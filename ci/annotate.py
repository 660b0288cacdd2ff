"""Marks what the gate blocks: the entry of the file of expectations that is about it, else the lock file that was
changed.

    python annotate.py OUT [EXPECTATIONS] [CHANGED]

OUT is the folder of ``run.sh``. On GitHub the lines are workflow commands, elsewhere they are FILE:LINE: error:
MESSAGE.
"""

import os
import re
import sys
from pathlib import Path
from xml.etree import ElementTree

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

GATE = "conformance gate"
"""The name in a JUnit file of the gate. A run has a JUnit file of another name beside it."""

MOST = 50
"""Number of annotations of a job, since services show few of them."""


def main(out, expectations="", changed=""):
    """Prints an annotation for each ruling that blocks, and for what the harness refused."""
    listed = entries(Path(expectations)) if expectations else []
    found = [annotation(ruling, listed, expectations, changed) for ruling in blocked(Path(out))]
    found += refused(Path(out) / "ci.log", listed, expectations)
    for path, line, title, message in found[:MOST]:
        print(shown(path, line, title, message))
    if len(found) > MOST:
        print(f"{len(found) - MOST} more are in the summary")


def entries(path):
    """(line, engine, guarantee) of each [[divergence]] of a file; none where the file cannot be used."""
    try:
        text = path.read_text(encoding="utf-8")
        found = [(entry.get("engine"), entry.get("guarantee")) for entry in tomllib.loads(text)["divergence"]]
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return []
    lines = [n for n, line in enumerate(text.splitlines(), 1) if re.match(r"\s*\[\[\s*divergence\s*\]\]", line)]
    return [(line, *about) for line, about in zip(lines, found, strict=False)]


def blocked(out):
    """(engine, SCENARIO/GUARANTEE or "", what is said of it) of each failure in the gate's JUnit files."""
    for path in sorted([*out.glob("*.xml"), *out.glob("*/*.xml")]):
        root = ElementTree.parse(path).getroot()
        if root.get("name") != GATE:
            continue
        for case in root.iter("testcase"):
            failure = case.find("failure")
            if failure is not None:
                engine, _, scenario = case.get("classname", "").rpartition(".")
                guarantee = re.sub(r" \[[^\]]*\]$", "", case.get("name", ""))
                about = (engine, f"{scenario}/{guarantee}") if engine else (scenario, "")
                yield *about, (failure.text or failure.get("message", "")).strip()


def annotation(ruling, listed, expectations, changed):
    """(file, line, title, message) of a ruling; the file is "" where nothing in the repository is about it."""
    engine, guarantee, said = ruling
    line = next((line for line, *about in listed if about == [engine, guarantee]), 0)
    where = (expectations, line) if line else (changed, 1 if changed else 0)
    return *where, "/".join(filter(None, (engine, guarantee))) or "the run", said


def refused(log, listed, expectations):
    """The annotation of an error in one line, which the harness ends with on bad input."""
    lines = log.read_text(encoding="utf-8").splitlines() if log.is_file() else []
    for said in (line.removeprefix("Error: ") for line in lines if line.startswith("Error: ")):
        number = re.search(r": divergence (\d+)\b", said)
        entry = listed[int(number[1]) - 1] if number and int(number[1]) <= len(listed) else None
        named = next((one for one in listed if f"{one[1]}/{one[2]} " in said), entry)
        yield (expectations, named[0], "expectations", said) if named else ("", 0, "conformance", said)


def shown(path, line, title, message):
    if os.environ.get("GITHUB_ACTIONS") != "true":
        return f"{path}:{line}: error: {message}" if path else f"error: {message}"
    place = f"file={_property(path)},line={line}," if path else ""
    return f"::error {place}title={_property(title)}::{_data(message)}"


def _data(text):
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text):
    return _data(text).replace(":", "%3A").replace(",", "%2C")


if __name__ == "__main__":
    main(*sys.argv[1:])
