"""Which release was it: from the list of an index to the two releases between which a witness answers otherwise."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conformance.comparison.bisect import CannotBisect, Flip, between, bisect, listed, released

VERSIONS = [f"1.{n}" for n in range(9)]


def test_an_index_lists_releases_in_order_without_previews_and_what_was_taken_back():
    names = ["pyspark-4.0.0.dev1.tar.gz", "pyspark-3.10.0.tar.gz", "pyspark-3.9.0.tar.gz", "pyspark-4.0.0.tar.gz"]
    files = [{"filename": name, "yanked": False} for name in names]
    files += [
        {"filename": "apache_beam-2.9.0-cp311-cp311-linux_x86_64.whl"},
        {"filename": "pyspark-4.0.1.zip", "yanked": "bad"},
    ]
    assert listed({"files": files}) == ["2.9.0", "3.9.0", "3.10.0", "4.0.0"]


def test_an_index_that_does_not_answer_is_one_line(monkeypatch):
    monkeypatch.setenv("UV_DEFAULT_INDEX", "http://127.0.0.1:1")
    with pytest.raises(CannotBisect, match=r"http://127\.0\.0\.1:1 does not say which releases pyspark has"):
        released("pyspark")


def test_the_releases_between_two_come_in_the_direction_asked_for():
    assert between(VERSIONS, "1.2", "1.5") == ["1.2", "1.3", "1.4", "1.5"]
    assert between(VERSIONS, "1.5", "1.2") == ["1.5", "1.4", "1.3", "1.2"]
    with pytest.raises(CannotBisect, match=r"there is no release 2\.0; the latest are .*1\.8"):
        between(VERSIONS, "1.0", "2.0")


@given(st.integers(1, 8), st.sets(st.integers(1, 7)))
def test_the_first_that_fails_is_found_whatever_gives_no_answer(first, silent):
    def fails(version):
        number = int(version[2:])
        return None if number in silent else number >= first

    flip = bisect(VERSIONS, fails)
    low, high = (int(version[2:]) for version in (flip.before, flip.after))
    assert low < first <= high
    assert [int(version[2:]) for version in flip.unanswered] == list(range(low + 1, high))
    assert silent.issuperset(range(low + 1, high))


@pytest.mark.parametrize(
    ("answers", "says"),
    [
        ({"1.0": True}, r"the witness fails in 1\.0"),
        ({"1.8": False}, r"the witness does not fail in 1\.8"),
        ({"1.8": None}, r"1\.8 gives no answer"),
    ],
)
def test_ends_that_are_not_as_they_should_be_are_told(answers, says):
    with pytest.raises(CannotBisect, match=says):
        bisect(VERSIONS, lambda version: answers.get(version, version == "1.8"))


def test_two_neighbours_need_no_search():
    assert bisect(["1", "2"], lambda version: version == "2") == Flip("1", "2", ())
