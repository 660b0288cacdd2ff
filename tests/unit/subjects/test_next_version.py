"""What comes behind a restart: a subject's next version, on a toy whose checkpoint is a dict of state by operator."""

import json
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from conformance import subject
from conformance.subjects import questions
from conformance.subjects.answers import Ran
from conformance.subjects.asking import ask
from conformance.subjects.driver import Facts
from conformance.subjects.found import paired
from conformance.subjects.processes.elsewhere import Beginner, Place
from conformance.subjects.processes.worker import Request
from conformance.subjects.schema import InvalidSubject
from conformance.subjects.setup import NOBODY, PREVIOUS
from conformance.subjects.subject import begun_by, next_version, taken_back
from conformance.subjects.verdicts import Options, Verdict

SCHEMA = "user string, page string, at timestamp"


def test_scripts_import_the_version_behind():
    assert Request("v1.py").tested == "v1.py"
    assert Request("v1.py", next_file="v2.py").tested == "v2.py"


class Refuses(Exception):
    """What the toy says of a checkpoint that it does not take."""


class Keeper:
    """Hands a function one batch after the other, and the checkpoint: operator -> key -> state."""

    package, annotation, batch, version = "toy", "Batches", "batch", "Toy 1.0"
    packs, closes, parallel, before = 6, True, 1, None
    questions = (questions.AGAIN, questions.NEXT)

    def look(self, subject):
        return Facts(columns=("user", "n"), output_key=("user",))

    def run(self, subject, given, setup):
        checkpoint, outputs, before = {}, {}, ()
        begun = begun_by(subject, range(setup.begun)) if setup.by == PREVIOUS else []
        versions = {number: version for version, numbers in begun for number in numbers}
        for number, batch in enumerate(given):
            early = number < setup.begun
            if early and setup.by == NOBODY:
                continue
            version = versions.get(number, subject)
            try:
                rows = version.function(batch[""], checkpoint)
            except Refuses as error:
                return Ran(error=str(error))
            if early:
                before = (version.function.operator,)
            else:
                outputs[number] = tuple(rows)
        return Ran(outputs, stateful=True, before=before, operators=(subject.function.operator,))

    def script(self, subject, pair, title, file, out):
        return title


def counting(variable="n", by=lambda row: 1, operator="count", refuses=()):
    """A query that sums something by user."""

    def query(rows, checkpoint):
        if {*checkpoint} & {*refuses}:
            raise Refuses("[SCHEMA] the state has another schema")
        state = checkpoint.setdefault(variable, {})
        seen = {}
        for row in rows:
            state[row["user"]] = state.get(row["user"], 0) + by(row)
            seen[row["user"]] = {"user": row["user"], "n": state[row["user"]]}
        return list(seen.values())

    query.operator = operator
    return query


def version(query, **more):
    given = {"schema": SCHEMA, "key": "user", "time": "at", "output_mode": "update", **more}
    return subject(**given)(query)


def found(before, behind, back=False):
    asked = next_version(version(before), version(behind))
    report, failing = ask(Keeper(), taken_back(asked) if back else asked, Options())
    assert not report.error
    [finding] = report.findings
    return finding, failing


def test_a_version_that_keeps_its_state_goes_on():
    finding, _ = found(counting(), counting())
    assert finding.verdict is Verdict.HOLDS
    assert finding.rows


def test_a_variable_that_is_named_otherwise_is_silently_gone():
    finding, failing = found(counting(), counting("m"))
    assert finding.verdict is Verdict.VIOLATED
    assert finding.why.startswith("the state is silently gone: ")
    pair, _ = failing["next"]
    rows = [[row for row in batch if not row.closing] for batch in pair.varied.delivery]
    assert [len(batch) for batch in rows if batch] == [1, 1], "one row before the restart, one behind it"


def test_a_version_is_taken_back_from_one_that_keeps_its_state():
    finding, _ = found(counting(), counting(), back=True)
    assert finding.verdict is Verdict.HOLDS


def test_a_version_that_is_taken_back_misses_a_state_that_was_moved_on():
    behind = counting("m")

    def moving(rows, checkpoint):
        checkpoint.setdefault("m", checkpoint.pop("n", {}))
        return behind(rows, checkpoint)

    moving.operator = "count"
    assert found(counting(), moving)[0].verdict is Verdict.HOLDS
    finding, _ = found(counting(), moving, back=True)
    assert finding.verdict is Verdict.VIOLATED
    assert finding.why.startswith("the state is silently gone: ")


def test_versions_share_the_micro_batches_before_a_restart():
    first, second = version(counting()), version(counting("m"))
    behind = next_version(first, second)
    assert begun_by(behind, range(3)) == [(first, range(3))]
    assert [list(part) for _, part in begun_by(taken_back(behind), range(3))] == [[0], [1, 2]]
    assert [list(part) for _, part in begun_by(taken_back(behind), range(1))] == [[0]]
    assert taken_back(first) is None


def test_a_state_that_means_something_else_is_found():
    finding, _ = found(counting(), counting(by=lambda row: 2 + len(row["page"] or "")))
    assert finding.verdict is Verdict.VIOLATED
    assert "silently gone" not in finding.why


def test_a_refusal_is_an_answer_and_no_version_to_deploy():
    before, behind = version(counting()), version(counting("m", refuses=("n",)))
    report, failing = ask(Keeper(), next_version(before, behind), Options())
    assert [(finding.verdict, finding.why) for finding in report.findings] == [
        (Verdict.REFUSED, "[SCHEMA] the state has another schema")
    ]
    assert report.violated
    assert not failing


def test_another_operator_is_to_be_refused_whatever_comes_out():
    finding, failing = found(counting(), counting(operator="sum"))
    assert finding.verdict is Verdict.VIOLATED
    assert finding.why == "it goes on from a checkpoint of other operators without a word: count before, sum behind"
    pair, _ = failing["next"]
    assert any(pair.varied.delivery[: pair.varied.setup.begun])


def test_operators_of_another_release_may_have_other_names():
    assert Ran(before=("count",), operators=("sum",)).exchanged
    assert not Ran(before=None, operators=("sum",)).exchanged


def test_a_query_whose_answers_do_not_go_by_its_state_says_nothing():
    def query(rows, checkpoint):
        return [{"user": row["user"], "n": 1} for row in rows]

    query.operator = "map"
    finding, _ = found(query, query)
    assert finding.verdict is Verdict.NOT_ASKED
    why = "no case tells a state that is kept from one that is gone: give rows that meet (--sample, values=)"
    assert finding.why == why


def test_a_subject_by_itself_is_not_asked_about_a_next_version():
    report, _ = ask(Keeper(), version(counting()), Options())
    assert [finding.question for finding in report.findings] == ["again"]


@pytest.mark.parametrize(
    ("before", "behind", "says"),
    [
        ({"schema": {"a": SCHEMA}}, {"schema": SCHEMA}, "its inputs are one, those of query before it a; a checkpoint"),
        (
            {"schema": SCHEMA + ", more int"},
            {"schema": SCHEMA},
            "its schema has no column 'more', which query before it",
        ),
    ],
)
def test_versions_of_other_inputs_get_one_line(before, behind, says):
    with pytest.raises(InvalidSubject, match=r"\Asubject query: [^\n]*\Z") as error:
        next_version(version(counting(), **before), version(counting(), **behind))
    assert says in str(error.value)


def test_next_versions_go_by_name_or_are_the_only_one():
    from dataclasses import replace

    a, b, c = (replace(version(counting()), name=name) for name in "abc")
    assert [s.name for s in paired([a, b], [b, a], "", "v2.py")] == ["a", "b"]
    assert [s.name for s in paired([a], [c], "", "v2.py")] == ["c"]
    assert [s.name for s in paired([a], [b, c], "c", "v2.py")] == ["c"]
    with pytest.raises(InvalidSubject, match=r"v2\.py: unknown subject 'a'"):
        paired([a], [b, c], "", "v2.py")
    with pytest.raises(InvalidSubject, match="name the first one, too"):
        paired([a, b], [c], "c", "v2.py")


def test_the_process_of_another_release_makes_one_run_at_a_time(monkeypatch, tmp_path):
    class Process:
        """Answers what was asked last, after a while."""

        def __init__(self, *_, **__):
            self.stdin = self.stdout = self
            self.asked = ""

        def write(self, line):
            self.asked = json.loads(line)["files"]

        def flush(self):
            time.sleep(0.01)

        def readline(self):
            return json.dumps({"batches": self.asked})

    monkeypatch.setattr("conformance.subjects.processes.elsewhere.subprocess.Popen", Process)
    beginner = Beginner(Place("python"))
    with ThreadPoolExecutor(4) as pool:
        began = pool.map(lambda files: beginner.begin("visits", tmp_path, files, {}).batches, range(8))
        assert [*began] == [*range(8)]
