"""Two releases of a framework compared, and the first bad one found, as a user meets it. The framework is a toy whose
releases need no installation: their environments are there already."""

import json
import re
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import commands
import pytest
from own_scenario import echo

from conformance.execution.environments import CACHE, python_of
from conformance.judgement.cell import Verdict
from conformance.results.baseline import Baseline
from conformance.results.results import Results
from conformance.support.release import Release

TOY = Path(__file__).parent / "toy_framework"
RELEASES = ["0.9", "1.0", "1.1", "2.0", "2.1", "3.0", "3.1", "3.2", "4.0"]
ROW = "late-data/an-element-exactly-at-the-watermark-is-processed"


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A folder to work in, with an environment for each release."""
    folder = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(CACHE, str(folder / "cache"))
        patch.setattr("conformance.execution.environments._build", _build)
        for number in RELEASES:
            python_of(Release("toy-framework", number))
    return folder


def _build(release, wanted, place):
    """In place of an installation: this very Python, told which release it is."""
    python = place / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(f'#!/bin/sh\nTOY_RELEASE={release.version} exec {sys.executable} "$@"\n')
    python.chmod(0o755)


def conformance(*arguments, home, **more):
    return commands.conformance(*arguments, cwd=home, env={CACHE: str(home / "cache")} | more, path=[TOY])


def upgrade(old, new, home, *more, scenario="late-data", quick=True):
    asked = [
        "--scenario",
        scenario,
        "--cases",
        1,
        "--seed",
        3,
        "--out",
        f"{old}-{new}",
        *(["--quick"] if quick else []),
    ]
    return conformance("upgrade", "toy-framework", "--from", old, "--to", new, *asked, *more, home=home)


@pytest.fixture(scope="module")
def worse(home):
    return upgrade("1.0", "2.0", home, quick=False)


def test_what_held_and_no_longer_holds_is_blocked_with_a_witness(worse, home):
    assert worse.returncode == 1, worse.stdout + worse.stderr
    assert f"released/{ROW}" in worse.stdout
    assert "held, is violated" in worse.stdout
    assert "asking the old release for what" in worse.stdout
    assert "late data (global): released@1.0 and released@2.0 differ on" in worse.stdout
    old, new = (Results.read(home / "1.0-2.0" / side / "results.json.gz") for side in ("old", "new"))
    assert old.run.cases_digest == new.run.cases_digest
    (asked,) = {replay.witness for replay in old.replays} & {
        cell.witness for cell in new.cells if cell.row == tuple(ROW.split("/")) and cell.perturbation == "as drawn"
    }
    assert {r.answer for r in old.replays if r.witness == asked} == {"FIXED"}
    for file in ("matrix.html", "summary.md", "junit.xml"):
        assert "at the watermark" in (home / "1.0-2.0" / file).read_text().replace("-", " ")


def test_the_summary_begins_with_what_changed_and_what_replays_it(worse, home):
    summary = (home / "1.0-2.0" / "summary.md").read_text()
    parts = ["# Gate: blocked", "no longer holds", "conformance replay", "## What came out", "## Blocked"]
    assert parts == sorted(parts, key=summary.index)
    assert re.search(r"and \d+ more\b", summary)
    file = r"1\.0-2\.0/new/witnesses/late-data/\w+\.json"
    command = re.search(rf"`conformance (replay {file} --engine released@1\.0 --engine released@2\.0)`", summary)[1]
    again = conformance(*command.split(), home=home)
    assert again.returncode == 1
    assert "released@1.0: FIXED" in again.stdout
    assert "released@2.0: STILL FAILS" in again.stdout


def test_what_was_accepted_passes(worse, home):
    proposed = conformance(
        "gate", "1.0-2.0/new/results.json.gz", "--baseline", "1.0-2.0/old/results.json.gz", "--propose", home=home
    )
    entries = proposed.stdout[proposed.stdout.index("[[divergence]]") :].replace('reason = ""', 'reason = "known"')
    (home / "accepted.toml").write_text(entries)
    both = ["1.0-2.0/new/results.json.gz", "--baseline", "1.0-2.0/old/results.json.gz"]
    done = conformance("gate", *both, "--expectations", "accepted.toml", home=home)
    assert done.returncode == 0, done.stdout


def accepting(blocked):
    """The entries that ``gate`` would propose for outputs that differ, with a reason."""
    rows = re.findall(r"^  released/(\S+): to look at: .*\n    (output differs.*)$", blocked.stdout, re.MULTILINE)
    assert rows, blocked.stdout
    entry = (
        '[[divergence]]\nengine = "released"\nguarantee = "{}"\nkind = "engine"\nreason = "known"\nsignature = "{}"\n'
    )
    return "".join(entry.format(*row) for row in rows)


@pytest.mark.slow
def test_what_is_mended_is_told_and_passes_once_the_other_output_was_accepted(home):
    blocked = upgrade("2.1", "1.0", home)
    assert blocked.returncode == 1, blocked.stdout + blocked.stderr
    assert "holds now" in blocked.stdout
    assert "guarantees on engines: 0 blocked" in blocked.stdout
    assert "released: identical output on" in blocked.stdout
    (home / "mended.toml").write_text(accepting(blocked))
    done = upgrade("2.1", "1.0", home, "--expectations", "mended.toml")
    assert done.returncode == 0, done.stdout + done.stderr


def test_output_that_differs_is_listed_beside_the_guarantees_that_it_breaks(home):
    """With the smallest case, and a command that runs the case in both releases."""
    done = upgrade("1.1", "3.1", home, "--engine", "released")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "released/late-data/no-output-is-lost-doubled-or-under-another-key-global" in done.stdout
    assert "released/late-data/global: to look at: output differs on" in done.stdout
    summary = (home / "1.1-3.1" / "summary.md").read_text()
    assert summary.startswith("# Gate: blocked")
    assert "released/late-data/global: to look at" in summary
    command = re.search(r"conformance (run --cases-from \S+/released-late-data-global.parquet .*)", done.stdout)[1]
    again = conformance(*command.split(), "--out", "again", "--witnesses", "none", home=home)
    assert again.returncode == 0, again.stdout + again.stderr
    found = Results.read(home / "again" / "results.json.gz")
    (agreement,) = [a for a in found.agreements if (a.left, a.right) == ("released@1.1", "released@3.1") and a.cases]
    assert (agreement.program, agreement.cases, agreement.differing) == ("global", 1, 1)


def test_an_engine_that_fails_or_runs_in_one_release_only_stands_at_the_top(home):
    engines = [part for name in ("released", "released:unsteady", "released:new") for part in ("--engine", name)]
    done = upgrade("1.1", "3.2", home, *engines)
    assert done.returncode == 3, done.stdout + done.stderr
    summary = (home / "1.1-3.2" / "summary.md").read_text().splitlines()
    assert summary[0] == "# Gate: blocked (toy-framework 1.1 → 3.2)"
    assert summary[2].startswith("Both releases ran the same ")
    assert summary[4].startswith("## Engines that did not run alike")
    told = "\n".join(summary[6:10])
    assert "told: released:new: runs in 3.2 only: toy-framework 1.1 has no new operator" in told
    assert "blocks: released:unsteady: failed in 3.2" in told
    back = upgrade("3.2", "1.1", home, *engines)
    assert back.returncode == 3, back.stdout + back.stderr
    told = (home / "3.2-1.1" / "summary.md").read_text()
    assert told.startswith("# Gate: blocked")
    assert "blocks: released:new: runs in 3.2 only" in told
    assert "blocks: released:unsteady: failed in 3.2" in told


PORT = (
    "from conformance.plugins.port import Port\nfrom toy_framework import ToyPort\n"
    + echo("echo of mine")
    + "\n\nclass Mine(Echo):\n    pass\n\n\n"
)


def test_a_users_own_operator_and_scenario_are_gated(home):
    (home / "scenario.py").write_text(PORT)
    (home / "port.py").write_text(
        PORT + 'PORT = Port(name="mine", scenario=SCENARIO, toy=ToyPort(Mine()))\nSCENARIOS = ()\n'
    )
    asked = ["--from", "1.1", "--to", "3.1", "--quick", "--cases", 1, "--seed", 1]
    done = conformance("upgrade", "toy-framework", *asked, "--load", "port.py", "--out", "port", home=home)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "toy-port:mine/echo-of-mine/echo: to look at: output differs on" in done.stdout
    results = Results.read(home / "port" / "new" / "results.json.gz")
    assert (results.engines, [*results.scenarios]) == (["toy-port:mine@3.1"], ["echo-of-mine"])
    done = conformance("upgrade", "toy-framework", *asked, "--load", "scenario.py", "--out", "own", home=home)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "released/echo-of-mine/echo: to look at: output differs on" in done.stdout


def test_a_checkpoint_that_does_not_survive_is_blocked(home):
    """Each release by itself keeps its timers over a restart."""
    done = upgrade("1.1", "3.0", home, scenario="event-time-timers")
    assert done.returncode == 1, done.stdout + done.stderr
    results = Results.read(home / "1.1-3.0" / "new" / "results.json.gz")
    violated = {cell.guarantee for cell in results.cells if cell.verdict is Verdict.VIOLATED}
    assert violated
    assert all("survives-the-upgrade" in guarantee for guarantee in violated)
    witness = next(cell.witness for cell in results.cells if cell.verdict is Verdict.VIOLATED)
    again = conformance("replay", f"1.1-3.0/carried/witnesses/event-time-timers/{witness}.json", home=home)
    assert again.returncode == 1
    assert "released@1.1+3.0: STILL FAILS" in again.stdout


def test_a_way_back_is_asked_for(home):
    """3.0 loses the timers of a checkpoint of 1.1: that is the way back from 1.1. Then 1.1 goes on again."""
    done = upgrade("3.0", "1.1", home, "--rollback", scenario="event-time-timers")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "checkpoints of 1.1 on 3.0, then on 1.1" in done.stdout
    told = r"^released: (\d+) of \1 programs go on from a checkpoint of the old release; \d+ of \1 programs from "
    assert re.search(told, done.stdout, re.MULTILINE), done.stdout
    assert "guarantees that only the new one has" not in done.stdout
    results = Results.read(home / "3.0-1.1" / "new" / "results.json.gz")
    there = {cell.guarantee for cell in results.cells}
    assert any("survives-the-upgrade" in guarantee for guarantee in there)
    violated = [cell for cell in results.cells if cell.verdict is Verdict.VIOLATED]
    assert violated
    assert all("survives-the-rollback" in cell.guarantee for cell in violated)
    again = conformance(
        "replay", f"3.0-1.1/rolled-back/witnesses/event-time-timers/{violated[0].witness}.json", home=home
    )
    assert again.returncode == 1, again.stdout + again.stderr
    assert "released@1.1+3.0+1.1: STILL FAILS" in again.stdout


def test_a_checkpoint_that_cannot_be_read_is_a_violation_with_its_cause(home):
    done = upgrade("1.1", "4.0", home, scenario="event-time-timers")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "checkpoints of other releases cannot be read" in (home / "1.1-4.0" / "matrix.html").read_text()


def test_an_api_that_the_old_release_lacks_is_left_out(home):
    done = upgrade("0.9", "1.0", home)
    assert done.returncode == 3
    assert "released: left out: toy-framework 0.9 has no operator" in done.stdout
    assert "cannot compare 0.9 and 1.0: toy-framework 0.9 has no operator" in done.stderr
    assert "toy-framework 0.9 has no operator" in (home / "0.9-1.0" / "summary.md").read_text()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["toy", "--from", "1", "--to", "2"], "no engine is of the package 'toy'; packages: "),
        (["pyspark", "--from", "1", "--to", "2", "--engine", "beam-direct"], "name an engine of pyspark"),
        (["toy-framework", "--from", "one", "--to", "2"], "--from: 'one' is no version of toy-framework"),
        (
            ["toy-framework", "--from", "1", "--to", "1.0"],
            "--from and --to are both toy-framework 1: name two releases",
        ),
        (["toy-framework", "--from", "1", "--to", "2", "--cases-from", "no"], "cannot read cases from no: there is no"),
    ],
)
def test_an_upgrade_that_cannot_be_meant_is_one_line(home, arguments, says):
    done = conformance("upgrade", *arguments, "--scenario", "late-data", "--cases", 1, "--out", "no", home=home)
    assert done.returncode == 2, done.stdout
    assert says in done.stderr.splitlines()[-1]


UV_LOCK = """version = 1
requires-python = ">=3.10"

[[package]]
name = "toy-framework"
version = "{}"
source = {{ registry = "https://pypi.org/simple" }}

[[package]]
name = "mine"
source = {{ editable = "." }}
"""


def test_what_two_lock_files_pin_otherwise_is_upgraded(home):
    """Here from requirements to a lock; of the other packages, one is in one file only, and one has no engine."""
    (home / "requirements.txt").write_text(
        "# exported\n--index-url https://pypi.org/simple\nToy_Framework[more]==1.0 ; python_version >= '3' \\\n"
        "    --hash=sha256:abc  # via mine\npyspark==4.0.5\nidna==3.4\n"
    )
    (home / "uv.lock").write_text(UV_LOCK.format("2.1"))
    asked = ["--from-lock", "requirements.txt", "uv.lock", "--scenario", "late-data", "--quick", "--seed", 3]
    done = conformance("upgrade", *asked, "--out", "locks", home=home)
    assert done.returncode == 1, done.stdout + done.stderr
    assert done.stdout.splitlines()[:2] == ["pyspark 4.0.5 in the old file only", "toy-framework 1.0 → 2.1"]
    assert "held, is violated" in done.stdout
    summary = (home / "locks" / "toy-framework" / "summary.md").read_text()
    assert summary.startswith("# Gate: blocked (toy-framework 1.0 → 2.1)")


def test_lock_files_that_pin_the_same_need_no_upgrade(home):
    (home / "a.lock").write_text(UV_LOCK.format("1.0"))
    (home / "b.txt").write_text("toy-framework==1.0.0\n")
    done = conformance("upgrade", "--from-lock", "a.lock", "b.txt", home=home)
    assert done.returncode == 0, done.stdout + done.stderr
    told, nothing = done.stdout.splitlines()
    assert told == "toy-framework 1.0 in both"
    assert nothing.startswith("nothing to upgrade: a.lock and b.txt pin no two releases of ")


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("old.txt", "toy-framework>=1\n", "old.txt: toy-framework is not pinned (>=1): write toy-framework==VERSION"),
        ("old.txt", "toy-framework==1.*\n", "old.txt: toy-framework is not pinned (==1.*)"),
        ("old.txt", "toy-framework @ https://example.com/toy.whl\n", "is not pinned (https://example.com/toy.whl)"),
        ("old.txt", "not a requirement\n", "old.txt is no requirements file: it has the line 'not a requirement'"),
        (
            "old.txt",
            "toy-framework==1\ntoy-framework==2\n",
            "pins toy-framework in several releases for this Python: 1",
        ),
        ("old.lock", "version =\n", "old.lock is not TOML: "),
        ("old.lock", "version = 1\n", "old.lock is no lock file: it has no list of packages"),
        ("old.lock", '[[package]]\nname = "toy-framework"\n', "old.lock: toy-framework is not pinned (no version)"),
        ("none.txt", None, "cannot read none.txt: "),
    ],
)
def test_a_lock_file_that_pins_nothing_is_one_line(home, name, text, says):
    if text is not None:
        (home / name).write_text(text)
    (home / "new.txt").write_text("toy-framework==1.0\n")
    done = conformance("upgrade", "--from-lock", name, "new.txt", home=home)
    assert done.returncode == 2, done.stdout
    assert says in done.stderr.splitlines()[-1]


@pytest.mark.parametrize(
    ("text", "release"),
    [
        ("toy-framework==1.0 ; python_version < '3'\ntoy-framework==1.1 ; python_version >= '3'\n", "1.1"),
        ("toy-framework===1.1\n", "1.1"),
    ],
)
def test_the_release_for_this_python_counts(home, text, release):
    (home / "marked.txt").write_text(text)
    (home / "plain.txt").write_text(f"toy-framework=={release}\n")
    done = conformance("upgrade", "--from-lock", "marked.txt", "plain.txt", home=home)
    assert (done.returncode, done.stdout.splitlines()[0]) == (0, f"toy-framework {release} in both")


@pytest.mark.parametrize(
    ("table", "key"),
    [("package", "resolution-markers = [{}]"), ("package", "markers = {}"), ("packages", "marker = {}")],
)
def test_every_kind_of_lock_says_for_which_python_a_release_is(home, table, key):
    """As uv, Poetry and pylock.toml write it."""
    both = (("1.0", "\"python_version < '3'\""), ("1.1", "\"python_version >= '3'\""))
    entry = '[[{}]]\nname = "toy-framework"\nversion = "{}"\n{}\n'
    (home / "two.lock").write_text("".join(entry.format(table, number, key.format(when)) for number, when in both))
    (home / "one.txt").write_text("toy-framework==1.1\n")
    done = conformance("upgrade", "--from-lock", "two.lock", "one.txt", home=home)
    assert (done.returncode, done.stdout.splitlines()[0]) == (0, "toy-framework 1.1 in both")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["toy-framework"], "give PACKAGE with --from and --to, or --from-lock OLD NEW"),
        ([], "give PACKAGE with --from and --to, or --from-lock OLD NEW"),
        (["toy-framework", "--from-lock", "a.txt", "b.txt"], "not two of them"),
        (["--from-lock", "a.txt", "b.txt", "--engine", "reference"], "--engine reference: name an engine of"),
    ],
)
def test_releases_are_given_in_one_way(home, arguments, says):
    done = conformance("upgrade", *arguments, home=home)
    assert (done.returncode, says in done.stderr.splitlines()[-1]) == (2, True), done.stderr


def test_all_engines_of_a_release_run_by_one_option(home):
    done = conformance(
        "run", "--release", "toy-framework==2.0", "--scenario", "late-data", "--cases", 1, "--seed", 1, home=home
    )
    assert done.returncode == 0, done.stdout + done.stderr
    results = Results.read(home / "build" / "conformance" / "results.json.gz")
    assert results.engines == ["reference", "released@2.0"]
    assert conformance("run", "--release", "toy-framework", home=home).returncode == 2
    assert conformance("run", "--engine", "released@1.0+2.0", home=home).returncode == 2


@pytest.fixture
def index():
    """The address of an index that has the releases; one of them was taken back."""

    class Index(BaseHTTPRequestHandler):
        def do_GET(self):
            files = [{"filename": f"toy_framework-{v}.tar.gz", "yanked": v == "1.1"} for v in [*RELEASES, "5.0.dev1"]]
            self.send_response(200)
            self.end_headers()
            self.wfile.write(json.dumps({"files": files}).encode())

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Index)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


def test_the_first_release_in_which_a_witness_fails_is_found(worse, home, index):
    asked = ["--cell", f"released/{ROW}", "--witnesses", "1.0-2.0/new/witnesses"]
    done = conformance(
        "bisect", "toy-framework", *asked, "--good", "1.0", "--bad", "2.1", home=home, UV_DEFAULT_INDEX=index
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "toy-framework 2.0 is the first release in which it fails; in 1.0 it does not" in done.stdout
    wrong = conformance(
        "bisect", "toy-framework", *asked, "--good", "2.0", "--bad", "2.1", home=home, UV_DEFAULT_INDEX=index
    )
    assert (wrong.returncode, "the witness fails in 2.0" in wrong.stderr) == (2, True)
    unknown = conformance(
        "bisect", "toy-framework", *asked, "--good", "1.1", "--bad", "2.1", home=home, UV_DEFAULT_INDEX=index
    )
    assert (unknown.returncode, "there is no release 1.1" in unknown.stderr) == (2, True)


def move(old, new, home, *more):
    asked = ["--scenario", "late-data", "--cases", 1, "--seed", 3, "--quick", "--out", "move"]
    return conformance("upgrade", "--from-engine", old, "--to-engine", new, *asked, *more, home=home)


def test_a_move_tells_what_held_there_and_is_broken_here_and_passes_where_that_is_accepted(home):
    done = move("released@1.0", "released@2.0", home)
    assert done.returncode == 1, done.stdout + done.stderr
    results = Results.read(home / "move" / "results.json.gz")
    broken = [cell for cell in results.cells if cell.engine == "released@2.0" and cell.verdict is Verdict.VIOLATED]
    old = {(cell.row, cell.perturbation): cell.verdict for cell in results.cells if cell.engine == "released@1.0"}
    rows = {cell.row for cell in broken if old.get((cell.row, cell.perturbation)) is Verdict.HOLDS}
    assert f"{len(rows)} held there, broken here, 0 broken there" in done.stdout
    assert re.search(r"an element exactly at the watermark is processed \(.*\) \[conformance replay \w+\]", done.stdout)
    assert {"FIXED"} <= {r.answer for r in results.replays if r.engine == "released@1.0"}, "asked for its witness, too"
    summary = (home / "move" / "summary.md").read_text()
    assert summary.index("## Held there, broken here") < summary.index("conformance replay move/witnesses/late-data/")
    stands = Baseline.read(home / "move" / "results.json.gz")
    entries = {
        (place[1:3], standing.signature): f"""
[[divergence]]
engine = "released"
guarantee = "{place[1]}/{place[2]}"
kind = "never"
reason = "known"
signature = {json.dumps(standing.signature)}
"""
        for place, standing in stands.cells.items()
        if place[0] == "released@2.0" and standing.verdict is Verdict.VIOLATED
    }
    (home / "moved.toml").write_text("".join(entries.values()))
    done = move("released@1.0", "released@2.0", home, "--expectations", "moved.toml")
    assert done.returncode == 0, done.stdout
    assert "of them accepted" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--from-engine", "released@1.0"], "--from-engine and --to-engine go together: name both engines"),
        (["--from-engine", "released@1", "--to-engine", "released@1"], "are both released@1: name two engines"),
        (["--from-engine", "releesed@1", "--to-engine", "reference"], "unknown engine 'releesed'; did you mean rele"),
        (["--from-engine", "released@x", "--to-engine", "reference"], "'x' is no version of toy-framework"),
        (["--from-engine", "released@1+2", "--to-engine", "reference"], "released@1+2: name an engine in one release"),
        (["toy-framework", "--to-engine", "released@1"], "not two of them"),
        (
            ["--from-engine", "released@1", "--to-engine", "released@2", "--rollback"],
            "no checkpoint goes from one engine",
        ),
        (["--from-engine", "released@1", "--to-engine", "reference", "--engine", "reference"], "leave out --engine"),
    ],
)
def test_a_move_that_cannot_be_meant_is_one_line(home, arguments, says):
    done = conformance("upgrade", *arguments, "--scenario", "late-data", "--out", "no", home=home)
    assert done.returncode == 2, done.stdout
    (line,) = done.stderr.splitlines()
    assert says in line


def test_a_move_to_a_release_that_lacks_the_api_is_one_line(home):
    done = move("reference", "released@0.9", home)
    assert done.returncode == 3
    assert "cannot compare reference and released@0.9: toy-framework 0.9 has no operator" in done.stderr


@pytest.mark.slow
def test_the_matrix_of_checkpoints_has_upgrades_and_rollbacks(home):
    """3.0 loses the timers of a checkpoint of 1.1, also where it is the one that began, and 4.0 cannot read one of
    another release. What is known is not asked again."""
    asked = ["--scenario", "event-time-timers", "--engine", "released", "--file", "matrix.json"]
    done = conformance("checkpoints", "toy-framework", "1.1", "3.0", "4.0", *asked, home=home)
    assert done.returncode == 0, done.stdout + done.stderr
    rows = json.loads((home / "matrix.json").read_text())
    found = {(row["begun"], row["resumed"]): row for row in rows if not row["back"]}
    back = {(row["begun"], row["resumed"]): row for row in rows if row["back"]}
    assert set(found) == {(a, b) for a in ("1.1", "3.0", "4.0") for b in ("1.1", "3.0", "4.0") if a != b}
    assert found["1.1", "3.0"]["lost"]
    assert any("cannot be read" in why for why in found["1.1", "4.0"]["lost"].values())
    assert found["3.0", "1.1"]["kept"]
    assert not found["3.0", "1.1"]["lost"]
    assert back["3.0", "1.1"]["lost"]
    assert all(found[way]["kept"] for way in back)
    again = conformance("checkpoints", "toy-framework", "1.1", "3.0", "4.0", *asked, home=home)
    assert again.stdout.strip() == "in matrix.json"
