"""Subjects without an engine: declarations, cases, questions, reduction and verdicts, on a toy of a streaming
engine."""

import itertools
import json
import sys
import threading
import types
from collections import Counter
from dataclasses import replace
from datetime import date, timedelta
from functools import partial
from itertools import count
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest

from conformance import subject
from conformance.cli.commands import subject as command
from conformance.cli.hints import Unfinished
from conformance.model.types import Array, Decimal, Double, Int, Long, Map, String, Struct, Timestamp
from conformance.model.values import canonical
from conformance.plugins import loading
from conformance.plugins.points import InvalidPlugin
from conformance.subjects import questions
from conformance.subjects.answers import ONE_ANSWER, Ran, difference, final, kept, moved_back, shown_row, told
from conformance.subjects.asking import AT_ONCE, MEND, Asking, ask
from conformance.subjects.cases import Cases
from conformance.subjects.drawing import draw
from conformance.subjects.driver import Facts
from conformance.subjects.failing import read as read_failing
from conformance.subjects.failing import write as write_failing
from conformance.subjects.found import chosen, driver_of, subjects_in
from conformance.subjects.judging import Judging
from conformance.subjects.processes import worker
from conformance.subjects.processes.process import Told, _listened
from conformance.subjects.processes.releases import between
from conformance.subjects.processes.worker import loaded
from conformance.subjects.questions import AGAIN, ORDER, Pair, Run, joined, means_something, without
from conformance.subjects.reduction import plainer
from conformance.subjects.rows import (
    START,
    Row,
    by_turns,
    cut,
    held_back,
    in_batches_of,
    in_time,
    moved,
    other_orders,
    sample_rows,
    span_of,
    written,
)
from conformance.subjects.runs import Runs
from conformance.subjects.schema import InvalidSubject, columns_of, duration, millis, moment
from conformance.subjects.scripts import moving_back
from conformance.subjects.setup import BEHIND, SHOWING, Setup
from conformance.subjects.verdicts import Options, Report, Verdict
from conformance.support.release import Release

VISITS = "user string, page string, at timestamp"
MINUTE = 60_000


COUNTS = Facts(columns=("user", "window", "n"))
ALL = Options()


class Toy:
    """An engine that hands a function the micro-batches of a run, and takes what it puts out for each."""

    package, annotation, batch, version = "toy", "Batches", "batch", "Toy 1.0"
    packs, closes, parallel = 6, True, 1
    questions = (
        questions.AGAIN,
        questions.ORDER,
        questions.SPLITS,
        questions.EMPTY,
        questions.TIME,
        questions.LATE,
        questions.ONCE,
        questions.STATE,
        questions.BOUNDED,
    )

    def __init__(self, facts=COUNTS):
        self.facts, self.runs = facts, 0

    def look(self, subject):
        return self.facts

    def run(self, subject, given, setup):
        self.runs += 1
        if setup.bounded:
            given = [{"": [row for batch in given for row in batch[""]]}]
        return subject.function([batch[""] for batch in given])

    def script(self, subject, pair, title, file, out):
        return title


def counting(batches, first_page=False, delay=10_000, size=5 * MINUTE, keep=lambda row: True):
    """Counts by user and window: what has ended by the watermark comes out, what is late is dropped."""
    latest, settled, dropped, state, outputs = None, None, 0, {}, {}
    for number, batch in enumerate([*batches, []]):
        for row in filter(keep, batch):
            window = millis(row["at"]) // size * size
            if settled is not None and window + size <= settled:
                dropped += 1
                continue
            count = state.setdefault((row["user"], window), [0, row["page"]])
            count[0] += 1
        ended = [key for key in state if latest is not None and key[1] + size <= latest]
        times = [millis(row["at"]) for row in batch]
        settled = latest
        latest = max([*times, *([] if latest is None else [latest + delay])], default=None)
        latest = None if latest is None else latest - delay
        outputs[number] = tuple(
            {"user": user, "window": {"$timestamp": at * 1_000}, "n": n[1] if first_page else n[0]}
            for user, at in ended
            for n in [state.pop((user, at))]
        )
    return Ran(outputs, dropped, len(state), True)


def declared(function, **more):
    given = {"schema": VISITS, "key": "user", "time": "at", "delay": "10 seconds", "durations": "5 minutes", **more}
    return subject(**given)(function)


def verdicts(function, driver=None, options=ALL, **more):
    report, failing = ask(driver or Toy(), declared(function, **more), options)
    assert not report.error
    return {finding.question: finding for finding in report.findings}, failing, report


def losing_what_is_admitted(batches):
    """Loses rows that are behind the watermark, and not so far that they are late."""
    latest = 0

    def in_time(row):
        return millis(row["at"]) // (5 * MINUTE) * 5 * MINUTE + 5 * MINUTE > latest - 10_000

    found = []
    for batch in batches:
        found.append([row for row in batch if in_time(row)])
        latest = max([latest, *(millis(row["at"]) for row in batch)])
    return counting(found)


def first_round():
    """The cases of a subject, together."""
    return Cases(Judging(Runs(Toy(), declared(counting), ())), ALL).asked(1)


# Declarations


def test_a_schema_is_read_with_its_types():
    columns = columns_of(
        "user STRING NOT NULL, n bigint, `a b` decimal(10,2), s struct<x: int, y: array<double>>, m map<string,long>"
    )
    assert [c.name for c in columns] == ["user", "n", "a b", "s", "m"]
    assert [c.type for c in columns] == [
        String(),
        Long(),
        Decimal(10, 2),
        Struct((("x", Int()), ("y", Array(Double())))),
        Map(String(), Long()),
    ]
    assert [c.nullable for c in columns] == [False, True, True, True, True]
    assert columns_of("at timestamp")[0].type == Timestamp()


@pytest.mark.parametrize(
    ("schema", "says"),
    [
        ("user strng", "column 'user' has an unknown type 'strng'; did you mean string?"),
        ("user", "the type of column 'user' is missing at the end"),
        ("user string,", "the name of a column is missing at the end"),
        ("user string; n int", "';' is not expected"),
        ("user string, user int", "two columns are called 'user'"),
        ("m map<int,string>", "rows are JSON"),
    ],
)
def test_a_schema_that_does_not_parse_gets_one_line(schema, says):
    with pytest.raises(InvalidSubject, match=r"\A[^\n]*\Z") as error:
        columns_of(schema)
    assert says in str(error.value)


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"values": {"user": "ann"}}, "values: 'user' has a text; list the values, such as ['ann']"),
        ({"delay": 10}, "delay is a text such as '10 seconds', not 10"),
        ({"schema": 7}, "schema is a text such as 'user string, at timestamp', not 7"),
        ({"time": {"": "at", "b": "at"}}, "time: 'b' is no input"),
        ({"key": "usr"}, "key 'usr' is no column of the schema; did you mean user?"),
        ({"time": "page"}, "time 'page' is no column of the schema that is a timestamp, or a long"),
        ({"delay": "ten seconds"}, "delay is a time such as '10 seconds'"),
        ({"time": ""}, "delay needs time"),
        ({"output_mode": "upsert"}, "unknown output_mode 'upsert'"),
        ({"values": {"pge": [1]}}, "values: 'pge' is no column"),
        ({"values": {"page": ["/", 1]}}, "values: page is string, not 1; write it as in JSON"),
        ({"values": {"at": [date(2020, 1, 1)]}}, "values: at is timestamp, not datetime.date(2020, 1, 1)"),
    ],
)
def test_a_declaration_that_cannot_be_used_gets_one_line(more, says):
    with pytest.raises(InvalidSubject, match=r"\Asubject counting: [^\n]*\Z") as error:
        declared(counting, **more)
    assert says in str(error.value)


def test_a_missing_key_is_told_from_none():
    with pytest.raises(InvalidSubject, match="key is missing; name the column"):
        subject(schema=VISITS)(counting)
    assert subject(schema=VISITS, key=None)(counting).keys == ()


def test_a_subject_is_called_as_its_function():
    assert declared(lambda rows: rows + 1)(2) == 3


def test_durations_and_moments():
    assert duration("1 hour 30 minutes", "x") == 90 * MINUTE
    assert moment(START + 1) == "2020-03-01T00:00:00.001Z"
    assert millis(moment(START + 1)) == START + 1


# Cases


def test_the_same_seed_draws_the_same_rows_and_time_has_its_boundaries():
    mine, span = declared(counting), span_of([5 * MINUTE], 10_000)
    rows = draw(mine, span, 20, 1)
    assert rows == draw(mine, span, 20, 1)
    assert rows != draw(mine, span, 20, 2)
    assert rows == in_time(rows)
    assert len({row.case for row in rows}) == 20
    edges = {(row.at - START) % (5 * MINUTE) for row in rows}
    assert {0, 1, 5 * MINUTE - 1} <= edges  # at the end of a window, and to the millisecond around it
    assert any(row.values["page"] is None for row in rows)
    assert all(row.values["user"] for row in rows)


def test_rows_are_drawn_that_only_what_they_say_tells_apart():
    rows = draw(declared(counting), span_of([5 * MINUTE], 10_000), 20, 1)
    twins = [(a, b) for a, b in itertools.combinations(rows, 2) if (a.case, a.at) == (b.case, b.at)]
    assert sum(a.values["user"] == b.values["user"] and a.values["page"] != b.values["page"] for a, b in twins) > 5


def test_rows_of_a_case_often_have_a_key_and_a_window_together():
    rows = draw(declared(counting), span_of([5 * MINUTE], 10_000), 20, 1)
    groups = Counter((row.case, row.values["user"], row.at // (5 * MINUTE)) for row in rows)
    assert sum(n > 1 for n in groups.values()) > 20


def test_each_column_of_a_key_has_few_values():
    mine = declared(counting, schema="user string, item int, at timestamp", key=["user", "item"])
    rows = draw(mine, span_of([5 * MINUTE], 10_000), 20, 1)
    assert {row.values["item"] for row in rows} == {1, 2}


def test_a_time_may_be_a_whole_number():
    mine = declared(counting, schema="user string, page string, at long")
    assert written(mine, Row({"user": "a"}, START)) == {"user": "a", "page": None, "at": START}


def test_a_local_time_is_written_without_a_zone():
    mine = declared(counting, schema="user string, at timestamp_ntz, seen array<timestamp_ntz>, sent timestamp")
    row = Row({"user": "a", "seen": [moment(START), None], "sent": moment(START)}, START)
    there = {"at": "2020-03-01T00:00:00.000", "seen": ["2020-03-01T00:00:00.000", None], "sent": moment(START)}
    assert written(mine, row) == {"user": "a", **there}


def keeps_promise(delivery, delay):
    """Whether no row is behind the latest one of its input before it by the delay or more."""
    latest = {}
    for row in (row for batch in delivery for row in batch if row.at is not None):
        seen = latest.get(row.input, row.at)
        if row.at <= seen - max(delay, 1) and row.at < seen:
            return False
        latest[row.input] = max(seen, row.at)
    return True


def test_other_orders_keep_the_promise_of_the_watermark():
    rows = [Row({}, START + 3_000 * n, nr=n) for n in range(40)]
    orders = [order for seed in range(50) for order in other_orders(rows, 10_000, Random(seed))]
    assert all(keeps_promise([order], 10_000) for order in orders)
    assert any(not keeps_promise([order], 5_000) for order in orders)
    assert all(sorted(row.nr for row in order) == list(range(40)) for order in orders)


def test_rows_in_the_batches_of_another_order_keep_the_promise_and_are_as_many_of_each_key():
    rows = [Row({"user": f"u{n % 3}"}, START + 3_000 * n, n % 2, nr=n) for n in range(40)]
    for seed in range(50):
        for order in other_orders(rows, 10_000, Random(seed)):
            varied = cut(order, 4)
            plain = in_batches_of(varied, rows, ["user"])
            assert keeps_promise(plain, 10_000)
            sizes = [[Counter((row.case, row.values["user"]) for row in b) for b in run] for run in (plain, varied)]
            assert sizes[0] == sizes[1]
            mine = [row.nr for batch in plain for row in batch if row.case == 0 and row.values["user"] == "u0"]
            assert mine == sorted(mine)


@pytest.mark.parametrize("inputs", ["a", "ab"])
def test_rows_held_back_are_behind_the_watermark_but_not_behind_that_of_the_micro_batch_before(inputs):
    rows = [Row({}, START + 3_000 * n, input=inputs[n % len(inputs)], nr=n) for n in range(40)]
    plain = cut(rows, 8)
    held = held_back(plain, 10_000, lambda row: row.nr % 2 == 0)

    def mark(number):
        """The watermark that a micro-batch runs with."""
        before = [row for batch in held[:number] for row in batch]
        latest = [max((row.at for row in before if row.input == of), default=0) for of in inputs]
        return min(latest) - 10_000

    assert sorted(row.nr for batch in held for row in batch) == list(range(40))
    places = [(row, number) for number, batch in enumerate(held) for row in batch if row not in plain[number]]
    assert len(places) > 5
    assert all(mark(number - 1) < row.at <= mark(number) for row, number in places)
    assert held_back(plain, 1_000_000, lambda row: True) == plain


def test_each_of_several_inputs_has_no_row_in_some_micro_batch():
    rows = [Row({}, START + n, input="abc"[n * n % 7 % 3], nr=n) for n in range(60)]
    batches = by_turns(rows, 4)
    assert [row for batch in batches for row in batch] == rows
    assert all(batches)
    assert all(any(all(row.input != of for row in batch) for batch in batches) for of in "abc")
    assert by_turns([Row({}, START + n, nr=n) for n in range(8)], 4) == cut(
        [Row({}, START + n, nr=n) for n in range(8)], 4
    )


@pytest.mark.parametrize("delay", [10_000, 0, None])
def test_of_two_rows_of_one_time_each_comes_first_in_one_of_the_orders(delay):
    rows = [Row({}, START + 3_000 * (n // 2), nr=n) for n in range(40)]
    for seed in range(20):
        one, other = ([row.nr for row in order] for order in other_orders(rows, delay, Random(seed)))
        for n in range(0, 40, 2):
            assert (one.index(n) < one.index(n + 1)) != (other.index(n) < other.index(n + 1))


def test_some_cases_have_a_row_twice():
    """What drops duplicates by all columns goes by such rows."""
    rows = draw(declared(counting, schema="user string, a int, b int, at timestamp"), span_of([], 10_000), 24, 1)
    seen = Counter((row.case, row.at, canonical(row.values)) for row in rows)
    assert len({case for (case, _, _), number in seen.items() if number > 1}) >= 6


def test_rows_are_drawn_that_differ_in_one_column_alone():
    rows = draw(declared(counting, schema="user string, a int, b int, at timestamp"), span_of([], 10_000), 24, 1)
    alike = [
        sum(one.values[name] != other.values[name] for name in one.values)
        for one in rows
        for other in rows
        if one.nr < other.nr and one.case == other.case and one.at == other.at
    ]
    assert alike.count(1) > 12


def test_sample_rows_are_taken_as_they_are_and_mixed(tmp_path):
    mine, span = declared(counting), span_of([5 * MINUTE], 10_000)
    lines = [json.dumps({"user": f"u{n}", "page": f"p{n}", "at": moment(5_000 * n)}) for n in range(4)]
    sample = sample_rows(mine, lines, "rows.jsonl")
    rows = draw(mine, span, 5, 1, sample)
    assert [row.values["page"] for row in rows if row.case == 0] == ["p0", "p1", "p2", "p3"]
    assert [row.at for row in rows if row.case == 0] == [START + 5_000 * n for n in range(4)]
    assert {row.values["user"] for row in rows} <= {"u0", "u1", "u2", "u3"}


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("{", "rows.jsonl, line 2: not JSON"),
        ("[1]", "a row is an object of columns"),
        ('{"usr": "a", "at": 1}', "'usr' is no column of the schema"),
        ('{"user": "a", "at": "noon"}', "at is ISO 8601 or ms since the epoch, not 'noon'"),
        ('{"user": {"x": 1}, "at": 1}', "user is string, not {'x': 1}"),
        ('{"user": true, "at": 1}', "user is string, not True"),
        ('{"user": "a", "at": 1, "n": 2147483648}', "n is int, not 2147483648"),
        ('{"user": "a", "at": 1, "day": "1/2/20"}', "day is date, not '1/2/20'"),
    ],
)
def test_a_bad_sample_row_is_named_by_its_line(line, says):
    mine = declared(counting, schema=VISITS + ", n int, day date")
    with pytest.raises(InvalidSubject) as error:
        sample_rows(mine, ['{"user": "a", "at": 1}', line], "rows.jsonl")
    assert says in str(error.value)


def test_times_move_and_come_back():
    kind = columns_of("s struct<at: timestamp, days: array<date>>")[0].type
    there = moved(kind, {"at": moment(START), "days": ["2020-03-01", None]}, 86_400_000)
    assert there == {"at": moment(START + 86_400_000), "days": ["2020-03-02", None]}
    by = span_of([5 * MINUTE], 0).moved
    value = {"window": {"$timestamp": (START + by) * 1_000}, "seconds": (START + by) // 1_000, "n": 3}
    value |= {"minute": (START + by) // MINUTE, "day": (START + by) / 86_400_000}
    back = moved_back(value, by, START + by, START + by + 1_000_000)
    assert back == {"window": {"$timestamp": START * 1_000}, "seconds": START // 1_000, "n": 3} | {
        "minute": START // MINUTE,
        "day": START / 86_400_000,
    }


def test_dates_in_texts_move_and_what_has_other_times_of_its_own_does_not():
    by = span_of([5 * MINUTE], 0).moved
    first, last = questions.FIRST, questions.LAST
    mine = {"day": "on 2020-03-01", "since": {"$date": "1970-01-01"}, "id": (START + by) // 1_000}
    back = partial(moved_back, by=by, first=first + by, last=last + by)
    assert back({"day": "on 2048-03-01", "week": "2048-03-99"}) == {"day": "on 2020-03-01", "week": "2048-03-99"}
    assert back({**mine, "day": "on 2048-03-01"}, known=kept((mine,), first, last)) == mine
    today = {"written": {"$date": "2026-05-01"}}  # the clock says the same, whatever the rows say
    assert back(today, known=kept((today,), millis("2026-04-01"), millis("2026-06-01"))) != today
    assert back({"of": {"timestamp": {"$timestamp": by * 1_000}}}) == {"of": {"timestamp": {"$timestamp": 0}}}


def test_a_script_moves_times_back_as_the_harness_does():
    there: dict[str, Any] = {}
    exec("from datetime import date, datetime, timedelta\n" + moving_back(), there)
    by, mine = span_of([], 0).moved, {"since": date(1970, 1, 1), "day": "2020-03-01", "today": date.today()}
    back = partial(there["back"], first=questions.FIRST, last=questions.LAST, known=there["KNOWN"])
    assert back(mine, 0) == mine
    assert back({**mine, "day": "2048-03-01"}, by) == {**mine, "today": date.today() - timedelta(milliseconds=by)}


def test_times_move_to_years_with_the_same_local_times():
    asked = first_round()
    new_york = replace(asked, span=span_of([7 * 86_400_000], 0, ("America/New_York",)))  # other rules until 2006
    assert [run.moved > 0 for run in questions.TIME.make(new_york)] == [True]
    assert [run.moved > 0 for run in questions.TIME.make(asked)] == [True, False]


# Answers


def test_the_final_rows_of_each_mode():
    ran = Ran({0: ({"k": 1, "n": 1},), 1: ({"k": 1, "n": 2}, {"k": 2, "n": 1}), 2: ()})
    assert [row["n"] for row in final(ran, "append", ())] == [1, 2, 1]
    assert [row["n"] for row in final(ran, "update", ("k",))] == [2, 1]
    assert final(ran, "complete", ()) == ()


def test_answers_differ_as_multisets():
    row = {"user": "a", "n": 1}
    assert not difference([row, {"user": "b"}], [{"user": "b"}, row])
    assert difference([row], [row, row]).words == 'user="a", n=1 is new'
    assert told(0.1 + 0.2) == told(0.3)
    assert canonical(told(0.1 + 0.2 - 0.3)) == canonical(told(-0.0)) == canonical(told(0.0))
    assert shown_row({"at": {"$timestamp": START * 1_000}}) == f"at={moment(START)}"


# Verdicts


def test_what_holds_holds_and_says_how_its_cases_ran():
    found, failing, report = verdicts(counting)
    assert {f.verdict for f in found.values()} == {Verdict.HOLDS}, found
    assert not failing
    assert report.packed == "6 cases in a run: 2 of them answer alone as they do together; 3 questions at once"
    assert found["order"].rows > 0
    assert len(report.answers) > 3


def test_an_order_dependent_answer_is_found_and_reduced():
    found, failing, _ = verdicts(lambda batches: counting(batches, first_page=True))
    assert found["order"].verdict is Verdict.VIOLATED
    assert found["batches"].verdict is Verdict.HOLDS
    pair, why = failing["order"]
    data = [row for batch in pair.plain.delivery for row in batch if not row.closing]
    assert len(data) == 2
    assert len({row.values["user"] for row in data}) == 1
    assert "is lost" in why
    assert len(pair.plain.delivery) <= 2


def test_a_filter_by_the_clock_is_found_though_nothing_comes_out_before():
    now = millis("2030-01-01")
    found, failing, _ = verdicts(lambda batches: counting(batches, keep=lambda row: millis(row["at"]) > now))
    assert found["time"].verdict is Verdict.VIOLATED
    assert found["order"].verdict is Verdict.NOT_ASKED
    assert "nothing was compared" in found["order"].why
    pair, _ = failing["time"]
    assert len([row for batch in pair.plain.delivery for row in batch if not row.closing]) == 1


def test_state_that_lives_in_a_batch_is_found_by_other_batches():
    def per_batch(batches):
        outputs = {}
        for number, batch in enumerate(batches):
            seen = {}
            for row in batch:
                seen[row["user"]] = seen.get(row["user"], 0) + 1
                outputs.setdefault(number, []).append({"user": row["user"], "n": seen[row["user"]]})
        return Ran({number: tuple(rows) for number, rows in outputs.items()})

    found, failing, _ = verdicts(per_batch, Toy(Facts(columns=("user", "n"))))
    assert found["batches"].verdict is Verdict.VIOLATED
    assert found["order"].verdict is Verdict.HOLDS  # a user has as many rows in each batch
    assert found["late"].why == "no operator keeps state, so none drops what is late"
    pair, _ = failing["batches"]
    assert len([row for batch in pair.varied.delivery for row in batch if not row.closing]) == 2


def test_what_differs_from_run_to_run_is_not_asked_further():
    count = itertools.count()

    def numbered(batches):
        return Ran({0: tuple({"user": r["user"], "n": next(count)} for b in batches for r in b)})

    found, _, report = verdicts(numbered, Toy(Facts(columns=("user", "n"))))
    assert report.packed == "6 cases in a run: another time, it answers otherwise"
    assert found["again"].verdict is Verdict.VIOLATED
    assert {f.verdict for q, f in found.items() if q != "again"} == {Verdict.NOT_ASKED}
    assert "mend that first" in found["order"].why
    found, _, _ = verdicts(numbered, Toy(Facts(columns=("user", "n"))), Options(questions=("order",)))
    assert (found["order"].verdict, found["order"].why) == (Verdict.NOT_ASKED, MEND)


def test_a_question_is_not_blamed_for_what_differs_now_and_then():
    """Every fourth run, whatever is asked."""
    count = itertools.count(1)

    def at_times(batches):
        odd = next(count) % 4 == 0
        return Ran({0: tuple({"user": r["user"], "n": odd} for b in batches for r in b)})

    found, failing, _ = verdicts(at_times, Toy(Facts(columns=("user", "n"))))
    assert {f.verdict for q, f in found.items() if q != "again"} == {Verdict.NOT_ASKED}
    assert (found["again"].verdict, {*failing}) == (Verdict.VIOLATED, {"again"})


def test_what_a_key_is_spelled_like_may_come_out():
    def spelled(batches):
        return Ran({n: tuple({"user": r["user"], "n": r["user"][::-1]} for r in b) for n, b in enumerate(batches)})

    found, _, report = verdicts(spelled, Toy(Facts(columns=("user", "n"))))
    assert report.packed.startswith("6 cases in a run: 2 of them answer alone as they do together")
    assert found["order"].verdict is Verdict.HOLDS


def test_keys_of_another_spelling_may_be_answered_otherwise():
    def chosen(batches):
        rows = [[r for r in b if r["user"] in ("k1", "k2")] for b in batches]
        return Ran({n: tuple({"user": r["user"]} for r in b) for n, b in enumerate(rows)})

    found, _, report = verdicts(chosen, Toy(Facts(columns=("user",))))
    assert "streams: keys of another spelling are answered otherwise" in report.packed
    assert found["order"].rows > 0


def test_a_column_that_is_looked_up_by_the_key_keeps_cases_apart():
    def looked_up(batches):
        names = {"k1": "Ann", "k2": "Bob"}
        return Ran({n: tuple({"user": r["user"], "n": names.get(r["user"])} for r in b) for n, b in enumerate(batches)})

    _, _, report = verdicts(looked_up, Toy(Facts(columns=("user", "n"))))
    assert "streams: keys of another spelling are answered otherwise" in report.packed


def test_a_cache_that_outlives_a_run_is_found_though_all_further_answers_are_empty():
    seen = set()

    def new(batches):
        rows = {row["user"]: row for batch in batches for row in batch if row["user"] not in seen}
        seen.update(rows)
        return Ran({0: tuple({"user": user} for user in rows)})

    found, _, _ = verdicts(new, Toy(Facts(columns=("user",))))
    assert found["again"].verdict is Verdict.VIOLATED


def test_rows_that_are_dropped_too_early_and_state_that_stays_are_found():
    found, _, _ = verdicts(lambda batches: counting(batches, delay=0), delay="5 minutes")
    assert found["order"].verdict is Verdict.VIOLATED

    def kept(batches):
        ran = counting(batches)
        return Ran(ran.outputs, ran.dropped, sum(map(len, batches)), True)

    found, _, _ = verdicts(kept)
    assert found["state"].verdict is Verdict.VIOLATED
    assert "of state" in found["state"].why

    def late(batches):
        ran = counting(batches)
        return Ran(ran.outputs, 2, ran.stored, True)

    found, _, _ = verdicts(late)
    assert found["once"].why == "the engine dropped 2 rows as late"


def test_cases_are_streams_where_an_operator_goes_by_no_key():
    def all_users(batches):
        ran = counting([[{**row, "user": "all"} for row in batch] for batch in batches])
        return Ran({n: tuple({"n": row["n"]} for row in rows) for n, rows in ran.outputs.items()}, 0, 0, True)

    found, _, report = verdicts(all_users, Toy(Facts(columns=("n",))), key=None)
    assert report.packed == "12 cases in 3 streams: no key; 3 questions at once"
    assert found["order"].verdict is Verdict.HOLDS
    assert found["order"].cases == 24  # each of them in two orders

    def named_once(batches):  # the first user of all gets the rows of the others
        rows = [row for batch in batches for row in batch]
        return counting([[{**row, "user": rows[0]["user"]} for row in batch] for batch in batches])

    _, _, report = verdicts(named_once)
    assert report.packed.startswith("12 cases in 1 stream: a case answers otherwise among others than alone")


def test_streams_have_many_cases_and_open_nothing_of_one_another():
    runs = Runs(Toy(), declared(counting, key=None), ())
    one, together, behind = Cases(Judging(runs), ALL).deliveries("order", 1)
    assert [len({row.case for row in asked.data}) for asked in (one, together, behind)] == [1, 5, 6]
    for before, after in itertools.pairwise(sorted({row.case for row in behind.data})):
        times = [[row.at for row in behind.data if row.case == case] for case in (before, after)]
        assert min(times[1]) - max(times[0]) > 20 * MINUTE
        assert (min(times[1]) - START) // MINUTE % 1440 < 30  # windows begin where they would alone
    assert max(row.at for row in behind.data) <= START + behind.span.length < behind.closing[0][0].at


def test_cases_of_a_stream_have_keys_of_their_own_where_they_can():
    def beside_others(batches):
        ran, users = counting(batches), len({row["user"] for batch in batches for row in batch})
        rows = {n: tuple({**row, "n": row["n"] * users} for row in out) for n, out in ran.outputs.items()}
        return replace(ran, outputs=rows)

    runs = Runs(Toy(), declared(beside_others), ())
    cases = Cases(Judging(runs), ALL)
    assert cases.note.startswith("12 cases in 1 stream: a case answers otherwise among others than alone")
    rows = [row for asked in cases.deliveries("order", 1) for row in asked.data]
    assert all(row.values["user"].startswith(f"c{row.case}/") for row in rows)

    found, _, _ = verdicts(beside_others)
    assert (found["order"].verdict, found["batches"].verdict) == (Verdict.NOT_ASKED, Verdict.HOLDS)
    assert found["order"].why.startswith("what a key answers depends on the rows of others")

    def first_page(batches):
        ran, other = beside_others(batches), counting(batches, first_page=True)
        return replace(ran, outputs={n: (*rows, *ran.outputs[n]) for n, rows in other.outputs.items()})

    found, failing, report = verdicts(first_page)
    assert (found["order"].verdict, "in 1 stream" in report.packed) == (Verdict.VIOLATED, True)
    assert len([row for batch in failing["order"][0].plain.delivery for row in batch if not row.closing]) == 2


@pytest.mark.parametrize("mode", ["update", "complete"])
def test_closing_rows_take_the_place_of_no_answer(mode):
    """They have the keys of cases where a case has none of its own."""

    def last_page(batches):
        latest, outputs = {}, {}
        for number, batch in enumerate(batches):
            latest |= {row["user"]: row["page"] for row in batch}
            now = latest if mode == "complete" else {row["user"]: row["page"] for row in batch}
            outputs[number] = tuple({"user": user, "page": page} for user, page in now.items())
        return Ran(outputs, 0, 0, True)

    toy = Toy(Facts(columns=("user", "page"), output_key=("user",)))
    found, _, _ = verdicts(last_page, toy, key=None, output_mode=mode)
    assert found["order"].verdict is Verdict.VIOLATED
    assert found["batches"].verdict is Verdict.HOLDS
    assert found["state"].verdict is Verdict.NOT_ASKED


@pytest.mark.parametrize("again", [False, True])
def test_what_the_clock_may_have_changed_is_not_violated(again):
    runs = itertools.count()

    def idle(batches):
        ran = counting(batches)
        if next(runs) if again else not all(batches):
            ran = replace(ran, outputs={0: ({"user": "c1/a", "n": -1},)})
        return replace(ran, clocked=True)

    found, failing, _ = verdicts(idle)
    assert found["empty"].verdict is Verdict.NOT_ASKED
    assert "its timers go by the clock" in found["empty"].why
    assert found["order"].verdict is (Verdict.NOT_ASKED if again else Verdict.HOLDS)
    assert not failing


def test_what_is_found_is_told_before_all_is_asked():
    told = []
    asking = Asking(Toy(), declared(counting), ALL, seen=lambda report, failing: told.append(report))
    report = asking.report()
    assert [f.verdict for f in told[0].findings] == [Verdict.HOLDS, *[Verdict.NOT_ASKED] * (len(report.findings) - 1)]
    assert told[-1].findings == report.findings


def test_what_is_found_before_an_interrupt_is_kept():
    def lines():
        asking = Asking(Toy(), declared(counting), ALL, seen=lambda report, failing: found.append(report))
        found: list[Report] = []
        asking.report()
        yield json.dumps({"report": found[-1].to_json()})
        yield json.dumps({"so far": found[0].to_json()})
        raise KeyboardInterrupt

    told = _listened(SimpleNamespace(stdout=lines()), lambda line: None, lambda report: None)
    whole, begun = told.reports
    assert (told.interrupted, told.code) == (True, 3)
    assert {f.verdict for f in whole.findings} == {Verdict.HOLDS}
    assert [f.why for f in begun.findings] == ["", *["interrupted"] * (len(begun.findings) - 1)]


def test_an_interrupted_command_writes_what_was_found_and_begins_no_other_release(tmp_path, monkeypatch):
    _, _, report = verdicts(counting, options=Options(questions=(ORDER.id,)))
    asked = []

    def interrupted(request, log, say, release, begun, seen):
        asked.append(release)
        return Told((report,), interrupted=True)

    monkeypatch.setattr(command, "ask_all", interrupted)
    releases = [Release("toy", "1.0"), Release("toy", "2.0")]
    with pytest.raises(Unfinished, match=r"interrupted; what was found is in .*subjects\.json") as ended:
        command.ask_subjects(worker.Request("my.py"), releases, tmp_path)
    assert (ended.value.exit_code, asked) == (3, releases[:1])
    assert json.loads((tmp_path / command.FOUND).read_text()) == [report.to_json()]


def test_a_whole_number_is_a_key_too():
    def numbers(batches):
        return counting([[{**row, "page": None} for row in batch] for batch in batches])

    found, _, report = verdicts(numbers, schema="user int, at timestamp")
    assert report.packed.startswith("6 cases in a run")
    assert found["order"].verdict is Verdict.HOLDS


def test_keys_of_sample_rows_may_be_large_numbers():
    rows = [Row({"user": user, "page": "a"}, START + nr, nr=nr) for nr, user in enumerate([4_711, 1_123_456, 4_711])]
    _, _, report = verdicts(counting, options=Options(sample=tuple(rows)), schema="user int, page string, at timestamp")
    assert report.packed.startswith("6 cases in a run")
    assert {row["user"] for row in report.answers["0"]} == {4_711, 1_123_456}


def test_questions_that_hold_together_share_a_run():
    toy = Toy()
    verdicts(counting, toy, Options(questions=("order", "batches", "empty")))
    assert toy.runs == 1 + 2 + 2  # the plain run, two cases alone, and two with all three changes
    found, _, _ = verdicts(
        lambda b: counting(b, first_page=True), options=Options(questions=("order", "batches", "empty"))
    )
    assert [found[q].verdict for q in ("order", "batches", "empty")] == [Verdict.VIOLATED, Verdict.HOLDS, Verdict.HOLDS]


@pytest.mark.parametrize("first_page", [False, True])
def test_runs_that_begin_ahead_change_no_verdict(first_page):
    """Also where cases run one by one."""

    def function(batches):
        return counting(batches, first_page=first_page)

    for more in ({}, {"key": None}):
        ahead, plain = Toy(), Toy()
        ahead.parallel = 2
        found, _, report = verdicts(function, ahead, **more)
        expected, _, as_plain = verdicts(function, plain, **more)
        assert (found, report.answers) == (expected, as_plain.answers)
        if not first_page:
            assert ahead.runs == plain.runs


@pytest.mark.parametrize(("budget", "ahead"), [(1_000, True), (0, False)])
def test_runs_begin_ahead_with_a_budget_too_while_there_is_any(budget, ahead):
    class Threads(Toy):
        parallel = 2

        def run(self, subject, given, setup):
            threads.add(threading.current_thread() is threading.main_thread())
            return super().run(subject, given, setup)

    threads = set()
    clock = itertools.count(0, 100).__next__
    toy = Threads()
    found = Asking(toy, declared(counting), Options(budget=budget), clock=lambda: float(clock())).report().findings
    assert threads == {False}
    assert (toy.runs > 1 + 2) is ahead  # the plain run, and two cases alone
    assert (found[0].verdict is Verdict.HOLDS) is ahead


class Behind(Toy):
    """Its function is told whether its rows come through another query."""

    questions = (questions.ORDER, questions.EMPTY, questions.THROUGH)

    def run(self, subject, given, setup):
        self.through = setup.through
        return super().run(subject, given, setup)


def test_a_query_that_goes_by_the_one_before_it_is_found_and_one_that_cannot_be_behind_one_is_not_asked():
    toy = Behind()
    found, failing, _ = verdicts(lambda b: counting(b, first_page=toy.through), toy)
    assert [found[q].verdict for q in ("order", "empty", "plan")] == [Verdict.HOLDS, Verdict.HOLDS, Verdict.VIOLATED]
    assert failing["plan"][0].varied.setup.through
    found, _, _ = verdicts(lambda b: Ran(error="no such column: file") if toy.through else counting(b), toy)
    assert (found["plan"].verdict, found["plan"].why) == (Verdict.NOT_ASKED, "refused: no such column: file")
    assert found["order"].verdict is Verdict.HOLDS


def test_what_fails_together_alone_is_isolated():
    def fails(batches):
        empty, few = not all(batches), len(list(filter(None, batches))) < 4
        return Ran({0: ({"user": "c1/a", "n": -1},)}) if empty and few else counting(batches)

    found, failing, _ = verdicts(fails, options=Options(questions=("order", "batches", "empty")))
    assert found["batches"].verdict is Verdict.VIOLATED
    assert found["batches"].why.startswith("together with empty, and not alone: ")
    assert {found["order"].verdict, found["empty"].verdict} == {Verdict.HOLDS}
    assert [*failing] == ["batches"]


@pytest.mark.parametrize("refusable", [False, True])
def test_what_fails_is_told_though_the_budget_is_spent_before_it_is_isolated(refusable):
    now = [0.0]

    def fails(batches):
        if len(list(filter(None, batches))) > 3:
            return counting(batches)
        now[0] = 90.0
        return Ran(error="no such thing") if refusable else Ran({0: ({"user": "c1/a", "n": -1},)})

    toy = Toy()
    toy.questions = (questions.AGAIN, questions.ORDER, replace(questions.SPLITS, refusable=refusable))
    asking = Asking(toy, declared(fails), Options(budget=100), clock=lambda: now[0])
    found = {f.question: f for f in asking.report().findings}
    assert (found["order"].verdict, found["order"].why) == (Verdict.NOT_ASKED, "the budget was spent")
    assert (AT_ONCE in found) is not refusable  # the engine may have refused it
    if not refusable:
        assert found[AT_ONCE].means == "Changes at once (order, batches) give the same answer."
        assert found[AT_ONCE].verdict is Verdict.VIOLATED
        assert found[AT_ONCE].why.startswith("the budget was spent before it was told which of them it is: ")


def test_what_failed_before_is_asked_first(tmp_path):
    def first_page(batches):
        return counting(batches, first_page=True)

    mine, asked = declared(counting), Options(questions=("order",))
    _, failing, _ = verdicts(first_page, options=asked)
    write_failing(tmp_path, mine, {question: pair for question, (pair, _) in failing.items()})
    known = read_failing(tmp_path, mine)
    assert known == {"order": failing["order"][0]}
    assert read_failing(tmp_path, declared(counting, schema="user string, at timestamp")) == {}
    toy = Toy()
    found, again, _ = verdicts(first_page, toy, replace(asked, known=known))
    assert again["order"] == failing["order"]
    assert toy.runs == 1 + 2 + 2 + 3  # the plain run, two cases alone, the pair, and the pair once more
    assert found["order"].cases == 1
    found, again, _ = verdicts(counting, options=replace(asked, known=known))
    assert found["order"].verdict is Verdict.HOLDS
    write_failing(tmp_path, mine, {})
    assert read_failing(tmp_path, mine) == {}


def test_what_an_engine_refuses_is_not_asked_and_what_fails_is_violated():
    def refuses(batches):
        return Ran(error="no such plan") if len(batches) == 1 and len(batches[0]) > 9 else counting(batches)

    toy = Toy()
    toy.questions = (replace(questions.BOUNDED, id="plan", refusable=True), questions.BOUNDED)
    found, _, _ = verdicts(refuses, toy)
    assert (found["plan"].verdict, found["plan"].why) == (Verdict.NOT_ASKED, "refused: no such plan")
    assert found["bounded"].verdict is Verdict.VIOLATED  # a batch query that fails

    def fails(batches):
        return counting(batches) if all(batches) else Ran(error="an empty batch")

    found, failing, _ = verdicts(fails)
    assert found["empty"].verdict is Verdict.VIOLATED
    assert failing["empty"][1] == "the query fails: an empty batch"


def test_what_an_engine_says_that_it_has_not_is_not_asked():
    def lacks(batches):
        return counting(batches) if all(batches) else Ran(error="no empty batches", refused=True)

    found, _, _ = verdicts(lacks, options=Options(questions=("empty",)))
    assert (found["empty"].verdict, found["empty"].why) == (Verdict.NOT_ASKED, "refused: no empty batches")


def test_what_the_machine_hinders_is_not_asked():
    def hindered(batches):
        return counting(batches) if all(batches) else Ran(error="no room", hindered=True)

    found, _, _ = verdicts(hindered)
    assert found["empty"].verdict is Verdict.NOT_ASKED
    assert found["empty"].why == "the machine hindered a run, not the query; ask again: no room"
    assert found["order"].verdict is Verdict.HOLDS
    report, _ = ask(Toy(), declared(lambda batches: Ran(error="no room", hindered=True)), ALL)
    assert report.error == "subject <lambda>: the machine hindered a run, not the query; ask again: no room"


def test_a_reduced_pair_fails_as_the_whole_one_does():
    """The function takes no null, and an answer that differs is not exchanged for an error."""
    schema = "user string, page string, weight double NOT NULL, price decimal(4,2) NOT NULL, at timestamp"

    def picky(batches):
        rows = [row for batch in batches for row in batch]
        assert all(row["weight"] is not None and row["price"] is not None for row in rows)
        if len(batches) == 1:
            return Ran(error="ValueError: one batch alone")
        return counting(batches, first_page=True)

    found, failing, _ = verdicts(picky, schema=schema, options=Options(questions=("order",)))
    assert found["order"].verdict is Verdict.VIOLATED
    assert "is lost" in failing["order"][1]


def test_an_unusable_subject_gets_one_line():
    report, _ = ask(Toy(Facts(columns=("window", "n"))), declared(counting), Options())
    assert report.error.startswith(
        "subject counting: the output has no column 'user' (it has window, n); put the key out, or say key=None"
    )
    report, _ = ask(Toy(), declared(lambda batches: Ran(error="ValueError: no page")), Options())
    assert "the query failed over drawn rows: ValueError: no page" in report.error
    report, _ = ask(Toy(Facts(columns=("user",), output_key=None)), declared(counting, output_mode="update"), Options())
    assert "output_key=" in report.error


def test_a_budget_ends_the_questions_and_is_used_up():
    clock = itertools.count().__next__
    asking = Asking(Toy(), declared(counting), Options(budget=12), clock=lambda: float(clock()))
    found = {f.question: f for f in asking.report().findings}
    assert found["again"].verdict is Verdict.HOLDS
    assert found["bounded"].why == "the budget was spent"
    asking = Asking(Toy(), declared(counting), Options(budget=200), clock=lambda: float(clock()))
    assert {f.question: f for f in asking.report().findings}["again"].cases > 6


def test_questions_can_be_left_out_by_the_subject():
    found, _, _ = verdicts(counting, leave_out={"state": "it counts for ever"})
    assert (found["state"].verdict, found["state"].why) == (Verdict.NOT_ASKED, "it counts for ever")


def test_rows_with_other_keys_must_not_change_an_answer():
    driver = Toy()
    driver.questions = (questions.OTHERS,)
    found, _, _ = verdicts(counting, driver)
    assert (found["others"].verdict, found["others"].cases) == (Verdict.HOLDS, 3)

    def numbering(batches):
        """Numbers the rows of all users."""
        number = itertools.count()
        return Ran(
            {n: tuple({"user": row["user"], "n": next(number)} for row in batch) for n, batch in enumerate(batches)},
            stateful=True,
        )

    found, failing, _ = verdicts(numbering, driver)
    assert found["others"].verdict is Verdict.VIOLATED
    pair, why = failing["others"]
    assert "is lost" in why
    users = [
        [row.values["user"] for batch in run.delivery for row in batch if not row.closing]
        for run in (pair.plain, pair.varied)
    ]
    assert list(map(len, users)) == [1, 2]
    assert {*users[0]} < {*users[1]}
    none, _, _ = verdicts(counting, driver, key=None)
    assert none["others"].why == "no key of texts or whole numbers of 32 bits"


def test_rows_behind_the_watermark_that_are_not_dropped_must_count():
    driver = Toy()
    driver.questions = (questions.ADMITTED,)
    found, _, _ = verdicts(counting, driver)
    assert (found["admitted"].verdict, found["admitted"].rows > 10) == (Verdict.HOLDS, True)
    lost, failing, _ = verdicts(losing_what_is_admitted, driver)
    assert lost["admitted"].verdict is Verdict.VIOLATED
    pair, _ = failing["admitted"]
    assert len([row for row in pair.rows if not row.closing]) <= 6
    dropped = replace(counting([[]]), dropped=1)
    found, _, _ = verdicts(lambda batches: replace(dropped, outputs=counting(batches).outputs), driver)
    assert "drops such rows" in found["admitted"].why
    found, _, _ = verdicts(counting, driver, leave_out="admitted")
    assert found["admitted"].why == "left out by the subject"


def test_some_cases_come_a_micro_batch_late_as_a_whole():
    """Two rows that a join pairs then meet in a late micro-batch."""
    rows = [Row({"user": "a", "page": "x"}, START + 3_000 * n, n % 8, nr=n) for n in range(96)]
    delivery = cut(rows, 8)
    before, all_late = numbers_in(delivery), numbers_in(held_back(delivery, 10_000, lambda row: True))
    asked = questions.Asked(declared(counting), span_of((), 10_000), delivery, Random(1))
    kinds = []
    for pair in questions.pairs(questions.ADMITTED, asked):
        late = numbers_in(pair.varied.delivery)
        found = {row.case: set() for row in rows}
        for row in rows:
            if all_late[row.nr] != before[row.nr]:
                found[row.case].add(late[row.nr] != before[row.nr])
        kinds.append({frozenset(moved) for moved in found.values()})
    assert {frozenset({True}), frozenset({False})} in kinds


def numbers_in(delivery):
    """Row -> the micro-batch that it comes in."""
    return {row.nr: number for number, batch in enumerate(delivery) for row in batch}


# Smaller pairs


def test_a_smaller_pair_keeps_its_shape():
    a, b, c = (Row({"user": "a"}, START + n, nr=n) for n in range(3))
    pair = Pair(Run(((a,), (b,), (c,))), Run(((), (c,), (a, b)), Setup(restarts=(2,), fails=2)))
    fewer = without(pair, [c.nr])
    assert fewer.plain.delivery == ((a,), (b,))
    assert fewer.varied.delivery == ((), (a, b))  # the empty one was there before
    assert fewer.varied.setup == Setup(restarts=(1,), fails=1)
    assert without(pair, [c.nr], hollow=True).varied.delivery == ((), (), (a, b))
    assert joined(pair, "varied", 0).varied == Run(((c,), (a, b)), Setup(restarts=(1,), fails=1))


def test_runs_of_the_same_micro_batches_keep_their_shape_when_they_are_reduced():
    mine = declared(counting)
    batches = tuple((Row({"user": "a", "page": "a"}, START + n, nr=n),) for n in range(4))
    pair = Pair(Run(batches), Run(batches, Setup(restarts=(2,))))

    def fails(candidates):
        return next((pair for pair in candidates if pair.varied.setup.restarts), None)

    smaller = plainer(pair, mine, fails, [""])
    assert smaller.plain.delivery == smaller.varied.delivery
    assert (len(smaller.plain.delivery), smaller.varied.setup.restarts) == (2, (1,))


def test_what_an_engine_refuses_is_not_said_to_be_of_the_rows():
    for refused, says in ((True, "counting: refused: no such thing"), (False, "give settings={…}")):
        ran = Ran(error="no such thing", refused=refused)
        report, _ = ask(Toy(), replace(declared(counting), function=lambda batches, ran=ran: ran), ALL)
        assert report.error.endswith(says)


def test_a_failure_in_more_batches_is_compared_with_a_restart_that_the_plain_run_has():
    asked = first_round()
    for number in range(20):
        pair = questions.together((questions.SPLITS, questions.FAILURE), asked, number, True)
        assert all(at < len(pair.plain.delivery) for at in pair.plain.setup.restarts)


def test_a_failure_is_compared_with_a_restart_at_the_same_place():
    asked = first_round()
    made = questions.pairs(questions.FAILURE, asked)
    assert [pair.varied.setup.breaks for pair in made] == [BEHIND, SHOWING]
    assert all(pair.plain.setup == Setup(restarts=(pair.varied.setup.fails,)) for pair in made)
    assert all(pair.plain.setup == Setup() for pair in questions.pairs(questions.RESTART, asked))


class Restarted(Toy):
    """Its function is told the micro-batches before which a query begins anew."""

    questions = (questions.ORDER, questions.SPLITS, questions.EMPTY, questions.RESTART, questions.FAILURE)

    def run(self, subject, given, setup):
        self.anew = {*setup.restarts, *(() if setup.fails is None else (setup.fails,))}
        return super().run(subject, given, setup)


def test_what_differs_under_a_change_once_alone_is_said_to_be_perhaps_a_race():
    toy, odd = Restarted(Facts(columns=("user", "n"))), itertools.count()

    def at_first(batches):
        wrong = bool(toy.anew) and not next(odd)
        return Ran({0: tuple({"user": row["user"], "n": wrong} for batch in batches for row in batch)})

    found, _, _ = verdicts(at_first, toy, Options(questions=("restart",)))
    assert found["restart"].verdict is Verdict.VIOLATED
    assert "the pair that is shown did not differ: that may be a race" in found["restart"].why


@pytest.mark.parametrize("left_out", [(), ("restart",)])
def test_a_query_that_a_restart_changes_is_found_by_no_other_question(left_out):
    """Not by other batches either, where a failure comes at another place."""
    toy = Restarted(Facts(columns=("user",)))

    def new(batches):
        seen, outputs = set(), {}
        for number, batch in enumerate(batches):
            seen = set() if number in toy.anew else seen
            outputs[number] = tuple({"user": user} for user in {row["user"] for row in batch} - seen)
            seen |= {row["user"] for row in batch}
        return Ran(outputs)

    found, _, _ = verdicts(new, toy, leave_out=left_out)
    violated = {name for name, finding in found.items() if finding.verdict is Verdict.VIOLATED}
    assert violated == {"restart"} - {*left_out}
    assert found["failure"].verdict is Verdict.HOLDS
    for seed in range(1, 6):  # a restart between rows finds it, with any rows
        found, _, _ = verdicts(new, toy, Options(questions=("restart",), seed=seed))
        assert found["restart"].verdict is Verdict.VIOLATED


def test_late_rows_come_in_a_batch_that_the_plain_run_has_too():
    def by_batches(batches):
        ran = counting(batches)
        return replace(
            ran,
            outputs={
                0: tuple({"user": r["user"], "n": len(batches)} for b in batches for r in b if millis(r["at"]) >= START)
            },
        )

    found, _, _ = verdicts(by_batches, Toy(Facts(columns=("user", "n"))))
    assert found["batches"].verdict is Verdict.VIOLATED
    assert found["late"].verdict is Verdict.HOLDS
    asked = first_round()
    few = replace(asked, delivery=((asked.data[0],),))  # no closing rows
    assert {
        len(run.delivery) for pair in questions.pairs(questions.LATE, few) for run in (pair.plain, pair.varied)
    } == {2}


def test_a_case_of_few_rows_has_late_rows_too():
    asked = first_round()
    for seed in range(20):
        (run,) = questions.LATE.make(replace(asked, delivery=asked.delivery[-3:], random=Random(seed)))
        assert any(row.late for batch in run.delivery for row in batch)
    few = replace(asked, delivery=((asked.data[0],),))
    assert all(any(row.late for batch in run.delivery for row in batch) for run in questions.LATE.make(few))


def test_late_rows_mean_something_only_behind_a_watermark():
    row, late = Row({}, START), Row({}, 0, nr=9, late=True)
    behind = Pair(Run(((row,), (row,))), Run(((row,), (row,), (late,))))
    assert means_something(behind, [""])
    assert not means_something(joined(behind, "varied", 0), [""])


# Files and releases


def test_the_subjects_of_a_module_and_their_engines():
    module = types.ModuleType("m")
    module.one = declared(counting)
    assert [s.name for s in subjects_in(module)] == ["one"]
    with pytest.raises(InvalidSubject, match=r"unknown subject 'on'; did you mean one\?"):
        chosen(subjects_in(module), ["on"], "m.py")
    with pytest.raises(InvalidSubject, match=r"m.py has no subject: put @subject"):
        chosen([], [], "m.py")

    def annotated(rows: "Batches") -> "Batches":  # noqa: F821
        return rows

    known = {"toy": Toy(), "other": types.SimpleNamespace(annotation="Others", package="other")}
    assert driver_of(declared(annotated), known) == "toy"
    assert driver_of(declared(lambda rows: rows, engine="other"), known) == "other"
    with pytest.raises(InvalidSubject, match="nothing tells which engine runs it"):
        driver_of(declared(lambda rows: rows), known)


NEEDY = """
import sys
from conformance import subject
if not getattr(sys, "toy_is_open", False):
    raise RuntimeError("start the toy first")

@subject(schema="user string", key="user", engine="toy")
def counting(batches):
    return batches
"""


def test_an_engine_is_started_first_for_a_file_that_needs_it_while_it_is_loaded(tmp_path, monkeypatch):
    class Needed(Toy):
        missed = "start the toy first"
        check = staticmethod(lambda: None)
        open = staticmethod(lambda folder, modules: setattr(sys, "toy_is_open", True))

    (tmp_path / "mine.py").write_text(NEEDY)
    monkeypatch.setattr(sys, "toy_is_open", False, raising=False)
    monkeypatch.setattr(loading, "_asked", (str(tmp_path / "mine.py"),))
    other = Needed()
    other.missed = ""
    with pytest.raises(InvalidPlugin, match="start the toy first"):
        loaded({"toy": other})
    found, folders = loaded({"other": other, "toy": Needed()})
    assert [subject.name for subject in subjects_in(*found.modules.values())] == ["counting"]
    assert [*folders] == ["toy"]


def test_a_file_that_runs_a_job_while_it_is_loaded_gets_one_line(tmp_path, monkeypatch):
    (tmp_path / "mine.py").write_text("import time\n\ntime.sleep(60)\n")
    monkeypatch.setattr(loading, "_asked", (str(tmp_path / "mine.py"),))
    monkeypatch.setattr(worker, "LOADS", 1)
    with pytest.raises(InvalidPlugin, match=r"mine.py, line 3: SystemExit: it has not ended after 1 seconds; put what"):
        loaded({})


TWO = """
from conformance import subject
from conformance.subjects.answers import Ran

@subject(schema="user string", key="user")
def broken(rows: "Batches"): ...

@subject(schema="user string", key="user")
def users(rows: "Batches"):
    return Ran({n: tuple(dict(row) for row in batch) for n, batch in enumerate(rows)})
"""


def test_a_subject_that_the_harness_cannot_ask_leaves_the_others(tmp_path, monkeypatch):
    class Whole(Toy):
        missed, before, options = "", None, ()
        check = close = staticmethod(lambda: None)
        open = staticmethod(lambda folder, modules: None)

        def run(self, subject, given, setup):
            return super().run(subject, given, setup) or 1 / 0

    (tmp_path / "mine.py").write_text(TWO)
    monkeypatch.setattr(loading, "_asked", ())
    monkeypatch.setattr(worker, "in_utc", lambda: None)
    monkeypatch.setattr(worker, "drivers", lambda: {"toy": Whole(Facts(columns=("user",)))})
    events = []
    worker.work(worker.Request(str(tmp_path / "mine.py")), events.append)
    assert "broken: not asked to its end: ZeroDivisionError" in next(
        told["cannot"] for told in events if "cannot" in told
    )
    assert [told["report"]["subject"] for told in events if "report" in told] == ["users"]


def test_two_releases_are_compared_by_their_answers():
    _, _, old = verdicts(counting, options=Options(questions=(AGAIN.id,)))
    _, _, new = verdicts(lambda b: counting(b, size=MINUTE), options=Options(questions=(AGAIN.id,)))
    assert between([old], [old])[0].findings[0].verdict is Verdict.HOLDS
    new = type(new)(**{**vars(new), "subject": old.subject})
    (compared,) = between([old], [new])
    assert compared.findings[0].verdict is Verdict.VIOLATED
    assert "cases: " in compared.findings[0].why
    failed = replace(old, answers={}, error="no such function", version="Toy 2.0")
    assert between([old], [failed])[0].findings[0].why == "Toy 2.0 gives no answer: no such function"
    assert between([failed], [failed])[0].findings[0].verdict is Verdict.NOT_ASKED


def test_a_question_that_one_release_alone_violates_tells_them_apart():
    _, _, old = verdicts(counting, options=Options(questions=(AGAIN.id,)))
    [held] = old.findings
    new = replace(old, findings=(replace(held, verdict=Verdict.VIOLATED),), version="Toy 2.0")
    for one, other in ((old, new), (new, old)):
        [finding] = between([one], [other])[0].findings
        assert finding.verdict is Verdict.VIOLATED
        assert "again: " in finding.why
        assert "violated in Toy 2.0" in finding.why
    more = replace(new, findings=(replace(new.findings[0], cases=held.cases + 1),))
    assert between([old], [more])[0].findings[0].verdict is Verdict.HOLDS, "the other release was asked less"


def test_exit_codes():
    _, _, holds = verdicts(counting, options=Options(questions=(ORDER.id,)))
    _, _, violated = verdicts(lambda b: counting(b, first_page=True), options=Options(questions=(ORDER.id,)))
    unusable = type(holds)("x", "Toy 1.0", error="no key")
    assert [Told(r).code for r in ((holds,), (holds, violated), (violated, unusable))] == [0, 1, 2]
    assert Told((violated,), cannot=("no Java",)).code == 3
    assert type(holds).from_json(json.loads(json.dumps(violated.to_json()))) == violated


# Queries of other shapes


def test_a_key_that_comes_out_otherwise_is_no_key_of_cases():
    def shouting(batches):
        ran = counting(batches)
        rows = {n: tuple({**row, "user": row["user"].upper()} for row in out) for n, out in ran.outputs.items()}
        return replace(ran, outputs=rows)

    found, _, report = verdicts(shouting)
    assert report.packed.startswith("12 cases in 3 streams: it puts keys out otherwise than they went in")
    assert found["bounded"].verdict is Verdict.HOLDS


def test_rows_whose_keys_the_query_leaves_out_move_no_watermark():
    """As where a filter goes by the key."""

    def watermark(batches):
        times = [millis(row["at"]) for batch in batches for row in batch if row["user"] in ("ann", "bob")]
        return max(times, default=0) - 10_000

    def some(batches):
        ran = counting(batches, keep=lambda row: row["user"] in ("ann", "bob"))
        return replace(ran, watermark=watermark(batches))

    found, _, report = verdicts(some, values={"user": ["ann", "bob", "eve"]})
    assert report.packed.startswith("12 cases in 3 streams: rows with other keys do not move its watermark")
    assert {found[name].verdict for name in ("state", "bounded")} <= {Verdict.HOLDS, Verdict.NOT_ASKED}


def test_a_watermark_by_local_times_passes_everything():
    def local(batches):
        latest = max((millis(row["at"]) for batch in batches for row in batch), default=0)
        return replace(counting(batches), watermark=latest - 10_000 - 5 * 3_600_000)

    found, _, report = verdicts(local)
    assert report.packed.startswith("6 cases in a run")
    assert found["state"].verdict is Verdict.HOLDS


def test_a_number_too_narrow_for_a_case_is_no_key_of_cases():
    assert declared(counting, schema="user tinyint, page string, at timestamp").own_key == ""
    assert declared(counting, schema="user int, page string, at timestamp").own_key == "user"


def test_the_delay_of_the_functions_own_watermark_is_taken():
    found, _, _ = verdicts(counting, driver=Toy(replace(COUNTS, delay=10_000)), delay="")
    assert found["late"].verdict is Verdict.HOLDS
    report, _ = ask(Toy(replace(COUNTS, delay=20_000)), declared(counting), ALL)
    assert "stays 20000 ms behind, and delay says 10000 ms" in report.error
    report, _ = ask(Toy(replace(COUNTS, delay=20_000)), declared(counting, delay="", time=""), ALL)
    assert "name its column of event time as time=" in report.error
    report, _ = ask(Toy(replace(COUNTS, delay=10_000, timed=("seen",))), declared(counting), ALL)
    assert "its watermark goes by 'seen', and time says 'at'" in report.error
    report, _ = ask(Toy(replace(COUNTS, timeless=True)), declared(counting), ALL)
    assert "it sets no watermark, and has a delay" in report.error


def test_columns_that_are_ignored_are_not_compared():
    runs = count()

    def stamped(batches):
        ran, run = counting(batches), next(runs)
        return replace(ran, outputs={n: tuple({**row, "run": run} for row in out) for n, out in ran.outputs.items()})

    found, _, _ = verdicts(stamped)
    assert found["again"].verdict is Verdict.VIOLATED
    there = Toy(replace(COUNTS, columns=("user", "window", "n", "run")))
    found, _, _ = verdicts(stamped, there, ignore="run")
    assert {f.verdict for f in found.values()} <= {Verdict.HOLDS, Verdict.NOT_ASKED}
    report, _ = ask(there, declared(stamped, ignore="rum"), ALL)
    assert "ignore 'rum' is no column of the output; did you mean run?" in report.error


def test_an_aggregate_without_a_grouping_has_one_answer():
    ran = Ran({0: ({"n": 1},), 1: ({"n": 2},)})
    assert final(ran, "update", ONE_ANSWER) == ({"n": 2},)
    assert final(ran, "update", ()) == ({"n": 1}, {"n": 2})


def test_the_runs_of_a_question_say_what_they_are_judged_by():
    asked = first_round()
    assert {pair.about for pair in questions.pairs(questions.STATE, asked)} == {"state"}
    assert {pair.about for pair in questions.pairs(questions.ORDER, asked)} == {""}


def test_a_schema_of_spark_is_taken():
    class Type:
        def simpleString(self):
            return "string"

    field = SimpleNamespace(name="user", dataType=Type())
    (only,) = declared(counting, schema=SimpleNamespace(fields=[field]), time="", delay="").inputs.values()
    assert only.schema == "`user` string"
