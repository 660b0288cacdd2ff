"""A violation as a script of Beam: two runs of the user's own function that must answer alike, and what they answer."""

from __future__ import annotations

import os
from pathlib import Path
from pprint import pformat
from typing import TYPE_CHECKING

from conformance.subjects.rows import Delivery, written

if TYPE_CHECKING:
    from conformance.subjects.questions import Pair
    from conformance.subjects.subject import Subject

FNAPI, PRISM = "FnApiRunner", "PrismRunner"

TEMPLATE = '''"""{title}

Run it: python {file}
It exits with 1 while the two answers differ. Seen on {version}.
On Prism, an option such as --prism_location=PATH names its binary; otherwise Beam downloads it.
"""

import sys
from collections import Counter
from datetime import datetime
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent / {folder!r}))

import apache_beam as beam
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.testing.test_stream import TestStream
from apache_beam.transforms.window import TimestampedValue

from {module} import {name}

INPUTS, MOMENTS, TIMES = {inputs}, {moments}, {times}
DELAY = {delay}
"""How many seconds the watermark stays behind; None: it moves at the end alone."""

LAST = {last}
"""Whether only the last pane of a key and a window counts."""

PLAIN = {plain}
"""The elements of each bundle."""

VARIED = {varied}

taken = []


class Take(beam.DoFn):
    def process(self, element, window=beam.DoFn.WindowParam):
        # Beam copies what a script defines; all of these runners run it in this process.
        sys.modules["__main__"].taken.append((str(window), element))


def moment(text):
    return datetime.fromisoformat(text.replace("Z", "+00:00"))


def timed(of, row):
    values = {{name: moment(value) if name in MOMENTS[of] and value else value for name, value in row.items()}}
    element = {name}.options.get("element", lambda row: row)(values)
    return TimestampedValue(element, moment(row[TIMES[of]]).timestamp() if TIMES[of] else 0)


def rows(pipeline, of, batches, bounded):
    found = [[timed(*pair) for pair in batch if pair[0] == of] for batch in batches]
    if bounded:
        pairs = [(each.value, each.timestamp) for batch in found for each in batch]
        created = pipeline | f"rows {{of}}" >> beam.Create(pairs, reshuffle=False)
        return created | f"at {{of}}" >> beam.MapTuple(TimestampedValue)
    stream, latest, reached = TestStream(), None, None
    for batch in found:
        stream = stream.add_elements(batch)
        latest = max([each.timestamp for each in batch] + ([] if latest is None else [latest]), default=None)
        if DELAY is not None and latest is not None and (reached is None or latest - DELAY > reached):
            reached = latest - DELAY
            stream = stream.advance_watermark_to(reached)
    rows = pipeline | f"rows {{of}}" >> stream.advance_watermark_to_infinity()
    return rows | f"same {{of}}" >> beam.Map(lambda element: element)


def run(batches, where="", bounded=False):
    taken.clear()
    from apache_beam.runners.direct.direct_runner import BundleBasedDirectRunner
    from apache_beam.runners.portability.fn_api_runner.fn_runner import FnApiRunner
    from apache_beam.runners.portability.prism_runner import PrismRunner

    runner = {{"": BundleBasedDirectRunner, "{fnapi}": FnApiRunner, "{prism}": PrismRunner}}[where]()
    options = [] if bounded else ["--streaming"]
    options += ["--environment_type=LOOPBACK", *sys.argv[1:]] if where == "{prism}" else []
    pipeline = beam.Pipeline(runner=runner, options=PipelineOptions(options))
    windowing = {name}.options.get("windowing")
    inputs = {{}}
    for of in INPUTS:
        inputs[of] = rows(pipeline, of, batches, bounded)
        if windowing is not None:
            into = windowing if isinstance(windowing, beam.PTransform) else beam.WindowInto(windowing)
            inputs[of] = inputs[of] | f"windows {{of}}" >> into
    made = {name}(*inputs.values()) if "" in inputs else {name}(**inputs)
    for output, elements in (made if isinstance(made, dict) else {{"": made}}).items():
        elements | f"take {{output}}" >> beam.ParDo(Take())
    pipeline.run().wait_until_finish()
    last = {{(window, element[0]): (window, element) for window, element in taken}}
    return sorted(last.values() if LAST else taken, key=repr)


def main():
    answers = []
    for what, batches, setup in (("plain", PLAIN, {{}}), ({what!r}, VARIED, {setup})):
        answers.append(run(batches, **setup))
        print(f"{{what}}:")
        for window, element in answers[-1]:
            print(f"    {{window}} {{element}}")
    differ = Counter(map(repr, answers[0])) != Counter(map(repr, answers[1]))
    print("THE ANSWERS DIFFER" if differ else "the answers are the same")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
'''


def script(subject: Subject, pair: Pair, title: str, file: Path, out: Path, version: str) -> str:
    """The script that the file ``out`` has; ``file`` has the user's function."""
    from conformance.model.types import Timestamp

    setup = pair.varied.setup
    told = {name: value for name, value in (("where", setup.where), ("bounded", setup.bounded)) if value}
    what = setup.where or ("bounded input" if setup.bounded else "delivered otherwise")
    return TEMPLATE.format(
        title=title,
        file=out.name,
        version=version,
        folder=os.path.relpath(file.resolve().parent, out.resolve().parent),
        module=file.stem,
        name=subject.name,
        inputs=list(subject.inputs),
        moments={
            of: [column.name for column in columns if isinstance(column.type, Timestamp)]
            for of, columns in subject.inputs.items()
        },
        times=dict(subject.time),
        last=subject.mode == "update",
        delay=None if subject.delay is None else subject.delay / 1_000,
        plain=_batches(subject, pair.plain.delivery),
        varied=_batches(subject, pair.varied.delivery),
        fnapi=FNAPI,
        prism=PRISM,
        what=what,
        setup=told,
    )


def _batches(subject: Subject, delivery: Delivery) -> str:
    rows = [[(row.input, written(subject, row)) for row in batch] for batch in delivery]
    return pformat(rows, width=110, sort_dicts=False)
