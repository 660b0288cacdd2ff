"""Ports and the files that they stand in: what is refused, in one line each; what is run by default."""

import os
import sys

import pytest

from conformance.judgement.agreement import agreements
from conformance.model.case import Case
from conformance.model.schedule import Advance, Deliver, Event, Schedule
from conformance.model.trace import Emission, Trace
from conformance.plugins import registry
from conformance.plugins.adapter import adapter_digest
from conformance.plugins.loading import ask_for, narrowed
from conformance.plugins.port import BeamPort, InvalidPort, Port, SparkPort, moment
from conformance.plugins.registry import UnknownName, load_engine, load_scenarios, port_engines, users, users_scenarios
from conformance.reports.text.likeness import compared_ports
from conformance.results.record import EngineRecord, RunRecord
from conformance.results.results import Results

PREAMBLE = """
from conformance.model import Domain, Guarantee, Scenario
from conformance.plugins.port import BeamPort, Port, SparkPort
from conformance.model import Program


class Fn:
    def process(self, element):
        yield element


class Processor:
    def handleInputRows(self, key, rows, timerValues):
        return rows


def same(what):
    return what


class Echo(Program):
    def on_event(self, event, state, timers, emit):
        emit(event.id)


def echoed(run):
    yield True


MINE = Scenario("mine", "", {"echo": Echo()}, {"echo": Domain((1,))}, (Guarantee("it comes out", "echo", echoed),))
BEAM = BeamPort(dofn=Fn)
SPARK = SparkPort(processor=Processor, input="a string", row=same, output="a string", emission=same)
"""


@pytest.fixture
def load(tmp_path, monkeypatch):
    """Writes a file of ports and loads it."""
    monkeypatch.setattr("conformance.plugins.loading._asked", ())
    monkeypatch.setenv("PYTHONPATH", os.environ.get("PYTHONPATH", ""))
    monkeypatch.setattr(sys, "path", list(sys.path))

    def write(text, name="my_port.py", preamble=PREAMBLE):
        (tmp_path / name).write_text(preamble + text)
        ask_for([str(tmp_path / name)])
        return users()

    return write


def test_a_port_is_two_engines_and_narrows_its_scenario(load):
    load('PORT = Port(name="i", scenario="index-assignment", program="global", beam=BEAM, spark=SPARK)')
    assert port_engines() == ["beam-port:i", "spark-port:i"]
    assert set(port_engines()) <= set(registry.engine_ids())
    (scenario,) = users_scenarios()
    assert list(scenario.programs) == list(scenario.domain) == list(scenario.stable_under) == ["global"]
    assert {guarantee.program for guarantee in scenario.guarantees} == {"global"}
    for name, words in (("beam-port:i", "Fn"), ("spark-port:i", "Processor")):
        engine = load_engine(name)
        assert (engine.id, engine.capabilities.native_operator.words) == (name, words)
        assert engine.capabilities.runs("index-assignment/global")
        assert not engine.capabilities.runs("index-assignment/per window")


def test_a_port_has_further_engines_on_request(load):
    """The tester takes no frames."""
    load("""
FRAMES = SparkPort(pandas_processor=Processor, input="a string", row=same, output="a string", emission=same)
PORTS = [
    Port(name="i", scenario=MINE, beam=BEAM, spark=SPARK),
    Port(name="f", scenario=MINE, spark=FRAMES),
]
""")
    assert port_engines() == ["beam-port:i", "spark-port:i", "spark-port:f"]
    assert port_engines(on_request=True) == ["beam-fnapi-port:i", "beam-prism-port:i", "spark-tws-tester-port:i"]
    assert set(port_engines(on_request=True)) <= set(registry.variant_ids())
    assert [load_engine(name).title for name in (*port_engines(on_request=True), "spark-port:f")] == [
        "Fn on Beam FnApiRunner (Python, bounded)",
        "Fn on Beam PrismRunner (Python, TestStream)",
        "Processor on Spark TwsTester (Python, rows, no JVM)",
        "Processor on Spark transformWithStateInPandas (Python)",
    ]
    with pytest.raises(UnknownName, match="no such port"):
        load_engine("spark-tws-tester-port:f")


def test_a_port_may_bring_its_scenario(load):
    load('PORTS = [Port(name="m", scenario=MINE, beam=BEAM)]')
    assert [s.id for s in users_scenarios()] == ["mine"]
    assert "mine" in {s.id for s in load_scenarios()}
    assert port_engines() == ["beam-port:m"]
    assert users().ports[0].ref == "mine/echo"


def test_a_file_may_have_a_scenario_alone(load):
    load("SCENARIO = MINE")
    assert [s.id for s in users_scenarios()] == ["mine"]
    assert port_engines() == []


def test_what_a_loaded_file_does_is_part_of_what_identifies_the_adapter(load, tmp_path):
    load('PORT = Port(name="i", scenario="index-assignment", program="global", beam=BEAM)\n')
    engine = load_engine("beam-port:i")
    before, file = adapter_digest(engine), tmp_path / "my_port.py"
    file.write_text(file.read_text() + "# a comment")
    assert adapter_digest(engine) == before
    file.write_text(file.read_text() + "\nMORE = 1")
    assert adapter_digest(engine) != before


def test_nothing_is_loaded_by_default(monkeypatch):
    monkeypatch.setattr("conformance.plugins.loading._asked", ())
    assert port_engines() == users_scenarios() == []
    with pytest.raises(UnknownName, match="no such port is loaded; name its file with --load"):
        load_engine("spark-port:index")


FILES = [
    ("", "has no PORT"),
    ("PORT = 5", "PORT is a conformance Port, not a int"),
    ("PORT = Port", "PORT is a conformance Port, not the class Port"),
    ("PORTS = 5", "PORTS is a tuple of them, not a int"),
    ("import nothing_like_it", "line 38: ModuleNotFoundError: No module named 'nothing_like_it'"),
    ("def (", "line 38: SyntaxError"),
    ("raise SystemExit(3)", "line 38: SystemExit: 3"),
    (
        'PORT = Port(name="p", scenario="nothing", beam=BEAM)',
        "my_port.py: port p: unknown scenario 'nothing'; there are: ",
    ),
    ('PORT = Port(name="p", scenario="index-assignment", beam=BEAM)', "program= is missing; index-assignment has:"),
    ('PORT = Port(name="p", scenario="late-data", program="x", beam=BEAM)', "unknown program 'x'; late-data has:"),
    (
        'PORT = Port(name="p", scenario="typed-keys", program="values", beam=BEAM)',
        "typed-keys/values has typed keys, and a port's keys are texts",
    ),
    ('PORT = Port(name="p", scenario=MINE)', "line 38: port p: nothing to run"),
    ('PORT = Port(name="p q", scenario=MINE, beam=BEAM)', "letters, digits and .-_ only"),
    ('PORTS = [Port(name="p", scenario=MINE, beam=BEAM)] * 2', "two ports are called 'p'; rename one"),
    ('PORT = Port(name="p", scenario=MINE, beam=SPARK)', "beam is a BeamPort, not SparkPort("),
    ('PORT = Port(name="p", scenario=MINE, spark=Processor)', "spark is a SparkPort, not the class Processor"),
    (
        'from dataclasses import replace\nPORT = Port(name="p", scenario=replace(MINE, name="late data"), beam=BEAM)',
        "a registered scenario has the id of the scenario",
    ),
]


@pytest.mark.parametrize(("text", "says"), FILES)
def test_a_file_that_cannot_be_used_is_refused_in_one_line(load, text, says):
    preamble = PREAMBLE + "\n" * (37 - PREAMBLE.count("\n"))
    with pytest.raises(InvalidPort) as refused:
        load(text, preamble=preamble)
    assert says in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("no_such_file.py", "there is no file"),
        ("no_such_module", "is neither a file nor a module"),
        ("conformance.model", "conformance.model has no PORT"),
    ],
)
def test_what_is_not_there_is_refused(monkeypatch, name, says):
    monkeypatch.setattr("conformance.plugins.loading._asked", ())
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setenv("PYTHONPATH", "")
    ask_for([name])
    with pytest.raises(InvalidPort, match=says):
        users()


class Fn:
    def process(self, element): ...


class Processor:
    def handleInputRows(self, key, rows, timerValues): ...


SPARK = {"input": "a string", "row": str, "output": "a string", "emission": str}
SIDES = [
    (lambda: BeamPort(dofn=Fn()), "is a class or a function that makes one, not .*; give its class: Fn"),
    (lambda: BeamPort(dofn=str), "the class str has no process"),
    (lambda: BeamPort(dofn=Fn, emission=5), r"BeamPort: emission is a function, not 5 \(int\)"),
    (lambda: SparkPort(**SPARK), "give one operator: processor= or pandas_processor=, .* class, or function="),
    (lambda: SparkPort(**SPARK, processor=Processor, function=str), "give one operator: processor="),
    (lambda: SparkPort(**SPARK, processor=Processor, pandas_processor=Processor), "give one operator: processor="),
    (lambda: SparkPort(**SPARK, pandas_processor=Fn), "pandas_processor: the class Fn has no handleInputRows"),
    (lambda: SparkPort(**SPARK, processor=Fn), "the class Fn has no handleInputRows"),
    (lambda: SparkPort(**SPARK, function=str), "a function needs state="),
    (lambda: SparkPort(**SPARK, processor=Processor, state="a int"), "a processor declares its own in init"),
    (lambda: SparkPort(**SPARK, processor=Processor, time="ProcessingTime"), "processing time cannot be driven"),
    (lambda: SparkPort(**SPARK, processor=Processor, mode="complete"), "mode is 'append' or 'update'"),
    (lambda: SparkPort(**{**SPARK, "input": 5}, processor=Processor), "input is a schema as DDL"),
    (lambda: SparkPort(**{**SPARK, "output": " "}, processor=Processor), "output is empty"),
    (lambda: SparkPort(**{**SPARK, "row": None}, processor=Processor), "row is a function"),
    (lambda: Port(name="p", scenario=5, beam=BeamPort(dofn=Fn)), "scenario is a scenario's id, or a Scenario"),
]


@pytest.mark.parametrize(("make", "says"), SIDES, ids=[says for _, says in SIDES])
def test_a_wrong_side_is_refused(make, says):
    with pytest.raises(InvalidPort, match=says):
        make()


def test_a_moment_is_aware():
    assert moment(1_000_001).isoformat() == "1970-01-01T00:16:40.001000+00:00"


# What is said of two ports


CASE = Case("idle", "p", Schedule((Advance(0, 10), Deliver(1, (Event("e1", "a", None, 50),)), Advance(2, 99))))
GIVEN = Trace((Emission("a", {"n": 1}, 1),))
OTHER = Trace((Emission("a", {"n": 2}, 1),))
STOPPED = Trace((Emission("a", None, 1, error="KeyError: 5"),))


def _said(left, right, specified=GIVEN):
    (scenario,) = [narrowed(s, ["global"]) for s in load_scenarios(["index-assignment"])]
    case = Case(scenario.id, "global", CASE.schedule)
    traces = {name: {case.id: trace} for name, trace in (("beam-port:i", left), ("spark-port:i", right))}
    references = dict.fromkeys(traces, lambda cases: {case.id: specified for case in cases})
    found = agreements([scenario], [case], traces, references, stops=frozenset(traces))
    environment = {name: EngineRecord(native_operator="Fn", shown_as=name) for name in traces}
    results = Results(RunRecord(), environment, {}, [], agreements=found)
    return [sentence for sentence, _ in compared_ports(results)]


def test_two_ports_agree_or_differ():
    with_reference = [f"{name} and the reference agree on 1 case" for name in ("beam-port:i", "spark-port:i")]
    assert _said(GIVEN, GIVEN) == ["beam-port:i and spark-port:i agree on 1 case", *with_reference]
    differ = "beam-port:i and spark-port:i differ on 1 of 1 case"
    assert _said(GIVEN, OTHER) == [
        differ,
        with_reference[0],
        "spark-port:i and the reference differ on 1 of 1 case",
    ]


def test_a_port_that_stops_differs():
    assert _said(GIVEN, STOPPED)[0] == "beam-port:i and spark-port:i differ on 1 of 1 case"
