"""The export "teststream": a witness as a Beam pipeline with TestStream on the bundle-based DirectRunner."""

from __future__ import annotations

from conformance.model.export import CannotExport, Exportable
from conformance.model.program import Cell, FixedWindows
from engines import exporting

ENGINE = "beam-direct"

SPECS = {
    Cell.VALUE: ("ValueCell", "ReadModifyWriteStateSpec({!r}, FastPrimitivesCoder())"),
    Cell.BAG: ("BagCell", "BagStateSpec({!r}, FastPrimitivesCoder())"),
    Cell.SET: ("BagCell", "SetStateSpec({!r}, StrUtf8Coder())"),
    Cell.MAP: ("MapCell", "ReadModifyWriteStateSpec({!r}, FastPrimitivesCoder())"),
    Cell.COMBINING: ("CombiningCell", "CombiningValueStateSpec({!r}, FastPrimitivesCoder(), sum)"),
}
"""Kind of cell -> the class of ``export_cells`` and the spec of Beam that keep it."""

IMPORTS = (
    "import tempfile",
    "from pathlib import Path",
    "from types import SimpleNamespace",
    "from typing import Any, Tuple",
    "import apache_beam as beam",
    "from apache_beam.coders import FastPrimitivesCoder, StrUtf8Coder",
    "from apache_beam.options.pipeline_options import PipelineOptions",
    "from apache_beam.runners.direct.direct_runner import BundleBasedDirectRunner",
    "from apache_beam.testing.test_stream import TestStream",
    "from apache_beam.transforms import trigger, window",
    "from apache_beam.transforms.timeutil import TimeDomain",
    "from apache_beam.transforms.userstate import BagStateSpec, CombiningValueStateSpec, ReadModifyWriteStateSpec",
    "from apache_beam.transforms.userstate import SetStateSpec, TimerSpec, on_timer",
    "from apache_beam.utils.timestamp import Duration",
    "from apache_beam.utils.timestamp import Timestamp",
)

OPERATOR = '''
class Operator(beam.DoFn):
    """Runs the program."""

{specs}

    def process(
        self,
        element,
{given}
    ):
        key, (id, value) = element
        event = Event(id, key, value, time.micros // 1000)
        return outputs(PROGRAM.on_event, event, {state}, {timers})
'''

FIRE = """
    @on_timer(TIMER)
    def fire(
        self,
        key=beam.DoFn.KeyParam,
        tag=beam.DoFn.DynamicTimerTagParam,
{given}
    ):
        name, _, tag = tag.partition("/")
        due = Timer(name, tag, key, time.micros // 1000)
        return outputs(PROGRAM.on_timer, due, {state}, {timers})
"""

RUN = '''
class Write(beam.DoFn):
    """Appends each row to a file, as JSON."""

    def __init__(self, path):
        self._path = path

    def process(self, row):
        with open(self._path, "a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\\n")


def stream():
    made = TestStream(coder=FastPrimitivesCoder())
    for kind, given in STEPS:
        if kind == "watermark":
            made.advance_watermark_to(Timestamp(micros=given * 1000))
        else:
            made.add_elements(
                [window.TimestampedValue((key, (id, value)), Timestamp(micros=time * 1000)) for id, key, value, time in given]
            )
    return made


def run():
    """The rows that come out, in order."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "rows")
        path.touch()
        pipeline = beam.Pipeline(runner=BundleBasedDirectRunner(), options=PipelineOptions(["--streaming"]))
        rows = pipeline | stream() | beam.Map(lambda element: element).with_output_types(Tuple[str, Any])
        rows = rows | {windowing} | beam.ParDo(Operator()).with_output_types(Any)
        rows | "write" >> beam.ParDo(Write(str(path)))
        pipeline.run(test_runner_api=False).wait_until_finish()
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
'''

WINDOWS = """beam.WindowInto(
            window.FixedWindows({size}),
            trigger=trigger.AfterWatermark(late=trigger.AfterCount(1)),
            accumulation_mode=trigger.AccumulationMode.DISCARDING,
            allowed_lateness=Duration(micros={lateness}),
        )"""


def teststream(asked: Exportable) -> str:
    """The file. Raises CannotExport where the witness is of another engine, or does not fit."""
    from engines.beam import export_cells as cells

    if asked.engine != ENGINE:
        raise CannotExport(f"teststream exports witnesses of {ENGINE}; witness {asked.witness} is of {asked.engine}")
    kinds = [SPECS[kind][0] for kind in asked.program.cells.values()]
    kinds += ["NamedTimers"] if asked.program.timers else []
    return exporting.file_of(
        asked,
        f"apache-beam=={asked.versions.get('beam', '')}".rstrip("="),
        IMPORTS,
        [getattr(cells, name) for name in dict.fromkeys(kinds)],
        _operator(asked) + "\n\n" + RUN.replace("{windowing}", _windowing(asked)),
    )


def _windowing(asked: Exportable) -> str:
    windowing = asked.program.windowing
    if not isinstance(windowing, FixedWindows):
        return "beam.WindowInto(window.GlobalWindows())"
    return WINDOWS.format(size=windowing.size / 1000, lateness=windowing.allowed_lateness * 1000)


def _operator(asked: Exportable) -> str:
    """The source of the DoFn. Beam finds state and timers by the default values in signatures."""
    cells, timed = asked.program.cells, bool(asked.program.timers)
    specs = [f"{name.upper()}_STATE = {SPECS[kind][1].format(name)}" for name, kind in cells.items()]
    specs += ['TIMER = TimerSpec("timer", TimeDomain.WATERMARK)'] if timed else []
    given = ["time=beam.DoFn.TimestampParam"]
    given += [f"{name}_state=beam.DoFn.StateParam({name.upper()}_STATE)" for name in cells]
    given += ["timer=beam.DoFn.TimerParam(TIMER)"] if timed else []
    state = ", ".join(f"{name}={SPECS[kind][0]}({name}_state)" for name, kind in cells.items())
    words = {
        "{specs}": "\n".join(f"    {spec}" for spec in specs),
        "{given}": "".join(f"        {each},\n" for each in given).rstrip(),
        "{state}": f"SimpleNamespace({state})",
        "{timers}": "NamedTimers(timer)" if timed else "None",
    }
    text = OPERATOR + (FIRE if timed else "")
    for name, word in words.items():
        text = text.replace(name, word)
    return text.strip()
