"""A violation of a subject on Spark, as a script: two runs of the user's own function that must answer alike, and what
they answer. ``script`` fills it in."""

import functools
import importlib.util
import inspect
import json
import os
import subprocess
import sys
import tempfile
import types
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path

os.environ["TZ"] = "UTC"
os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
FILE = ""
NAME = ""
"""The user's function. Its folder may have modules that it imports."""

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str((HERE / FILE).parent))

from pyspark import cloudpickle  # noqa: E402
from pyspark.sql import SparkSession  # noqa: E402

from conformance.subjects.scripts import KNOWN, back, forget_modules_in, stops  # noqa: E402

if importlib.util.find_spec("conformance") is None:  # all that is needed of it here
    sys.modules["conformance"] = types.ModuleType("conformance")

    def subject_stub(**options):
        def declared(function):
            named = functools.wraps(function)(lambda *given, **more: function(*given, **more))
            named.options = options
            return named

        return declared

    sys.modules["conformance"].subject = subject_stub


def session():
    quiet = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false"}
    return SparkSession.builder.master("local[2,4]").config(map=quiet).getOrCreate()


def loaded(file, name, called):
    """A function of a file, and what modules beside it keep in memory, anew. By the file's path: its name need not be
    one of Python's, and two files may share it."""
    forget_modules_in((HERE / file).resolve().parent)
    spec = importlib.util.spec_from_file_location(called, HERE / file)
    module = sys.modules[called] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    cloudpickle.register_pickle_by_value(module)
    return getattr(module, name)


@dataclass
class Setup:
    """How a run is made. It is restarted before the micro-batches ``restarts``; ``fails`` fails once, after its rows
    were taken; with ``breaks`` -1 the first one from there on that has any, and else its sink, before that line.
    Those before ``begun`` are run by ``by``, and not shown; ``only`` they run where a Python of another release is
    called for them. ``through`` is done to each input, ``sink`` to a micro-batch before its rows are taken. ``files``:
    of a micro-batch. ``bounded``: as a batch query. ``sparse``: an input without rows in a micro-batch has no file.
    ``goes_on``: the query does not end with its input."""

    restarts: tuple = ()
    fails: int | None = None
    breaks: int = 0
    settings: dict = field(default_factory=dict)
    files: int = 1
    bounded: bool = False
    through: Callable = lambda frame: frame
    begun: int = 0
    by: object = None
    only: bool = False
    sink: Callable = lambda frame: frame
    sparse: bool = False
    goes_on: bool = False


EARLY = False
"""Whether the file needs a session while it is loaded."""

if EARLY:
    session()
subject = loaded(FILE, NAME, Path(FILE).stem)
PREVIOUS = None
"""The file and the name of the version before."""

previous = PREVIOUS and loaded(*PREVIOUS, "previous_version")
ELSEWHERE = "another release"

SCHEMAS = {"": ""}
MODE = "append"
OUTPUT_KEY = []
IGNORED = []
OWN_SINK = False
"""Whether the user's ``sink`` takes the rows, and the user's ``table`` has the answer."""

KEY = ""
NOT_COMPARED = []
"""What comes out for these keys is not compared: they move the watermark past everything else, or are other keys than
those that the two runs are about."""

PLAIN = []
"""The rows of each micro-batch."""

WHAT = ""
"""What the second run has that the first has not."""

VARIED = []
"""The same rows, of the second run."""

SETTINGS = {}
BESIDE = Setup()
"""How the first run is made."""

SETUP = Setup()
"""How the second run is made."""

MOVED = 0
"""So many ms later are the times of the second run."""

BETWEEN = ()
"""The instants between which all times lie."""

LEFT, DROPPED = "rows of state", "rows dropped as late"
COMPARED = None
"""LEFT, DROPPED, or None: the answers."""

VIOLATED = ""
HELD = ""


def run(spark, folder, batches, how):
    """The final rows of a run, the operators that keep state before and behind ``how.begun``, and the rows of state at
    the end with those dropped as late."""
    spark = spark.newSession()
    for setting, value in {**SETTINGS, **how.settings}.items():
        spark.conf.set(setting, value)
    folder = Path(folder)
    taken, failed, shown, operators, counts = {}, [], 0, [], {LEFT: 0, DROPPED: 0}

    def write(number):
        for name in SCHEMAS:
            rows = [row for of, row in batches[number] if of == name]
            (folder / f"input-{name}").mkdir(exist_ok=True)
            for part in range(how.files if rows or not how.sparse else 0):
                path = folder / f"input-{name}" / f"{number:05d}-{part}.json"
                path.write_text("".join(json.dumps(row) + "\n" for row in rows[part :: how.files]))
                os.utime(path, (1_600_000_000 + number * how.files + part,) * 2)

    def output(version):
        reader = spark.read if how.bounded else spark.readStream.option("maxFilesPerTrigger", how.files)
        inputs = {}
        for name, schema in SCHEMAS.items():
            inputs[name] = how.through(reader.schema(schema).json(str(folder / f"input-{name}")))
        return version(*inputs.values()) if "" in inputs else version(**inputs)

    def received(frame, batch, mine, breaks=0):
        if not OWN_SINK:
            return [row.asDict(recursive=True) for row in frame.collect()]
        sink = mine.options["sink"]
        code = getattr(inspect.unwrap(sink), "__code__", None)
        if stops(breaks, code, lambda: sink(frame, batch, str(folder / "table"))):
            raise RuntimeError("this failure was asked for")
        return []

    def in_table():
        there = subject.options["table"](spark, str(folder / "table")) if (folder / "table").exists() else []
        rows = there.collect() if hasattr(there, "collect") else there
        return [row.asDict(recursive=True) if hasattr(row, "asDict") else row for row in rows]

    def query(version, last_fails):
        # A query that begins again finds nothing in the memory of modules.
        version = loaded(FILE, NAME, Path(FILE).stem) if operators and version is subject else version

        def take(frame, batch):
            due = last_fails and not failed
            shows = due and how.breaks and OWN_SINK and not frame.isEmpty()
            if shows and how.breaks > 0:
                failed.append(batch)
            taken[batch] = received(how.sink(frame), batch, version, how.breaks if shows else 0)
            if due and (batch == first if not how.breaks else how.breaks < 0 and (shows or taken[batch])):
                failed.append(batch)
                raise RuntimeError("this failure was asked for")

        first = max(taken, default=-1) + 1
        writer = output(version).writeStream.outputMode(MODE).foreachBatch(take)
        trigger = {"processingTime": "0 seconds"} if how.goes_on else {"availableNow": True}
        started = writer.option("checkpointLocation", str(folder / "checkpoint")).trigger(**trigger).start()
        try:
            started.processAllAvailable() if how.goes_on else started.awaitTermination()
        except Exception:
            if not (last_fails and failed):
                raise
        started.stop()
        for progress in started.recentProgress:
            kept = progress["stateOperators"]
            counts[LEFT] = sum(operator["numRowsTotal"] for operator in kept)
            counts[DROPPED] += sum(operator["numRowsDroppedByWatermark"] for operator in kept)
        last = started.lastProgress
        operators.append([operator["operatorName"] for operator in last["stateOperators"]] if last else [])

    if how.bounded:
        for number in range(len(batches)):
            write(number)
        rows = received(output(subject), 0, subject)
        return in_table() if OWN_SINK else rows, [], counts
    cuts = sorted({0, len(batches), how.begun, *how.restarts, *([] if how.fails is None else [how.fails])})
    for begin, end in pairwise(cuts):
        for number in range(begin, end):
            write(number)
        version = (how.by if end <= how.begun else None) or subject
        if version is ELSEWHERE:
            subprocess.run([sys.argv[1], __file__, "begin", str(folder)], check=True)
            operators.append([])
        else:
            query(version, begin == how.fails)
        if begin == how.fails:
            query(version, False)
        if end == how.begun:
            done = [int(file.name) for file in (folder / "checkpoint" / "commits").iterdir() if file.name.isdigit()]
            shown = max(done, default=-1) + 1
            if how.only:
                return [], [], counts
    for batch in range(shown):  # of the version before
        taken.pop(batch, None)
    behind = operators[-1] if how.begun else []
    if OWN_SINK:
        return in_table(), [[], behind], counts
    if MODE == "complete":
        return (taken[max(taken)] if taken else []), [operators[0], behind], counts
    rows = [row for batch in sorted(taken) for row in taken[batch]]
    if MODE == "update" and OUTPUT_KEY:
        rows = list({str([row.get(column) for column in OUTPUT_KEY]): row for row in rows}.values())
    return rows, [operators[0] if how.begun else [], behind], counts


def lines(rows, moved):
    rows = [row for row in rows if row.get(KEY) not in NOT_COMPARED]
    rows = [{name: value for name, value in row.items() if name not in IGNORED} for row in rows]
    rows = [{name: back(value, moved, *BETWEEN, KNOWN) for name, value in row.items()} for row in rows]
    return sorted(", ".join(f"{name}={value}" for name, value in row.items()) for row in rows)


def main():
    spark = session()
    spark.sparkContext.setLogLevel("OFF")
    if sys.argv[1:2] == ["begin"]:
        run(spark, sys.argv[2], VARIED, replace(SETUP, by=previous or subject, only=True))
        return 0
    answers = []
    for what, batches, setup, moved in (("plain", PLAIN, BESIDE, 0), (WHAT, VARIED, SETUP, MOVED)):
        with tempfile.TemporaryDirectory() as folder:
            rows, operators, counts = run(spark, folder, batches, setup)
        shown = lines(rows, moved)
        answers.append(counts[COMPARED] if COMPARED else (shown, operators))
        print(f"{what}:" + (f" operators {operators[0]}, then {operators[1]}" if any(operators) else ""))
        for line in shown:
            print(f"    {line}")
        print(f"    {counts}")
    plain, varied = answers
    differ = plain != varied if COMPARED is None else plain > (varied if COMPARED == LEFT else 0)
    print(VIOLATED if differ else HELD)
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
