"""A violation of a subject on Beam, as a script: two runs of the user's own function that must answer alike, and what
they answer. ``script`` fills it in."""

import importlib.util
import os
import sys
import time
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path

FILE = ""
NAME = ""
"""The user's function. Its folder may have modules that it imports."""

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str((HERE / FILE).parent))

import apache_beam as beam  # noqa: E402
from apache_beam.options.pipeline_options import PipelineOptions  # noqa: E402
from apache_beam.testing.test_stream import TestStream  # noqa: E402
from apache_beam.transforms.window import IntervalWindow, TimestampedValue  # noqa: E402
from apache_beam.utils.timestamp import Timestamp  # noqa: E402

from conformance.subjects.scripts import KNOWN, back  # noqa: E402

# By its path: the name of a file need not be one of Python's.
spec = importlib.util.spec_from_file_location(Path(FILE).stem, HERE / FILE)
module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
subject = getattr(module, NAME)

INPUTS = []
MOMENTS = {}
TIMES = {}
"""Of each input, the columns that are instants, and the one that is its time."""

DELAY = None
"""How many seconds the watermark stays behind; None: it moves at the end alone."""

CLOCK = False
"""Whether timers in processing time are to fire, at the end."""

KEY = ""
"""What the key of a pair is called."""

NOT_COMPARED = []
"""Other keys than those that the two runs are about."""

MAIN = ""
"""What the main output of several is called."""

LAST = []
"""The columns that tell one answer from another, where only the last one counts; none where all of them do."""

IGNORED = []
"""Columns that are not compared."""

PLAIN = []
"""The elements of each bundle."""

WHAT = ""
"""What the second run has that the first has not."""

VARIED = []
SETUP = {}
"""How the second run is made: arguments of ``run``."""

MOVED = 0
"""So many ms later are the times of the second run."""

BETWEEN = ()
"""The instants between which all times lie."""

PRISM_AT = ""
"""The binary of Prism that was asked."""

FNAPI, PRISM = "FnApiRunner", "PrismRunner"
taken = []


class Take(beam.DoFn):
    def __init__(self, output):
        self.output = output

    def process(self, element, window=beam.DoFn.WindowParam):
        row = dict(columns(element), output=self.output, window=plain(window))
        # Beam copies what a script defines; all of these runners run it in this process.
        sys.modules["__main__"].taken.append(row)


def columns(element):
    read = subject.options.get("output")
    element = read(element) if read else element
    if hasattr(element, "_asdict"):
        element = element._asdict()
    if isinstance(element, dict):
        return {name: plain(value) for name, value in element.items()}
    if isinstance(element, tuple) and len(element) == 2:
        return {KEY: plain(element[0]), "value": plain(element[1])}
    return {"value": plain(element)}


def plain(value):
    """A value that shows what is in it."""
    if isinstance(value, Timestamp):
        try:
            return value.to_utc_datetime()
        except OverflowError:  # the end of all time
            return str(value)
    if isinstance(value, IntervalWindow):
        return {"start": plain(value.start), "end": plain(value.end)}
    if isinstance(value, TimestampedValue):
        return {"value": plain(value.value), "time": plain(value.timestamp)}
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, (set, frozenset)):
        return sorted(map(plain, value), key=repr)
    if isinstance(value, Iterable) and not isinstance(value, (str, bytes)):
        return [plain(each) for each in value]
    return value


def lines(rows, moved):
    rows = [row for row in rows if row.get(KEY) not in NOT_COMPARED]
    rows = [{name: value for name, value in row.items() if name not in IGNORED} for row in rows]
    rows = [{name: back(value, moved, *BETWEEN, KNOWN) for name, value in row.items()} for row in rows]
    return sorted(", ".join(f"{name}={value}" for name, value in row.items()) for row in rows)


def moment(text):
    return datetime.fromisoformat(text.replace("Z", "+00:00"))


def timed(of, row):
    at = row[TIMES[of]] if TIMES[of] else 0
    return TimestampedValue((of, row), at / 1_000 if isinstance(at, int) else moment(at).timestamp())


def element(pair):
    of, row = pair
    values = {name: moment(value) if name in MOMENTS[of] and value else value for name, value in row.items()}
    return subject.options.get("element", lambda row: row)(values)


def rows(pipeline, batches, bounded, tagged):
    """The rows of each input. One TestStream has those of all: a runner mixes what several have."""
    found = [{of: [timed(*pair) for pair in batch if pair[0] == of] for of in INPUTS} for batch in batches]
    if bounded:
        mine = {of: [(each.value, each.timestamp) for batch in found for each in batch[of]] for of in INPUTS}
        created = {of: pipeline | f"rows {of}" >> beam.Create(pairs, reshuffle=False) for of, pairs in mine.items()}
        return {of: pairs | f"at {of}" >> beam.MapTuple(TimestampedValue) for of, pairs in created.items()}
    tags = {of: of if tagged and of else None for of in INPUTS}
    stream = TestStream(output_tags=set(filter(None, tags.values())))
    there = {of for batch in found for of in INPUTS if batch[of]}
    latest, reached = {}, dict.fromkeys(tags.values())
    for batch in found:
        for of, tag in tags.items():
            if batch[of] or not any(batch.values()):
                stream = stream.add_elements(batch[of], tag)
            if times := [each.timestamp for each in batch[of]]:
                latest[of] = max([latest.get(of, times[0]), *times])
            behind = [of] if tag else there
            if DELAY is None or not behind or not set(behind) <= set(latest):
                continue
            watermark = min(latest[each] for each in behind) - DELAY
            if reached[tag] is None or watermark > reached[tag]:
                stream, reached[tag] = stream.advance_watermark_to(watermark, tag), watermark
    if CLOCK:
        stream = stream.advance_processing_time(int(time.time()) + 3_600)
    for tag in reached:
        stream = stream.advance_watermark_to_infinity(tag)
    made = pipeline | "rows" >> stream
    if isinstance(made, dict):
        return made
    return {of: made | f"rows {of}" >> beam.Filter(lambda pair, of: pair[0] == of, of) for of in INPUTS}


def run(batches, where="", bounded=False, through=lambda rows, of: rows):
    taken.clear()
    from apache_beam.runners.direct.direct_runner import BundleBasedDirectRunner
    from apache_beam.runners.portability.fn_api_runner.fn_runner import FnApiRunner
    from apache_beam.runners.portability.prism_runner import PrismRunner

    runner = {"": BundleBasedDirectRunner, FNAPI: FnApiRunner, PRISM: PrismRunner}[where]()
    options = [] if bounded else ["--streaming"]
    there = [f"--prism_location={PRISM_AT}"] if os.path.exists(PRISM_AT) else []
    options += ["--environment_type=LOOPBACK", *(sys.argv[1:] or there)] if where == PRISM else []
    pipeline = beam.Pipeline(runner=runner, options=PipelineOptions(options))
    windowing = subject.options.get("windowing")
    inputs = {}
    for of, mine in rows(pipeline, batches, bounded, where != PRISM).items():
        inputs[of] = through(mine | f"element {of}" >> beam.Map(element), of)
        if windowing is not None:
            into = windowing if isinstance(windowing, beam.PTransform) else beam.WindowInto(windowing)
            inputs[of] = inputs[of] | f"windows {of}" >> into
    made = subject(*inputs.values()) if "" in inputs else subject(**inputs)
    if isinstance(made, beam.pvalue.DoOutputsTuple):
        main_output = {made._main_tag or MAIN: made[made._main_tag]}
        made = {**main_output, **{tag: made[tag] for tag in made._tags}}
    for output, elements in (made if isinstance(made, dict) else {"": made}).items():
        elements | f"take {output}" >> beam.ParDo(Take(output))
    pipeline.run().wait_until_finish()
    last = {repr([row.get(name) for name in LAST]): row for row in taken}
    return list(last.values() if LAST else taken)


def main():
    answers = []
    for what, batches, setup, moved in (("plain", PLAIN, {}, 0), (WHAT, VARIED, SETUP, MOVED)):
        answers.append(lines(run(batches, **setup), moved))
        print(f"{what}:")
        for line in answers[-1]:
            print(f"    {line}")
    differ = answers[0] != answers[1]
    print("THE ANSWERS DIFFER" if differ else "the answers are the same")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
