"""A violation as a script of PySpark: two runs of the user's own function that must answer alike, and what they answer."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from pprint import pformat
from typing import TYPE_CHECKING

from conformance.subjects.rows import Delivery, rows_in, written

if TYPE_CHECKING:
    from conformance.subjects.questions import Pair, Run
    from conformance.subjects.subject import Subject

TEMPLATE = '''"""{title}

Run it: python {file}
It exits with 1 while the two answers differ. Seen on {version}.
"""

import json
import os
import sys
import tempfile
from pathlib import Path

os.environ["TZ"] = "UTC"
sys.path.insert(0, str(Path(__file__).resolve().parent / {folder!r}))

from pyspark.sql import SparkSession

from {module} import {name}

SCHEMAS = {schemas}
MODE = {mode!r}
OUTPUT_KEY = {output_key}
KEY, CLOSING = {key!r}, {closing}
"""Rows with these keys move the watermark past everything else. What comes out for them is not compared."""

PLAIN = {plain}
"""The rows of each micro-batch."""

VARIED = {varied}
"""The same rows, where this is said of them: {what}"""


def run(spark, folder, batches, restarts=(), fails=None, settings={{}}, files=1, bounded=False):
    """The final rows of a run. It is restarted before the micro-batches ``restarts``; ``fails`` fails once, after its rows were taken."""
    spark = spark.newSession()
    for setting, value in {{{common}, **settings}}.items():
        spark.conf.set(setting, value)
    folder = Path(folder)
    taken, failed = {{}}, []

    def write(number):
        for name in SCHEMAS:
            rows = [row for of, row in batches[number] if of == name]
            (folder / f"input-{{name}}").mkdir(exist_ok=True)
            for part in range(files):
                path = folder / f"input-{{name}}" / f"{{number:05d}}-{{part}}.json"
                path.write_text("".join(json.dumps(row) + "\\n" for row in rows[part::files]))
                os.utime(path, (1_600_000_000 + number * files + part,) * 2)

    def output():
        reader = spark.read if bounded else spark.readStream.option("maxFilesPerTrigger", files)
        inputs = {{name: reader.schema(schema).json(str(folder / f"input-{{name}}")) for name, schema in SCHEMAS.items()}}
        return {name}(*inputs.values()) if "" in inputs else {name}(**inputs)

    def query(last_fails):
        def take(frame, batch):
            taken[batch] = [row.asDict(recursive=True) for row in frame.collect()]
            if last_fails and batch == first and not failed:
                failed.append(batch)
                raise RuntimeError("this failure was asked for")

        first = max(taken, default=-1) + 1
        sink = output().writeStream.outputMode(MODE).foreachBatch(take)
        started = sink.option("checkpointLocation", str(folder / "checkpoint")).trigger(availableNow=True).start()
        try:
            started.awaitTermination()
        except Exception:
            if not (last_fails and failed):
                raise

    if bounded:
        for number in range(len(batches)):
            write(number)
        return [row.asDict(recursive=True) for row in output().collect()]
    cuts = sorted({{0, len(batches), *restarts, *([] if fails is None else [fails])}})
    for begin, end in zip(cuts, cuts[1:]):
        for number in range(begin, end):
            write(number)
        query(begin == fails)
        if begin == fails:
            query(False)
    if MODE == "complete":
        return taken[max(taken)]
    rows = [row for batch in sorted(taken) for row in taken[batch]]
    if MODE == "update" and OUTPUT_KEY:
        rows = list({{str([row[column] for column in OUTPUT_KEY]): row for row in rows}}.values())
    return rows


def lines(rows):
    rows = [row for row in rows if row.get(KEY) not in CLOSING]
    return sorted(", ".join(f"{{name}}={{value}}" for name, value in row.items()) for row in rows)


def main():
    spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    answers = []
    for what, batches, setup in (("plain", PLAIN, {{}}), ({what!r}, VARIED, {setup})):
        with tempfile.TemporaryDirectory() as folder:
            answers.append(lines(run(spark, folder, batches, **setup)))
        print(f"{{what}}:")
        for line in answers[-1]:
            print(f"    {{line}}")
    differ = answers[0] != answers[1]
    print("THE ANSWERS DIFFER" if differ else "the answers are the same")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
'''


def script(subject: Subject, pair: Pair, title: str, file: Path, out: Path, version: str) -> str:
    """The script that the file ``out`` has; ``file`` has the user's function."""
    setup = pair.varied.setup
    told = {
        "restarts": setup.restarts,
        "fails": setup.fails,
        "settings": dict(setup.settings),
        "files": setup.files,
        "bounded": setup.bounded,
    }
    plain: dict[str, object] = {"restarts": (), "fails": None, "settings": {}, "files": 1, "bounded": False}
    common = {
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "2",
        **subject.settings,
    }
    closing = {row.values[subject.own_key] for row in rows_in(pair.plain.delivery) if row.closing and subject.own_key}
    return TEMPLATE.format(
        title=title,
        file=out.name,
        version=version,
        folder=os.path.relpath(file.resolve().parent, out.resolve().parent),
        module=file.stem,
        name=subject.name,
        schemas=dict(subject.schemas),
        mode=subject.mode,
        output_key=list(subject.output_key),
        key=subject.own_key,
        closing=sorted(closing) if subject.own_key else [],
        plain=_batches(subject, pair.plain.delivery),
        varied=_batches(subject, pair.varied.delivery),
        what=_what(pair.plain, pair.varied),
        common=", ".join(f"{name!r}: {value!r}" for name, value in common.items()),
        setup={name: value for name, value in told.items() if value != plain[name]},
    )


def _batches(subject: Subject, delivery: Delivery) -> str:
    rows: Sequence[Sequence[tuple[str, object]]] = [
        [(row.input, {k: v for k, v in written(subject, row).items() if v is not None}) for row in batch]
        for batch in delivery
    ]
    return pformat(rows, width=110, sort_dicts=False)


def _what(plain: Run, varied: Run) -> str:
    """What the second run has that the first has not, in a few words."""
    setup = varied.setup
    if setup.bounded:
        return "as a batch query"
    if setup.restarts:
        return f"restarted before micro-batch {', '.join(map(str, setup.restarts))}"
    if setup.fails is not None:
        return f"micro-batch {setup.fails} fails once behind its sink"
    if setup.settings:
        return ", ".join(f"{name}={value}" for name, value in setup.settings.items())
    if setup.files > 1:
        return f"{setup.files} files a micro-batch"
    return "delivered otherwise" if plain.delivery != varied.delivery else "once more"
