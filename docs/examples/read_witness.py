"""Reads witnesses without the harness: checks that they are whole, and tells them step by step.

    python read_witness.py FILE_OR_FOLDER…

docs/witness-format.md describes the format.
"""

import hashlib
import json
import sys
from pathlib import Path

CASE = ("scenario", "program", "guarantee", "perturbation", "schedule", "base_schedule", "neighbours")


def digest(value):
    """Twelve hex digits of the canonical spelling of a JSON value."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def read(path):
    """The witness in a file. Raises ValueError where it is none of schema 2, or was edited."""
    data = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(data, dict) or data.get("schema") != "conformance/witness/2":
        raise ValueError(f"{path} is no witness of schema 2")
    if digest({k: v for k, v in data.items() if k not in ("checksum", "confirmations")}) != data["checksum"]:
        raise ValueError(f"{path} was edited: its checksum does not fit")
    if digest([{k: data[k] for k in CASE if k in data}, data["engine"]]) != data["id"]:
        raise ValueError(f"{path}: the id does not fit what is to be run")
    return data


def told(data):
    """The schedule step by step, with what the engine put out."""
    watermark = 0
    yield f"{data['id']} {data['engine']}: {data['sentence']}: {data['message']}"
    for step in data["schedule"]:
        kind = next(key for key in step if key not in ("id", "coalesced", "initial"))
        yield f"  step {step['id']}: {kind} {'' if kind == 'deliver' else step[kind]}".rstrip()
        for event, key, value, time in step.get("deliver", []):
            met = "on time" if time > watermark else "at the watermark" if time == watermark else "behind"
            yield f"    in  {event} key {key!r} value {json.dumps(value)} at {time} ({met})"
        for key, value, _, _, error in (out for out in data["seen"] if out[2] == step["id"]):
            yield f"    out key {key!r} {error or json.dumps(value)}"
        watermark = step.get("advance", watermark)


if __name__ == "__main__":
    try:
        for place in map(Path, sys.argv[1:]):
            for path in sorted(place.glob("*/*.json")) if place.is_dir() else [place]:
                print("\n".join(told(read(path))))
    except (OSError, ValueError, KeyError) as error:
        sys.exit(f"cannot read it: {error}")
