"""A violation as a script of PySpark: two runs of the user's own function that must answer alike, and what they
answer."""

from __future__ import annotations

from collections.abc import Sequence
from inspect import getsourcefile, unwrap
from pathlib import Path
from pprint import pformat
from typing import TYPE_CHECKING

from conformance.engines.scripts import path_from, words_of
from conformance.engines.spark.subjects.sinks import ATTEMPT, SINKS, retried, unchanged
from conformance.subjects.rows import Delivery, rows_in, written
from conformance.subjects.scripts import in_a_script
from conformance.subjects.setup import PLAIN

if TYPE_CHECKING:
    from conformance.subjects.questions import Pair, Run
    from conformance.subjects.setup import Setup
    from conformance.subjects.subject import Subject

TEMPLATE = '''"""{title}

Run it: python {file}{usage}
It exits with 1 while {fails}. Seen on {version}.
"""

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import types
from datetime import date, datetime, timedelta
from pathlib import Path

os.environ["TZ"] = "UTC"
os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
sys.path.insert(0, str(Path(__file__).resolve().parent / {folder!r}))

from pyspark import cloudpickle
from pyspark.sql import SparkSession

if importlib.util.find_spec("conformance") is None:  # all that is needed of it here
    sys.modules["conformance"] = types.ModuleType("conformance")
    sys.modules["conformance"].subject = lambda **declared: lambda function: function


def session():
    quiet = {{"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false"}}
    return SparkSession.builder.master("local[2,4]").config(map=quiet).getOrCreate()

{early}
# By its path: the name of a file need not be one of Python's.
spec = importlib.util.spec_from_file_location({module!r}, Path(__file__).resolve().parent / {path!r})
module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
{name} = module.{name}

cloudpickle.register_pickle_by_value(module)
{previous}
SCHEMAS = {schemas}
MODE = {mode!r}
OUTPUT_KEY = {output_key}
IGNORED = {ignored}
KEY, CLOSING = {key!r}, {closing}
"""Rows with these keys move the watermark past everything else. What comes out for them is not compared."""

PLAIN = {plain}
"""The rows of each micro-batch."""

VARIED = {varied}
"""The same rows, where this is said of them: {what}"""


def run(
    spark,
    folder,
    batches,
    restarts=(),
    fails=None,
    settings={{}},
    files=1,
    bounded=False,
    through=False,
    begun=0,
    by={name},
    only=False,
    sink=lambda frame: frame,
    sparse=False,
    goes_on=False,
):
    """The final rows of a run, the operators that keep state before and behind ``begun``, and the rows of state at the
    end with those dropped as late. The run is restarted
    before the micro-batches ``restarts``; ``fails`` fails once, after its rows were taken. Those before ``begun`` are
    run by ``by``, and not shown; ``only`` they run where a Python of another release is called for them. ``sink`` is
    done to a micro-batch before its rows are taken. ``sparse``: an input without rows there has no file. ``goes_on``:
    the query does not end with its input."""
    spark = spark.newSession()
    for setting, value in {{{common}, **settings}}.items():
        spark.conf.set(setting, value)
    folder = Path(folder)
    taken, failed, shown, operators, counts = {{}}, [], 0, [], {{"rows of state": 0, "rows dropped as late": 0}}

    def write(number):
        for name in SCHEMAS:
            rows = [row for of, row in batches[number] if of == name]
            (folder / f"input-{{name}}").mkdir(exist_ok=True)
            for part in range(files if rows or not sparse else 0):
                path = folder / f"input-{{name}}" / f"{{number:05d}}-{{part}}.json"
                path.write_text("".join(json.dumps(row) + "\\n" for row in rows[part::files]))
                os.utime(path, (1_600_000_000 + number * files + part,) * 2)

    def output(version):
        reader = spark.read if bounded else spark.readStream.option("maxFilesPerTrigger", files)
        inputs = {{}}
        for name, schema in SCHEMAS.items():
            rows = reader.schema(schema).json(str(folder / f"input-{{name}}"))
            inputs[name] = unchanged(rows) if through else rows
        return version(*inputs.values()) if "" in inputs else version(**inputs)

    def query(version, last_fails):
        def take(frame, batch):
            taken[batch] = [row.asDict(recursive=True) for row in sink(frame).collect()]
            if last_fails and batch == first and not failed:
                failed.append(batch)
                raise RuntimeError("this failure was asked for")

        first = max(taken, default=-1) + 1
        writer = output(version).writeStream.outputMode(MODE).foreachBatch(take)
        trigger = {{"processingTime": "0 seconds"}} if goes_on else {{"availableNow": True}}
        started = writer.option("checkpointLocation", str(folder / "checkpoint")).trigger(**trigger).start()
        try:
            started.processAllAvailable() if goes_on else started.awaitTermination()
        except Exception:
            if not (last_fails and failed):
                raise
        started.stop()
        for progress in started.recentProgress:
            kept = progress["stateOperators"]
            counts["rows of state"] = sum(operator["numRowsTotal"] for operator in kept)
            counts["rows dropped as late"] += sum(operator["numRowsDroppedByWatermark"] for operator in kept)
        last = started.lastProgress
        operators.append([operator["operatorName"] for operator in last["stateOperators"]] if last else [])

    if bounded:
        for number in range(len(batches)):
            write(number)
        return [row.asDict(recursive=True) for row in output({name}).collect()], [], counts
    cuts = sorted({{0, len(batches), begun, *restarts, *([] if fails is None else [fails])}})
    for begin, end in zip(cuts, cuts[1:]):
        for number in range(begin, end):
            write(number)
        version = by if end <= begun else {name}
        if version is ELSEWHERE:
            subprocess.run([sys.argv[1], __file__, "begin", str(folder)], check=True)
            operators.append([])
        else:
            query(version, begin == fails)
        if begin == fails:
            query(version, False)
        if end == begun:
            done = [int(file.name) for file in (folder / "checkpoint" / "commits").iterdir() if file.name.isdigit()]
            shown = max(done, default=-1) + 1
            if only:
                return [], [], counts
    for batch in range(shown):  # of the version before
        taken.pop(batch, None)
    behind = operators[-1] if begun else []
    if MODE == "complete":
        return (taken[max(taken)] if taken else []), [operators[0], behind], counts
    rows = [row for batch in sorted(taken) for row in taken[batch]]
    if MODE == "update" and OUTPUT_KEY:
        rows = list({{str([row.get(column) for column in OUTPUT_KEY]): row for row in rows}}.values())
    return rows, [operators[0] if begun else [], behind], counts


{functions}{back}
def lines(rows, moved):
    rows = [row for row in rows if row.get(KEY) not in CLOSING]
    rows = [{{name: back(value, moved, {first}, {last_time}, KNOWN) for name, value in row.items()}} for row in rows]
    rows = [{{name: value for name, value in row.items() if name not in IGNORED}} for row in rows]
    return sorted(", ".join(f"{{name}}={{value}}" for name, value in row.items()) for row in rows)


ELSEWHERE = "another release"
SETUP = {setup}


def main():
    spark = session()
    spark.sparkContext.setLogLevel("OFF")
    if sys.argv[1:2] == ["begin"]:
        run(spark, sys.argv[2], VARIED, **{{**SETUP, "by": {before}}}, only=True)
        return 0
    answers = []
    for what, batches, setup, moved in (("plain", PLAIN, {{{beside}}}, 0), ({what!r}, VARIED, SETUP, {moved})):
        with tempfile.TemporaryDirectory() as folder:
            rows, operators, counts = run(spark, folder, batches, **setup)
            answers.append(({compared}))
        print(f"{{what}}:" + (f" operators {{operators[0]}}, then {{operators[1]}}" if any(operators) else ""))
        for line in lines(rows, moved):
            print(f"    {{line}}")
        print(f"    {{counts}}")
    differ = {differ}
    print({yes!r} if differ else {no!r})
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
'''


JUDGED = {
    "": (
        "lines(rows, moved), operators",
        "answers[0] != answers[1]",
        "the two answers differ",
        "THE ANSWERS DIFFER",
        "the answers are the same",
    ),
    "state": (
        'counts["rows of state"]',
        "answers[0] > answers[1]",
        "state is left of what the watermark has passed",
        "STATE IS LEFT",
        "no state is left",
    ),
    "once": (
        'counts["rows dropped as late"]',
        "answers[0] > 0",
        "rows are dropped that the watermark lets in",
        "ROWS ARE DROPPED",
        "no row is dropped",
    ),
}
"""The question that a pair is about -> what is kept of a run, when it fails, and the words for this."""

PREVIOUS_VERSION = """
# The version before, from a file that may have the same name.
spec = importlib.util.spec_from_file_location("previous_version", Path(__file__).resolve().parent / {file!r})
module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
cloudpickle.register_pickle_by_value(module)
previous = module.{name}
"""


def script(
    subject: Subject, pair: Pair, title: str, file: Path, out: Path, seen: tuple[str, bool], elsewhere: str
) -> str:
    """The script that the file ``out`` has; ``file`` has the user's function. ``seen``: the release, and whether the
    file needs a session while it is loaded. ``elsewhere`` is the release that a version before ran in, if it was
    another one."""
    version, early = seen
    setup = pair.varied.setup
    common = {
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "2",
        **subject.settings,
    }
    closing = {row.values[subject.own_key] for row in rows_in(pair.plain.delivery) if row.closing and subject.own_key}
    before = subject.previous
    beside = {"restarts": pair.plain.setup.restarts, "begun": setup.begun}
    compared, differ, fails, yes, no = JUDGED[pair.about]
    words = words_of(subject, pair, title, file, out, version)
    words["ignored"] += [ATTEMPT] * setup.retries
    return TEMPLATE.format(
        **words,
        fails=fails,
        compared=compared,
        differ=differ,
        yes=yes,
        no=no,
        functions=(in_a_script(unchanged) if setup.through else "")
        + (in_a_script(SINKS[setup.sink]) if setup.sink else "")
        + (in_a_script(retried) if setup.retries else ""),
        early="\nsession()  # the file needs one while it is loaded\n" if early else "",
        schemas={of: each.schema for of, each in subject.inputs.items()},
        mode=subject.output.mode,
        output_key=list(subject.output.key),
        key=subject.own_key,
        closing=sorted(closing) if subject.own_key else [],
        plain=_batches(subject, pair.plain.delivery),
        varied=_batches(subject, pair.varied.delivery),
        what=_what(pair.plain, pair.varied),
        common=", ".join(f"{name!r}: {value!r}" for name, value in common.items()),
        usage=f" PYTHON, where PYTHON is one with {elsewhere}: the first micro-batches run there" if elsewhere else "",
        beside=", ".join(f'"{name}": {value}' for name, value in beside.items() if value),
        before="previous" if before else subject.name,
        setup=_spelled(setup, elsewhere),
        previous="" if before is None else PREVIOUS_VERSION.format(file=_beside(before, file, out), name=before.name),
    )


def _spelled(setup: Setup, elsewhere: str) -> str:
    """The arguments of the second run, as a dict in the script's own words."""
    names = ("restarts", "fails", "settings", "files", "bounded", "through", "sparse", "goes_on")
    told = {name: getattr(setup, name) for name in names}
    words = [f"{name!r}: {value!r}" for name, value in told.items() if value != getattr(PLAIN, name)]
    if setup.sink or setup.retries:
        words.append(f"'sink': {_sink(setup)}")
    if setup.begun:
        words += [f"'begun': {setup.begun}", f"'by': {'ELSEWHERE' if elsewhere else 'previous'}"]
    return "{" + ", ".join(words) + "}"


def _sink(setup: Setup) -> str:
    """What is done to a micro-batch, as a function in the script's own words."""
    does = SINKS[setup.sink].__name__
    if not setup.retries:
        return does
    return f"lambda frame: {does}(retried(frame))" if setup.sink else "retried"


def _beside(version: Subject, file: Path, out: Path) -> str:
    """The path of a version's file from the script's folder."""
    own = Path(getsourcefile(unwrap(version.function)) or file)
    return path_from(out, own)


def _batches(subject: Subject, delivery: Delivery) -> str:
    rows: Sequence[Sequence[tuple[str, object]]] = [
        [(row.input, {k: v for k, v in written(subject, row).items() if v is not None}) for row in batch]
        for batch in delivery
    ]
    return pformat(rows, width=110, sort_dicts=False)


def _what(plain: Run, varied: Run) -> str:
    """What the second run has that the first has not, in a few words."""
    setup = varied.setup
    said = (
        (setup.begun, f"the first {setup.begun} micro-batches by the version before"),
        (setup.bounded, "as a batch query"),
        (setup.sparse, "started for each micro-batch, and without a file for an input that has no row there"),
        (setup.restarts, f"restarted before micro-batch {', '.join(map(str, setup.restarts))}"),
        (setup.fails is not None, f"micro-batch {setup.fails} fails once behind its sink"),
        (setup.settings, ", ".join(f"{name}={value}" for name, value in setup.settings.items())),
        (setup.through, "behind a query that changes no row"),
        (setup.retries, "each task fails once behind its last row, and is tried again"),
        (setup.goes_on, "with a trigger by processing time"),
        (setup.sink, setup.sink),
        (setup.files > 1, f"{setup.files} files a micro-batch"),
        (plain.delivery != varied.delivery, "delivered otherwise"),
    )
    return next((words for is_so, words in said if is_so), "once more")
