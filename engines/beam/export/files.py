"""The exports "teststream" and "bounded": a witness as a Beam pipeline, with TestStream on the bundle-based
DirectRunner or on Prism, or with bounded input on FnApiRunner or on plain DirectRunner."""

from __future__ import annotations

import textwrap
from typing import NamedTuple

from conformance.engines import exporting
from conformance.engines.beam.export import native as export_native
from conformance.engines.beam.export import types as export_types
from conformance.engines.beam.export.plans import SOURCES, Around, composed
from conformance.engines.beam.plans import plans
from conformance.engines.spelled_out import Calls, EngineCalls
from conformance.model.export import CannotExport, Exportable
from conformance.model.program import Cell, FixedWindows, Program
from conformance.model.schedule import Plan


class Runner(NamedTuple):
    """A runner: its class, the lines that import what its pipelines need, the source that makes the input, and of the
    input's elements, the source of a DoFn ``ChecksItselfIn`` beside them, its options, whether it may need Prism's
    binary, and how it is run."""

    name: str
    imports: tuple[str, ...]
    made: str
    elements: str
    busy: str = ""
    options: tuple[str, ...] = ()
    prism: bool = False
    how: str = ""


SPECS = {
    Cell.VALUE: "ReadModifyWriteStateSpec({!r}, FastPrimitivesCoder())",
    Cell.BAG: "BagStateSpec({!r}, FastPrimitivesCoder())",
    Cell.SET: "SetStateSpec({!r}, StrUtf8Coder())",
    Cell.MAP: "ReadModifyWriteStateSpec({!r}, FastPrimitivesCoder())",
    Cell.COMBINING: "CombiningValueStateSpec({!r}, FastPrimitivesCoder(), sum)",
}
"""Kind of cell -> the spec of Beam that keeps it."""

TYPED = {
    Cell.VALUE: "ReadModifyWriteStateSpec",
    Cell.BAG: "BagStateSpec",
    Cell.MAP: "ReadModifyWriteStateSpec",
}
"""The spec of cells with a type."""

PLAIN: Calls = {
    (Cell.VALUE, "get"): "(here.read() or [a])[0]",
    (Cell.VALUE, "set"): "here.write((a,))",
    (Cell.COMBINING, "get"): "here.read()",
    (Cell.COMBINING, "add"): "here.add(a)",
    **{(kind, "get"): "list(here.read())" for kind in (Cell.BAG, Cell.SET)},
    **{(kind, "add"): "here.add(a)" for kind in (Cell.BAG, Cell.SET)},
    (Cell.BAG, "set"): "[here.clear(), *map(here.add, a)]",
    (Cell.MAP, "get"): "(here.read() or {}).get(a, b)",
    (Cell.MAP, "put"): "here.write({**(here.read() or {}), a: b})",
    (Cell.MAP, "remove"): "here.write({k: v for k, v in (here.read() or {}).items() if k != a})",
    (Cell.MAP, "items"): "list((here.read() or {}).items())",
    **{(kind, "clear"): "here.clear()" for kind in Cell},
    (None, "set"): "here.set(Timestamp(micros=(b) * 1000), dynamic_timer_tag=f'{a}/{c}')",
    (None, "clear"): "here.clear(dynamic_timer_tag=f'{a}/{b}')",
}
"""What a program's calls are on Beam's state and timers. A value is boxed, because read() gives None for an empty cell,
too; a map is a dictionary in a value."""

OF_TYPES: Calls = {
    **PLAIN,
    (Cell.VALUE, "get"): "a if (kept := here.read()) is None else kept",
    (Cell.VALUE, "get()"): "here.read()",
    (Cell.VALUE, "set"): "here.write(a)",
}
"""The same on cells with a type, whose values are not boxed: a coder of a type has no box."""

CALLS = EngineCalls(PLAIN, lambda kind, of: OF_TYPES)

IMPORTS = (
    "import tempfile",
    "from pathlib import Path",
    "from typing import Any, Tuple",
    "import apache_beam as beam",
    "from apache_beam.coders import FastPrimitivesCoder",
    "from apache_beam.transforms import trigger, window",
    "from apache_beam.utils.timestamp import Timestamp",
)

OF_PROGRAMS = (
    "from types import SimpleNamespace",
    "from apache_beam.coders import StrUtf8Coder",
    "from apache_beam.transforms.timeutil import TimeDomain",
    "from apache_beam.transforms.userstate import BagStateSpec, CombiningValueStateSpec, ReadModifyWriteStateSpec",
    "from apache_beam.transforms.userstate import SetStateSpec, TimerSpec, on_timer",
    "from apache_beam.utils.timestamp import Duration",
)

OPERATOR = """
class Operator(beam.DoFn):
{specs}
    def process({given}):
        key, (id, value) = element
        event = SimpleNamespace(id=id, key={key}, value=value, event_time=time.micros // 1000)
        return outputs(PROGRAM.on_event, event, {state}, {timers})
"""

FIRE = """    @on_timer(TIMER)
    def fire({given}):
        name, _, tag = tag.partition("/")
        due = SimpleNamespace(name=name, tag=tag, key={key}, time=time.micros // 1000)
        return outputs(PROGRAM.on_timer, due, {state}, {timers})
"""

RUN = """
{source}

{around}{options}

def run():
    write = lambda row, path{time}: Path(path).open("a").write(json.dumps({row}) + "\\n")
    timed = lambda id, key, value, ms: window.TimestampedValue(({keyed}, (id, value)), Timestamp(micros=ms * 1000))
    {made}
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "rows").touch()
        pipeline = beam.Pipeline(runner={runner}(){argv})
        rows = pipeline | {elements} | beam.Map(lambda element: element).with_output_types(Tuple[{hint}, Any])
        {applied} | "write" >> beam.Map(write, f"{folder}/rows")
        pipeline.run({how}).wait_until_finish()
        return [json.loads(line) for line in Path(folder, "rows").read_text(encoding="utf-8").splitlines()]
"""

LOCATED = """
# PRISM says where Prism's binary is; Beam downloads it where it needs it and there is none.
OPTIONS += [f"--prism_location={path}" for path in [os.environ.get("PRISM")] if path]
"""

STREAM = """made = TestStream(coder=FastPrimitivesCoder())
    for kind, given in STEPS:
        if kind == "watermark":
            made.advance_watermark_to(Timestamp(micros=given * 1000))
        else:
            made.add_elements([timed(*row) for row in given])"""

BUSY = """
class Offsets(RestrictionProvider):
    def initial_restriction(self, element):
        return OffsetRange(0, 2)
    def create_tracker(self, restriction):
        return OffsetRestrictionTracker(restriction)
    def restriction_size(self, element, restriction):
        return restriction.size()

class ChecksItselfIn(beam.DoFn):  # it is called again and again, else Prism keeps elements until the watermark moves on
    @beam.DoFn.unbounded_per_element()
    def process(self, element, tracker=beam.DoFn.RestrictionParam(Offsets())):
        if tracker.try_claim(tracker.current_restriction().start):
            tracker.defer_remainder()
        return ()
"""

ON_PRISM = """made, now = TestStream(coder=FastPrimitivesCoder()), Timestamp(0)
    for kind, given in STEPS:
        if kind == "watermark":
            made.advance_watermark_to(now := Timestamp(micros=given * 1000))
        else:  # one element for a whole bundle: Prism keeps those of one event of a TestStream in no order
            made.add_elements([window.TimestampedValue(("", given), now)])"""

APART = """made | "take apart" >> beam.FlatMap(lambda bundle: [timed(*row) for row in bundle[1]])"""

BOUNDED = """# The input is bounded: the watermark goes from its least to its greatest value.
    given = [row for kind, rows in STEPS if kind == "rows" for row in rows]"""

CREATED = "beam.Create(given, reshuffle=False) | beam.MapTuple(timed)"

TEST_STREAM = "from apache_beam.testing.test_stream import TestStream"

RUNNERS = {
    "beam-direct": Runner(
        "BundleBasedDirectRunner",
        ("from apache_beam.runners.direct.direct_runner import BundleBasedDirectRunner", TEST_STREAM),
        STREAM,
        "made",
        options=("--streaming",),
        how="test_runner_api=False",
    ),
    "beam-prism": Runner(
        "PrismRunner",
        (
            "from apache_beam.io.restriction_trackers import OffsetRange, OffsetRestrictionTracker",
            "from apache_beam.runners.portability.prism_runner import PrismRunner",
            "from apache_beam.transforms.core import RestrictionProvider",
            TEST_STREAM,
        ),
        ON_PRISM,
        APART,
        BUSY,
        ("--streaming", "--environment_type=LOOPBACK", "--experiments=prism_disable_sdf_split"),
        prism=True,
    ),
    "beam-fnapi": Runner(
        "FnApiRunner",
        ("from apache_beam.runners.portability.fn_api_runner.fn_runner import FnApiRunner",),
        BOUNDED,
        CREATED,
    ),
    "beam-auto": Runner(
        "DirectRunner",
        ("from apache_beam.runners.direct.direct_runner import DirectRunner",),
        BOUNDED,
        CREATED,
        prism=True,
    ),
}
"""Engine -> what its pipelines run on."""

STREAMED, BATCHED = ("beam-direct", "beam-prism"), ("beam-fnapi", "beam-auto")

WINDOWS = """beam.WindowInto(
            window.FixedWindows({size}), trigger.AfterWatermark(late=trigger.AfterCount(1)),
            trigger.AccumulationMode.DISCARDING, allowed_lateness=Duration(micros={lateness}))"""


def teststream(asked: Exportable) -> str:
    """The file. Raises CannotExport where the witness is of another engine, or does not fit."""
    return _file("teststream", STREAMED, asked)


def bounded(asked: Exportable) -> str:
    """The file. Raises CannotExport where the witness is of another engine, or does not fit."""
    return _file("bounded", BATCHED, asked)


def _file(name: str, engines: tuple[str, ...], asked: Exportable) -> str:
    native = export_native.runner_of(asked.engine)
    if (native or asked.engine) not in engines:
        there = ", ".join([*engines, *(f"{begin}NAME" for begin, on in export_native.NATIVE.items() if on in engines)])
        raise CannotExport(f"{name} exports witnesses of {there}; witness {asked.witness} is of {asked.engine}")
    runner = RUNNERS[native or asked.engine]
    around = composed(exporting.plans_of(asked, SOURCES))
    operator, transform = export_native.source_of(asked) if native else (_operator(asked), _applied(asked))
    return exporting.file_of(
        asked,
        exporting.Source(
            f"apache-beam=={asked.versions.get('beam', '')}".rstrip("="),
            (
                *IMPORTS,
                *(() if native else OF_PROGRAMS),
                *runner.imports,
                *around.imports,
                *["import os"] * runner.prism,
                *[export_types.CODERS] * bool(asked.program.types),
                *export_types.IMPORTS * bool(asked.typed_keys),
            ),
            (),
            export_types.keys(asked) + "\n" + operator + "\n\n" + _run(asked, runner, around, transform),
            None if native else CALLS,
            "Timestamp",
        ),
        (Plan,),
        program=not native,
    )


def _spec(program: Program, cell: str) -> str:
    """The source of a cell's spec."""
    if cell not in program.types:
        return SPECS[program.cells[cell]].format(cell)
    return f"{TYPED[program.cells[cell]]}({cell!r}, {export_types.coder(program.types[cell])})"


def _run(asked: Exportable, runner: Runner, around: Around, transform: str) -> str:
    options = [*runner.options, *(o for part in asked.case.schedule.plans for o in plans.OF_FNAPI[part].options)]
    changes = [change.strip() for change in (around.before, around.behind) if change]
    given = f"OPTIONS = {options}{LOCATED.rstrip()}" if runner.prism else ""
    applied = f"{'before(rows)' if around.before else 'rows'} | {transform}"
    if around.behind:
        applied = f"rows = {applied}\n        behind(rows)"
    if runner.busy:
        applied = f"pipeline | beam.Create([0], reshuffle=False) | beam.ParDo(ChecksItselfIn())\n        {applied}"
    words = {
        "{around}": "".join(f"{change}\n\n\n" for change in changes),
        "{source}": runner.busy.strip(),
        "{made}": runner.made,
        "{runner}": runner.name,
        "{options}": given,
        "{argv}": ", argv=OPTIONS" if given else f", argv={options}" if options else "",
        "{elements}": runner.elements,
        "{applied}": applied,
        "{how}": runner.how,
        "{keyed}": "KEYED[key]" if asked.typed_keys else "key",
        "{hint}": export_types.hint(asked),
        "{time}": ", time=beam.DoFn.TimestampParam" if asked.program.timed else "",
        "{row}": "[*row, time.micros // 1000]" if asked.program.timed else "row",
    }
    return exporting.put_in(RUN, words)


def _applied(asked: Exportable) -> str:
    """The source of the program in its windows."""
    windowing, into = asked.program.windowing, ""
    if isinstance(windowing, FixedWindows):
        into = WINDOWS.format(size=windowing.size / 1000, lateness=windowing.allowed_lateness * 1000) + " | "
    return f"{into}beam.ParDo(Operator()).with_output_types(Any)"


def _operator(asked: Exportable) -> str:
    """The source of the DoFn. Beam finds state and timers by the default values in signatures."""
    cells, timed = asked.program.cells, bool(asked.program.timers)
    specs = [f"{name}_spec = {_spec(asked.program, name)}" for name in cells]
    specs += ['TIMER = TimerSpec("timer", TimeDomain.WATERMARK)'] if timed else []
    given = ["time=beam.DoFn.TimestampParam", *(f"{name}_state=beam.DoFn.StateParam({name}_spec)" for name in cells)]
    given += ["timer=beam.DoFn.TimerParam(TIMER)"] if timed else []
    # A cell may have the name of a variable of the operator.
    state = ", ".join(f"{name}={name}_state" for name in cells)
    words = {
        "{specs}": "\n".join(f"    {spec}" for spec in specs).rstrip(),
        "{state}": f"SimpleNamespace({state})",
        "{timers}": "timer" if timed else "None",
        "{key}": export_types.handed(asked),
    }
    fire = ["self", "key=beam.DoFn.KeyParam", "tag=beam.DoFn.DynamicTimerTagParam", *given]
    text = OPERATOR.replace("{given}", _signature(["self", "element", *given]))
    text += FIRE.replace("{given}", _signature(fire)) if timed else ""
    return exporting.put_in(text, words).strip()


def _signature(parameters: list[str]) -> str:
    """Parameters, in as many lines as they need."""
    text = ", ".join(parameters)
    return textwrap.fill(text, 118, initial_indent=" " * 16, subsequent_indent=" " * 12).lstrip()
