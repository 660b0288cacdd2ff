"""A version before a restart that runs in a process of its own, in another release: ``python -m
conformance.subjects.processes.beginning PLACE``.

Each line of its standard input is a run to begin, each line of its standard output how that ended: objects of JSON. The
checkpoint and the input are files, which both processes name by the same paths.
"""

import json
import shutil
import sys
import tempfile
from pathlib import Path
from typing import IO, Any

from conformance.plugins import loading
from conformance.subjects.found import chosen, drivers, subjects_in
from conformance.subjects.processes.elsewhere import Began, Place
from conformance.subjects.processes.worker import in_utc, loaded
from conformance.subjects.schema import InvalidSubject
from conformance.support.output import private_stdout


def serve(place: Place, lines: IO[str], out: IO[str]) -> None:
    """Run what is asked for, until there is nothing more."""
    in_utc()
    loading.ask_for([place.file])
    driver: Any = drivers()[place.driver]
    found, folders = loaded({place.driver: driver})
    there = subjects_in(next(iter(found.modules.values())))
    folder = folders.get(place.driver) or Path(tempfile.mkdtemp(prefix="subjects-"))
    driver.open(folder, found.by_value)
    try:
        for line in lines:
            asked = json.loads(line)
            try:
                [subject] = chosen(there, [asked["name"]], place.file)
                began = driver.begin(subject, Path(asked["folder"]), asked["files"], asked["settings"])
            except InvalidSubject as error:
                began = Began(error=str(error))
            out.write(json.dumps(began.to_json()) + "\n")
            out.flush()
    finally:
        driver.close()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    serve(Place.from_json(json.loads(sys.argv[1])), sys.stdin, private_stdout())
