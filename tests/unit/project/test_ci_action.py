"""What the GitHub action and the GitLab component do, as scripts: with a command ``conformance`` that says what it was
asked for."""

import json
import os
import re
import shutil
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import yaml

from conformance.comparison.gate import GateReport, Outcome, Ruled, Ruling
from conformance.reports.text.comparison import gate_junit

ROOT = Path(__file__).parents[3]
CI = ROOT / "ci"

FAKE = """#!{python}
import os, sys
from pathlib import Path
with open("asked", "a") as file:
    print(*sys.argv[1:], file=file)
if sys.argv[1] != "cache":
    print("said by", sys.argv[1])
    print(os.environ.get("FAKE_ERROR", ""), file=sys.stderr)
if "--out" in sys.argv:
    Path(sys.argv[sys.argv.index("--out") + 1], "summary.md").write_text("# What was found\\n")
sys.exit(int(os.environ.get("FAKE_" + sys.argv[1].upper(), "0")))
"""

FAKE_GH = """#!{python}
import os, sys
with open("asked", "a") as file:
    print("gh", *sys.argv[1:], file=file)
if "--jq" in sys.argv:
    print(os.environ.get("FAKE_COMMENT", ""))
else:
    open("body", "w").write(sys.stdin.read())
"""


@pytest.fixture
def folder(tmp_path):
    """A folder to work in, with the two commands in ``bin``."""
    (tmp_path / "bin").mkdir()
    for name, text in (("conformance", FAKE), ("gh", FAKE_GH)):
        path = tmp_path / "bin" / name
        path.write_text(text.format(python=sys.executable))
        path.chmod(0o755)
    return tmp_path


def script(name, *arguments, folder, **env):
    """Runs a script with nothing of this machine's own job in its environment."""
    kept = {name: os.environ[name] for name in ("HOME", "LANG") if name in os.environ}
    path = os.pathsep.join([str(folder / "bin"), str(Path(sys.executable).parent), os.environ["PATH"]])
    command = [sys.executable] if name.endswith(".py") else ["bash"]
    return subprocess.run(
        [*command, str(CI / name), *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=folder,
        env={**kept, "PATH": path, **env},
        check=False,
    )


def asked(folder):
    """What the commands were asked for, without the upkeep of the cache."""
    lines = (folder / "asked").read_text().splitlines() if (folder / "asked").exists() else []
    return [line for line in lines if not line.startswith("cache ")]


@pytest.mark.parametrize(
    ("given", "command"),
    [
        ({}, "run --seed 1 --out build/conformance"),
        (
            {"INPUT_ENGINE": "spark-tws\nbeam-direct", "INPUT_CASES": "5", "INPUT_BUDGET": "5m", "INPUT_OUT": "o"},
            "run --seed 1 --engine spark-tws --engine beam-direct --cases 5 --budget 5m --out o",
        ),
        ({"INPUT_SHARD": "2/4", "INPUT_SEED": "7"}, "run --seed 7 --shard 2/4 --out build/conformance"),
        (
            {"INPUT_UPGRADE_FROM_LOCK": "old.lock", "INPUT_UPGRADE_TO_LOCK": "uv.lock", "INPUT_EXPECTATIONS": "e.toml"},
            "upgrade --from-lock old.lock uv.lock --seed 1 --expectations e.toml --out build/conformance",
        ),
        ({"INPUT_MERGE": "shards"}, "merge shards/one/ shards/two/ --out build/conformance"),
        ({"INPUT_EXPECTATIONS": "none.toml"}, "run --seed 1 --out build/conformance"),
    ],
)
def test_the_inputs_of_a_job_become_a_command(folder, given, command):
    (folder / "old.lock").touch()
    (folder / "e.toml").touch()
    for name in ("one", "two"):
        (folder / "shards" / name).mkdir(parents=True)
    done = script("run.sh", folder=folder, **given)
    assert done.returncode == 0, done.stderr
    assert asked(folder) == [command]
    assert "said by" in done.stdout
    assert "said by" in (folder / given.get("INPUT_OUT", "build/conformance") / "ci.log").read_text()


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"INPUT_UPGRADE_FROM_LOCK": "a"}, "Error: upgrade-from-lock needs upgrade-to-lock"),
        ({"INPUT_UPGRADE_TO_LOCK": "a"}, "Error: upgrade-to-lock needs upgrade-from-lock"),
        (
            {"INPUT_UPGRADE_FROM_LOCK": "a", "INPUT_UPGRADE_TO_LOCK": "b", "INPUT_SHARD": "1/2"},
            "Error: an upgrade takes no shard, budget, merge or baseline",
        ),
        ({"INPUT_SHARD": "1/2", "INPUT_BUDGET": "5m"}, "Error: a shard takes no budget, merge or baseline"),
        ({"INPUT_MERGE": "nowhere"}, "Error: merge: there is no folder nowhere"),
    ],
)
def test_inputs_that_do_not_go_together_are_one_line(folder, given, says):
    done = script("run.sh", folder=folder, **given)
    assert (done.returncode, done.stderr.splitlines(), asked(folder)) == (2, [says], [])


@pytest.mark.parametrize("code", [0, 1, 2, 3])
def test_a_job_ends_as_the_command_does(folder, code):
    output = folder / "output"
    done = script("run.sh", folder=folder, FAKE_RUN=str(code), INPUT_SHARD="2/4", GITHUB_OUTPUT=str(output))
    assert done.returncode == code
    assert output.read_text() == "artifact=conformance-shard-2\n"


def test_a_run_is_gated_with_a_baseline(folder):
    (folder / "expectations.toml").touch()
    given = {"INPUT_BASELINE": "b.jsonl", "INPUT_EXPECTATIONS": "expectations.toml", "INPUT_OUT": "o"}
    done = script("run.sh", folder=folder, FAKE_GATE="1", **given)
    assert done.returncode == 1
    gate = (
        "gate o/results.json.gz --baseline b.jsonl --expectations expectations.toml --junit o/gate.xml --markdown "
        "o/gate.md"
    )
    assert asked(folder) == ["run --seed 1 --out o", gate]
    (folder / "asked").unlink()
    assert script("run.sh", folder=folder, FAKE_RUN="3", **given).returncode == 3
    assert asked(folder) == ["run --seed 1 --out o"]


@pytest.mark.skipif(not shutil.which("git"), reason="without git")
def test_the_old_lock_file_may_be_of_another_revision(folder):
    def git(*arguments):
        author = ["-c", "user.name=a", "-c", "user.email=a@b"]
        subprocess.run(["git", *author, *arguments], cwd=folder, check=True, capture_output=True)

    git("init", "--initial-branch", "main")
    (folder / "uv.lock").write_text("before")
    git("add", "uv.lock")
    git("commit", "-m", "one")
    (folder / "uv.lock").write_text("after")
    given = {"INPUT_UPGRADE_TO_LOCK": "uv.lock", "INPUT_OUT": "o"}
    done = script("run.sh", folder=folder, INPUT_UPGRADE_FROM_LOCK="main:uv.lock", **given)
    assert done.returncode == 0, done.stderr
    assert asked(folder) == ["upgrade --from-lock o/from/uv.lock uv.lock --seed 1 --out o"]
    assert (folder / "o/from/uv.lock").read_text() == "before"
    done = script("run.sh", folder=folder, INPUT_UPGRADE_FROM_LOCK="main:no.lock", **given)
    assert (done.returncode, done.stderr.splitlines()[-1]) == (2, "Error: cannot read no.lock of main")


@pytest.mark.parametrize(
    ("given", "extras"),
    [
        ({}, "[spark,beam]"),
        ({"INPUT_ENGINE": "spark-tws\nspark-native:count"}, "[spark]"),
        ({"INPUT_ENGINE": "reference beam-direct"}, "[beam]"),
        ({"INPUT_ENGINE": "spark-tws@4.2.1"}, ""),
        ({"INPUT_UPGRADE_TO_LOCK": "uv.lock"}, ""),
    ],
)
def test_the_harness_is_installed_with_the_frameworks_that_the_job_needs(folder, given, extras):
    python = folder / "bin" / "python3"
    python.write_text('#!/bin/sh\necho "$@" >>asked\n')
    python.chmod(0o755)
    assert script("install.sh", folder=folder, **given).returncode == 0
    assert asked(folder) == [f"-m pip install --quiet {ROOT}{extras}"]


def test_later_steps_know_where_the_caches_lie(folder):
    told = folder / "env"
    script("environment.sh", folder=folder, GITHUB_ENV=str(told), RUNNER_TEMP=str(folder / "temp"))
    variables = dict(line.split("=", 1) for line in told.read_text().splitlines())
    assert list(variables) == ["CONFORMANCE_CACHE", "CONFORMANCE_TRACES"]
    assert all(Path(path).is_dir() and Path(path).is_relative_to(folder / "temp") for path in variables.values())


# What the gate blocks

EXPECTATIONS = """# known

[[divergence]]
engine = "one"
guarantee = "s/other"

[[divergence]]
engine = "native:two"
guarantee = "s/g"
"""


@pytest.fixture
def blocked(folder):
    """What the gate wrote: one ruling is about an entry of the expectations, one is not, one is of an engine, and one
    passes."""
    blocks, passes = Ruling(Outcome.BLOCKS, "fails in another way, 100% of: cases"), Ruling(Outcome.PASSES, "")
    ruled = (
        Ruled(blocks, "native:two", "s", "g", ("as drawn", "restart"), "45bff12a76ef"),
        Ruled(blocks, "one", "s", "g", ("as drawn",)),
        Ruled(blocks, "one", "", "", ()),
        Ruled(passes, "one", "s", "other", ("as drawn",)),
    )
    (folder / "o" / "a-package").mkdir(parents=True)
    (folder / "o" / "a-package" / "junit.xml").write_text(gate_junit(GateReport(ruled)))
    (folder / "o" / "junit.xml").write_text(
        '<testsuites name="conformance"><testcase><failure/></testcase></testsuites>'
    )
    (folder / "expectations.toml").write_text(EXPECTATIONS)
    return folder


def test_the_expectation_that_failed_is_marked(blocked):
    done = script("annotate.py", "o", "expectations.toml", "uv.lock", folder=blocked, GITHUB_ACTIONS="true")
    first, second, third = done.stdout.splitlines()
    assert first.startswith(
        "::error file=expectations.toml,line=7,title=native%3Atwo/s/g::native:two/s/g (as drawn, restart): "
        "fails in another way, 100%25 of: cases%0A"
    )
    assert "conformance replay 45bff12a76ef" in first
    assert second.startswith("::error file=uv.lock,line=1,title=one/s/g::one/s/g (as drawn): ")
    assert third.startswith("::error file=uv.lock,line=1,title=one::blocks: one: ")


def test_elsewhere_it_is_a_line_of_the_log(blocked):
    done = script("annotate.py", "o", "expectations.toml", folder=blocked)
    assert done.stdout.startswith("expectations.toml:7: error: native:two/s/g (as drawn, restart): ")
    assert "\nerror: one/s/g (as drawn): " in done.stdout


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("expectations.toml: divergence 2 has no reason", "::error file=expectations.toml,line=7,title=expectations::"),
        ("one/s/other is about no cell: mend", "::error file=expectations.toml,line=3,title=expectations::"),
        ("no engine is of the package 'x'", "::error title=conformance::"),
    ],
)
def test_what_the_harness_refuses_is_marked(folder, said, shown):
    (folder / "expectations.toml").write_text(EXPECTATIONS)
    assert script("run.sh", folder=folder, INPUT_OUT="o", FAKE_RUN="2", FAKE_ERROR=f"Error: {said}").returncode == 2
    done = script("annotate.py", "o", "expectations.toml", folder=folder, GITHUB_ACTIONS="true")
    assert done.stdout == f"{shown}{said}\n"


@pytest.mark.parametrize("text", [None, "[[divergence", "divergence = 5"])
def test_expectations_that_cannot_be_read_stop_no_annotation(blocked, text):
    (blocked / "expectations.toml").unlink()
    if text:
        (blocked / "expectations.toml").write_text(text)
    done = script("annotate.py", "o", "expectations.toml", folder=blocked)
    assert (done.returncode, len(done.stdout.splitlines()) >= 3) == (0, True), done.stderr


# The page of the job, and the comment


def test_the_summaries_become_the_page_of_the_job_and_the_comment(folder):
    page = folder / "page"
    for name in ("gate.md", "a/summary.md", "b/summary.md"):
        (folder / "o" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "o" / name).write_text(f"# {name}\n")
    done = script("report.sh", folder=folder, INPUT_OUT="o", GITHUB_STEP_SUMMARY=str(page))
    assert done.returncode == 0, done.stderr
    assert page.read_text() == "# gate.md\n\n# a/summary.md\n\n# b/summary.md\n"
    assert (folder / "o" / "comment.md").read_text() == page.read_text()
    assert done.stdout == "no comment: this is no pull or merge request\n"


def test_a_comment_is_cut_where_the_service_would_refuse_it(folder):
    (folder / "o").mkdir()
    (folder / "o" / "summary.md").write_text("a line of twenty charac\n" * 5_000)
    script("summarize.py", "o", folder=folder)
    text = (folder / "o" / "comment.md").read_text()
    assert 59_000 < len(text) < 61_000
    assert text.endswith("charac\n\n… cut here: the whole summary is among the artifacts of the job.\n\n")


def test_without_a_summary_the_end_of_the_log_is_told(folder):
    script("run.sh", folder=folder, INPUT_OUT="o", FAKE_RUN="2", FAKE_ERROR="Error: so it is")
    (folder / "o" / "summary.md").unlink()
    assert "    Error: so it is" in script("summarize.py", "o", folder=folder).stdout
    (folder / "o" / "ci.log").unlink()
    assert "The harness did not run." in script("summarize.py", "o", folder=folder).stdout


PULL = {"GITHUB_REF": "refs/pull/12/merge", "GITHUB_REPOSITORY": "a/b", "GITHUB_JOB": "upgrade"}


@pytest.mark.parametrize(
    ("there", "method", "place", "says"),
    [
        ("", "POST", "repos/a/b/issues/12/comments", "comment written on 12"),
        ("77", "PATCH", "repos/a/b/issues/comments/77", "comment 77 replaced"),
    ],
)
def test_a_pull_request_has_one_comment_of_a_job(folder, there, method, place, says):
    (folder / "o").mkdir()
    (folder / "o" / "comment.md").write_text("# Found\n")
    done = script("comment.py", "o", folder=folder, GH_TOKEN="t", FAKE_COMMENT=there, **PULL)
    assert done.stdout == f"{says}\n"
    first, second = asked(folder)
    assert first.startswith("gh api repos/a/b/issues/12/comments --paginate --jq ")
    assert second == f"gh api --method {method} {place} --input -"
    assert json.loads((folder / "body").read_text()) == {"body": "<!-- conformance upgrade -->\n# Found\n"}


def test_without_a_token_there_is_no_comment(folder):
    (folder / "o").mkdir()
    assert script("comment.py", "o", folder=folder, **PULL).stdout == "no comment: there is no summary\n"
    (folder / "o" / "comment.md").write_text("# Found\n")
    assert script("comment.py", "o", folder=folder, **PULL).stdout == "no comment: GH_TOKEN is not set\n"
    assert asked(folder) == []


@pytest.fixture
def gitlab():
    """(its address, the requests that it got, the notes that it has)"""
    requests, notes = [], []

    class Service(BaseHTTPRequestHandler):
        def _answer(self):
            data = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            requests.append((self.command, self.path.partition("?")[0], self.headers["PRIVATE-TOKEN"], data.decode()))
            self.send_response(200)
            self.end_headers()
            self.wfile.write(json.dumps(notes).encode())

        do_GET = do_POST = do_PUT = _answer

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Service)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}", requests, notes
    server.shutdown()


def test_a_merge_request_has_one_comment_of_a_job(folder, gitlab):
    address, requests, notes = gitlab
    (folder / "o").mkdir()
    (folder / "o" / "comment.md").write_text("# Found\n")
    given = {"GITLAB_CI": "true", "CI_MERGE_REQUEST_IID": "3", "CI_API_V4_URL": address, "CI_PROJECT_ID": "9"}
    given |= {"CI_JOB_NAME": "upgrade"}
    assert "CONFORMANCE_GITLAB_TOKEN is not set" in script("comment.py", "o", folder=folder, **given).stdout
    given |= {"CONFORMANCE_GITLAB_TOKEN": "t"}
    assert script("comment.py", "o", folder=folder, **given).stdout == "comment written on 3\n"
    body = "<!-- conformance upgrade -->\n# Found\n"
    notes += [{"id": 5, "body": "another's"}, {"id": 6, "body": body}]
    assert script("comment.py", "o", folder=folder, **given).stdout == "comment 6 replaced\n"
    place = "/projects/9/merge_requests/3/notes"
    assert [r[:3] for r in requests] == [
        ("GET", place, "t"),
        ("POST", place, "t"),
        ("GET", place, "t"),
        ("PUT", f"{place}/6", "t"),
    ]
    assert [json.loads(r[3]) for r in requests if r[3]] == [{"body": body}] * 2
    given["CI_API_V4_URL"] = "http://127.0.0.1:9"
    done = script("comment.py", "o", folder=folder, **given)
    assert (done.returncode, done.stdout.startswith("no comment: ")) == (0, True)


# The YAML calls nothing but the scripts, and hands on every input that a script reads


def inputs_read():
    texts = [path.read_text() for path in CI.iterdir() if path.is_file()]
    return {name for text in texts for name in re.findall(r"\bINPUT_[A-Z_]+\b", text)}


def test_the_action_only_calls_the_scripts():
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    steps = action["runs"]["steps"]
    called = [step["run"].removeprefix("$GITHUB_ACTION_PATH/") for step in steps if "run" in step]
    assert called == ["ci/environment.sh", "ci/install.sh", "ci/run.sh", "ci/report.sh"]
    assert all(os.access(ROOT / name, os.X_OK) for name in called)
    given = {name: value for step in steps for name, value in step.get("env", {}).items()}
    assert {name for name in given if name.startswith("INPUT_")} == inputs_read()
    for name, value in given.items():
        (named,) = re.findall(r"^\$\{\{ inputs\.([\w-]+) \}\}$", value)
        assert named in action["inputs"]
        assert name == "GH_TOKEN" or name == f"INPUT_{named.upper().replace('-', '_')}"
    assert {"engine", "upgrade-from-lock", "upgrade-to-lock", "cases", "budget", "shard"} <= set(action["inputs"])
    assert all(value["description"] for value in action["inputs"].values())


def test_the_component_only_calls_the_scripts():
    spec, job = yaml.safe_load_all((ROOT / "templates" / "conformance.yml").read_text())
    (about,) = job.values()
    given = {name: value for name, value in about["variables"].items() if name.startswith("INPUT_")}
    assert set(given) == inputs_read()
    for name, value in given.items():
        (named,) = re.findall(r"^\$\[\[ inputs\.([\w-]+) \]\]$", value)
        assert named in spec["spec"]["inputs"]
        assert name == f"INPUT_{named.upper().replace('-', '_')}"
    lines = [*about["before_script"], *about["script"], *about["after_script"]]
    called = re.findall(r"\.conformance-source/(ci/\w+\.sh)", "\n".join(lines))
    assert called == ["ci/gitlab.sh", "ci/run.sh", "ci/report.sh"]
    assert all((ROOT / name).is_file() for name in called)
