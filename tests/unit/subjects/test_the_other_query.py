"""Subjects that another query must answer like, on toys of two engines."""

import json
from dataclasses import replace

import pytest

from conformance import subject
from conformance.subjects import questions
from conformance.subjects.answers import Ran
from conformance.subjects.asking import Options, Verdict, ask
from conformance.subjects.driver import Facts
from conformance.subjects.processes.worker import _write_rows
from conformance.subjects.rows import sample_rows
from conformance.subjects.schema import InvalidSubject
from conformance.subjects.subject import answering_like


class Toy:
    """An engine that hands a function all rows of a run."""

    batch, packs, closes, parallel = "batch", 6, True, 2
    questions = (questions.AGAIN,)
    version = "Toy 1.0"

    def look(self, subject):
        return Facts(columns=("user", "n"), durations=(5_000,), output_key=("user",))

    def run(self, subject, given, setup):
        return Ran({0: tuple(subject.function([row for batch in given for row in batch[""]]))})


class OtherToy(Toy):
    version, closes = "Other 2.0", False


def pages(rows, counts=lambda row: True, name="user"):
    found = {}
    for row in rows:
        found[row["user"]] = found.get(row["user"], 0) + counts(row)
    return [{name: user, "n": n} for user, n in found.items()]


def declared(function, **more):
    return subject(**{"schema": "user string, page string, at timestamp", "key": "user", "time": "at", **more})(
        function
    )


def asked(other, driver=None, **more):
    mine = declared(pages, **more)
    report, failing = ask(Toy(), answering_like(mine, replace(other, name="other")), Options(), other=driver)
    return report, failing


@pytest.mark.parametrize("driver", [None, OtherToy()])
def test_the_other_query_answers_alike_and_nothing_else_is_asked(driver):
    report, _ = asked(declared(lambda rows: pages(rows)), driver)
    assert [(finding.question, finding.verdict) for finding in report.findings] == [("same", Verdict.HOLDS)]
    assert report.findings[0].rows


@pytest.mark.parametrize("driver", [None, OtherToy()])
def test_what_the_other_query_answers_otherwise_is_reduced_to_rows_that_can_be_given_again(driver, tmp_path):
    mine = declared(pages)
    other = declared(lambda rows: pages(rows, lambda row: row["page"] is not None))
    report, failing = asked(other, driver)
    assert report.findings[0].verdict is Verdict.VIOLATED
    _write_rows(mine, failing["same"][0], tmp_path / "rows.jsonl")
    [row] = sample_rows(mine, (tmp_path / "rows.jsonl").read_text().splitlines(), "rows.jsonl")
    assert row.values["page"] is None
    assert json.loads((tmp_path / "rows.jsonl").read_text())["at"]


def test_rows_move_the_watermark_past_everything_where_the_other_engine_needs_them():
    seen = []
    other = declared(lambda rows: seen.append(max(row["at"] for row in rows)) or pages(rows))
    mine = declared(pages)
    report, _ = ask(OtherToy(), answering_like(mine, other), Options(), other=Toy())
    assert report.findings[0].verdict is Verdict.HOLDS
    assert min(seen) > "2020-03-02"


def test_what_closes_the_windows_of_one_engine_stays_in_a_smaller_case():
    mine = declared(lambda rows: pages(rows) if max((row["at"] for row in rows), default="") > "2020-03-02" else [])
    other = declared(lambda rows: pages(rows, lambda row: row["page"] is not None))
    _, failing = ask(Toy(), answering_like(mine, other), Options(), other=OtherToy())
    rows = [row for batch in failing["same"][0].plain.delivery for row in batch]
    assert [row.values["page"] for row in rows if not row.closing] == [None]
    assert any(row.closing for row in rows)


def test_the_other_query_may_put_out_updates():
    def updates(rows):
        return [{"user": row["user"], "n": 0} for row in rows] + pages(rows)

    report, _ = asked(declared(updates, output_mode="update"))
    assert report.findings[0].verdict is Verdict.HOLDS


def test_the_other_query_must_put_out_the_key():
    report, _ = asked(declared(lambda rows: pages(rows, name="who")))
    assert "subject other: the output has no 'user' (it has who, n)" in report.error


def test_both_name_their_columns_alike():
    other = declared(lambda rows: [{**row, "more": 1} for row in pages(rows)])
    assert "subject other: its output has more, n, user, and that of pages n, user; name" in asked(other)[0].error
    ignoring = declared(lambda rows: [{**row, "more": 1} for row in pages(rows)], ignore="more")
    assert asked(ignoring)[0].findings[0].verdict is Verdict.HOLDS


def test_without_a_key_an_engine_whose_input_ends_is_not_compared():
    report, _ = asked(declared(pages, key=None), OtherToy(), key=None)
    assert report.findings[0].verdict is Verdict.NOT_ASKED
    assert report.findings[0].why.startswith("without a key, what comes out for the last rows")


@pytest.mark.parametrize("more", [{"schema": "user string, page int, at timestamp"}, {"time": ""}])
def test_the_other_query_has_the_same_inputs(more):
    with pytest.raises(InvalidSubject, match="subject pages: its inputs, their columns or its time are not those of"):
        answering_like(declared(pages), declared(pages, **more))
