"""Wrong commands, and files that were damaged: a line each, with the exit code that is documented, and no traceback."""

import gzip
import json
import random
import shlex

import pytest
from commands import conformance
from own_scenario import echo

from conformance.judgement.cell import MatrixCell, Verdict
from conformance.model.case import Case
from conformance.model.schedule import Advance, Deliver, Event, renumbered
from conformance.model.trace import Emission, Trace
from conformance.results.baseline import Baseline
from conformance.results.record import EngineRecord, GuaranteeRecord, RunRecord, ScenarioRecord
from conformance.results.results import Results
from conformance.results.witness import Witness

WRONG = {
    # what there is not
    "rnu": "unknown command 'rnu'; did you mean run?",
    "run --enigne x": "no such option --enigne; did you mean --engine?",
    "run --engine spork": "unknown engine 'spork'; there are: reference,",
    "run --engine spark-twss": "did you mean spark-tws?",
    "run --engine mutant:nothing": "unknown mutant 'nothing'",
    "run --engine reference@1": "'reference' comes in no releases",
    "run --scenario nothing": "unknown scenario 'nothing'",
    "run --load none.py": "there is no file none.py",
    "run --load no.such.module": "no.such.module is neither a file nor a module to import",
    "run --load text": "text is not a Python file",
    "run --load broken.py": "broken.py, line 1: SyntaxError",
    "plan spork": "unknown engine 'spork'",
    "plan": "Missing argument 'ENGINE'",
    "list nonsense": "'nonsense' is not one of them; there are: engines,",
    "explain a/b/c r.json": "unknown engine 'a'; there are: e",
    "explain e/s/h r.json": "unknown guarantee 'h'; there are: g",
    "explain e r.json": "a cell is ENGINE/SCENARIO/GUARANTEE",
    "report r.json --report nothing=x": "unknown report 'nothing'",
    "baseline wirte": "unknown command 'wirte'; did you mean write?",
    "new scneario x": "did you mean scenario?",
    "new scenario": "Missing argument 'NAME'",
    "selftest --as spork": "unknown engine 'spork'",
    # values that cannot be meant
    "run --cases 0": "0 is not in the range",
    "run --cases many": "'many' is not a valid integer",
    "run --rows 0": "0 is not in the range",
    "run --timeout 0": "0.0 is not in the range",
    "run --seed x": "'x' is not a valid integer",
    "run --budget 5": "'5' is not a time such as 90s, 5m or 1h",
    "run --budget 0s": "'0s' is not a time",
    "run --shard 3/2": "'3/2' is not K/N",
    "run --shard one": "'one' is not K/N",
    "run --checker lokal": "did you mean local?",
    "run --release pyspark==": "write PACKAGE==VERSION",
    "run --release spork==1": "write PACKAGE==VERSION; packages: ",
    "run --engine spark-tws@": "'' is no version of pyspark",
    "run --engine spark-tws@x.y": "'x.y' is no version of pyspark",
    "cache --days -1": "-1.0 is not in the range",
    "bisect pyspark --cell spork/s/g --good 1 --bad 2": "unknown engine 'spork'",
    "bisect pyspark --cell spark-tws@4.0.5/s/g --good 1 --bad 2": "by its id without a version",
    # options that do not go together
    "run --shard 1/2 --budget 5m": "--shard and --budget do not go together",
    "run --engine reference --spark-master local[2]": (
        "--spark-master is a setting of no engine that is to run (reference)"
    ),
    "run --engine spark-tws@4.0.5+4.3.0": "give --from and --to there",
    "report r.json --kills k": "--kills says what the page shows: give --html too",
    "replay w.json --to x.py": "--to names the file of an export: give --export, too",
    "replay w.json --expect observed": "--expect is what an exported test expects: give --export, too",
    "replay w.json --export testream": "did you mean teststream?",
    "selftest --quick": "give --as ENGINE too",
    "selftest --as reference --quick --upgrade": "give one of them",
    "selftest --as reference --html x": "--html is of the kill matrix",
    "upgrade": "give PACKAGE with --from and --to, or --from-lock OLD NEW, or --from-engine and --to-engine",
    "upgrade pyspark --from 4.0.5": "give PACKAGE with --from and --to",
    "upgrade pyspork --from 4.0 --to 4.1": "did you mean pyspark?",
    "upgrade pyspark --from x --to 4.1": "--from: 'x' is no version of pyspark",
    "upgrade pyspark --from 4.1 --to 4.1.0": "name two releases",
    "upgrade --from-engine reference": "--from-engine and --to-engine go together",
    "upgrade --from-lock none.lock text": "cannot read none.lock",
    "gate r.json": "Missing option '--baseline'",
    # files that are not what they should be
    "report none.json": "cannot read none.json: there is no such file",
    "report .": "cannot read .: it is a folder",
    "report text": "text is not JSON",
    "report other.json": "is not a results file of this version",
    "report b.jsonl": "b.jsonl is not JSON",
    "claims other.json": "is not a results file of this version",
    "diff r.json text": "text is neither a whole baseline nor results",
    "gate r.json --baseline other.json": "other.json is neither a baseline of this version nor results",
    "gate r.json --baseline b.jsonl --expectations text": "text is not TOML",
    "gate r.json --baseline b.jsonl --expectations none.toml": "cannot read none.toml",
    "baseline write r.json r.json": "r.json has results, and a baseline would take their place",
    "baseline write b.jsonl c.jsonl --without x": "b.jsonl has no engine 'x'",
    "baseline show text": "text is neither a whole baseline nor results",
    "replay none": "cannot read none: it is no file, and no witness",
    "replay other.json": "other.json is not a witness of this version",
    "replay w.json": "w.json is of s/p, which is not a program of any scenario here",
    "run --engine reference --cases-from none": "cannot read cases from none",
    "run --engine reference --cases-from text": "cannot read cases from text",
    "run --engine reference --out text/below": "text/below",
    "check none": "none",
    "merge none": "none is not the folder of a shard",
    "site none": "Path 'none' does not exist",
    "check-files notes.md": "notes.md is neither a Python file nor TOML",
    "check-files broken.py": "broken.py, line 1: SyntaxError",
    "selftest --load broken.py": "broken.py, line 1: SyntaxError",
}
"""A command -> what its line says."""


def witness():
    case = Case("s", "p", renumbered([Advance(0, 0), Deliver(0, (Event("e1", "a", None, 5),)), Advance(0, 9)]))
    seen = Trace((Emission("a", 1, 1),))
    return Witness("g", "so", case, None, "e", {"x": "1"}, "it is not so", seen, Trace(()))


def results():
    cell = MatrixCell("s", "p", "g", "as drawn", "e", Verdict.VIOLATED, "why", cases=5, violations=1)
    found = witness()
    return Results(
        RunRecord("0.1.0", 1, 1, 5, "d", 1, scenarios=("s",), engines=("e",)),
        {"e": EngineRecord("An engine", "e", versions={"x": "1"})},
        {"s": ScenarioRecord("a scenario", "", {"g": GuaranteeRecord("a claim", "p")})},
        [MatrixCell(**{**cell.__dict__, "witness": found.id})],
        witnesses={found.id: found},
    )


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A folder with whole files and others."""
    folder = tmp_path_factory.mktemp("home")
    results().write(folder / "r.json")
    Baseline.of(results()).write(folder / "b.jsonl")
    (folder / "w.json").write_text(witness().file_text())
    (folder / "text").write_text("not json, [not toml\n")
    (folder / "other.json").write_text('{"schema": "other"}')
    (folder / "broken.py").write_text("x =\n")
    (folder / "good.py").write_text(echo("good"))
    (folder / "notes.md").write_text("")
    return folder


@pytest.mark.parametrize("command", WRONG)
def test_a_wrong_command_is_one_line_with_exit_code_2(home, command):
    done = conformance(*shlex.split(command), cwd=home)
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith("Error: ")
    assert WRONG[command] in line
    assert len(line) < 700
    assert "Traceback" not in line


READERS = {
    "r.json": (
        "report {}",
        "explain e/s/g {}",
        "claims {}",
        "diff {} r.json",
        "baseline show {}",
        "gate {} --baseline r.json",
    ),
    "w.json": ("replay {}",),
    "b.jsonl": ("baseline show {}", "diff {} r.json", "gate r.json --baseline {}"),
}
"""File -> the commands that read one."""


FILES = 334


def damaged(text, dice):
    """The text after one damage: cut off, a part doubled or lost, bytes changed, or a value put in another's place."""
    kind, at = dice.randrange(6), dice.randrange(len(text))
    if kind == 0:
        return text[:at].encode()
    if kind == 1:
        return (text[:at] + text[at + dice.randrange(1, 40) :]).encode()
    if kind == 2:
        return (text[:at] + text[dice.randrange(len(text)) :]).encode()
    if kind == 3:
        return text[:at].encode() + bytes(dice.randrange(256) for _ in range(3)) + text[at + 3 :].encode()
    lines = text.splitlines()
    whole = len(lines) == 1 or text.startswith("{\n")
    number = 0 if whole else dice.randrange(len(lines))
    data = json.loads(text if whole else lines[number])
    spot, key = dice.choice([*spots(data)])
    if kind == 4 and isinstance(spot, dict):
        del spot[key]
    else:
        spot[key] = dice.choice([None, -1, 2**70, "", "x" * 50, [], {}, [1], {"a": 1}, True, 1e300])
    changed = json.dumps(data)
    return (changed if whole else "\n".join([*lines[:number], changed, *lines[number + 1 :]])).encode()


def spots(data):
    """(container, key) of each value."""
    for key, value in data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ():
        yield data, key
        yield from spots(value)


@pytest.mark.parametrize("name", READERS)
def test_a_damaged_file_is_one_line_or_is_read(home, tmp_path, name):
    """Where the damage leaves a file that can be meant, the command may answer; it never raises."""
    dice, refused, texts = random.Random(name), 0, (home / name).read_text()
    for number in range(FILES):
        file = tmp_path / f"{number}-{name}"
        content = damaged(texts, dice)
        if name == "r.json" and number % 3 == 0:
            file = file.with_suffix(".json.gz")
            content = gzip.compress(content)
            content = content if number % 2 else content[: len(content) // 2]
        file.write_bytes(content)
        done = conformance(*shlex.split(dice.choice(READERS[name]).format(shlex.quote(str(file)))), cwd=home)
        assert done.returncode in (0, 1, 2), done.stderr
        if done.returncode == 2:
            (line,) = done.stderr.splitlines()
            assert line.startswith("Error: ")
            assert len(line) < 1_000
            refused += 1
    assert refused > FILES // 2
