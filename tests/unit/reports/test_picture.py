"""The picture of a case says what its text says."""

from itertools import pairwise
from xml.etree import ElementTree

import pytest
from hostile import EVIL, SCHEDULE, TRACE

from conformance.model.case import Case
from conformance.model.equivalence import Equivalence
from conformance.model.schedule import Advance, Deliver, Event, FailOnce, Partitions, Restart, Schedule
from conformance.model.trace import DRAIN, Emission, Trace
from conformance.reports.page import picture
from conformance.reports.page.panels import Panel, beside, panels, replayed
from conformance.results.witness import Witness, read_witnesses

ON_TIME, AT, LATE = Event("e1", "a", None, 1_001), Event("e2", "a", None, 1_000), Event("e3", "b", None, 999)
STEPS = Schedule((Advance(0, 1_000), Deliver(1, (ON_TIME, AT, LATE)), Advance(2, 9_000)))


def emitted(*found):
    return Trace(tuple(Emission(key, value, step) for key, value, step in found))


def drawn(panel):
    return ElementTree.fromstring(picture.inline(panel))


def marks(image, kind):
    """What the tooltips of marks of a kind say."""
    return [element.findtext("title") for element in image if element.get("class") == kind]


def texts(image):
    return [element.text for element in image.iter("text")]


def test_an_event_is_drawn_as_it_met_the_watermark():
    image = drawn(Panel("here", STEPS, Trace(())))
    assert [len(marks(image, kind)) for kind in ("on-time", "at", "late")] == [1, 1, 1]
    assert marks(image, "late")[0].startswith("e3, key b, at 999 ms")
    height = {kind: float(next(e for e in image if e.get("class") == kind).get("cy")) for kind in ("on-time", "at")}
    assert height["on-time"] < height["at"], "later event times are higher up"


def test_outputs_of_bundles_and_of_advances_look_different():
    image = drawn(Panel("here", STEPS, emitted(("a", {"count": 1}, 1), ("a", {"closed": "x"}, 2), ("a", 7, DRAIN))))
    assert marks(image, "output") == ["count 1"]
    assert marks(image, "fired") == ["closed x"]
    assert marks(image, "drained") == ["7"]
    assert "end of stream" in texts(image)


def test_a_program_that_stopped_is_marked():
    trace = Trace((Emission("a", None, 1, None, "ValueError: no"),))
    assert marks(drawn(Panel("here", STEPS, trace)), "stopped") == ["stopped: ValueError: no"]


def test_every_kind_of_step_is_named():
    schedule = Schedule(
        (
            Partitions(0, 3),
            Advance(1, 1_000),
            Deliver(2, (ON_TIME,)),
            Restart(3),
            FailOnce(4),
            Deliver(5, (AT,)),
            FailOnce(6, True),
            Deliver(7),
            Advance(8, 2_000, True),
            Deliver(9, (LATE,)),
            Advance(10, 9_000),
        )
    )
    said = texts(drawn(Panel("here", schedule, Trace(()))))
    for name in (
        "3 partitions",
        "restart",
        "next fails once",
        "next fails, resumed",
        "empty bundle",
        "advance, coalesced",
    ):
        assert name in said


def test_the_first_difference_is_marked_on_both_sides():
    """Where one gave nothing, a box says so."""
    left = Panel("left", STEPS, emitted(("a", 1, 1), ("b", 5, 1)))
    right = Panel("right", STEPS, emitted(("a", 1, 1), ("a", 2, 2), ("b", 5, 1)))
    one, two = beside(left, right)
    assert one.lacks == (2, "a")
    assert two.differs == Emission("a", 2, 2)
    assert "nothing" in texts(drawn(one))
    assert all(len(marks(drawn(panel), "differs")) == 1 for panel in (one, two))
    assert "first difference: key a gave nothing in step 2" in drawn(one).get("aria-label")
    assert "first difference: key a gave 2" in drawn(two).get("aria-label")


def test_alike_up_to_what_was_promised_is_not_marked():
    left = Panel("left", STEPS, emitted(("a", 1, 1), ("a", 2, 1)))
    right = Panel("right", STEPS, emitted(("a", 2, 1), ("a", 1, 1)))
    marked = {how: beside(left, right, how)[0].differs for how in Equivalence}
    assert marked[Equivalence.IDENTICAL] == marked[Equivalence.SAME_SEQUENCE] == Emission("a", 1, 1)
    assert marked[Equivalence.SAME_MULTISET] is None
    assert marked[Equivalence.SAME_FINAL_VALUE] == Emission("a", 2, 1)


@pytest.fixture
def witness():
    case = Case("s", "p", SCHEDULE)
    return Witness("g", EVIL, case, None, "spark-tws", {"spark": EVIL}, EVIL, TRACE, Trace(()))


def test_a_picture_alone_is_a_whole_document_with_a_legend(witness):
    """Well-formed whatever the texts are; colours of its own."""
    text = picture.document(panels(witness))
    image = ElementTree.fromstring(text)
    assert "\x07" not in text
    assert "{http://www.w3.org/2000/svg}script" not in {element.tag for element in image.iter()}
    assert len([e for e in image if e.get("role") == "img"]) == 2
    assert {text for _, text in picture.LEGEND} <= {e.text for e in image.iter("{http://www.w3.org/2000/svg}text")}


def test_a_replay_on_several_engines_is_drawn_beside_the_reference(witness):
    seen = {"one": {witness.case.id: TRACE}, "two": {witness.case.id: Trace(())}, "none": {}}
    found = replayed(witness, seen)
    assert [panel.title for panel in found] == ["on one", "on two", "on the reference"]
    assert found[0].differs
    assert found[2].lacks


def test_where_the_reference_gives_something_else_for_a_twin_it_is_drawn_too(witness):
    twin = Case("s", "p", SCHEDULE, "split", witness.case.id)
    pair = Witness("g", "", twin, witness.case, "e", {}, "", Trace(()), TRACE, base_seen=TRACE)
    assert [panel.title for panel in panels(pair)][2] == "its twin, on the reference"


def test_twins_are_drawn_beside_each_other(witness):
    twin = Case("s", "p", SCHEDULE, "split", witness.case.id)
    pair = Witness("g", "", twin, witness.case, "e", {}, "", TRACE, TRACE, base_seen=Trace(()))
    titles = ["the base, on e", "its twin (split), on e"]
    assert [panel.title for panel in panels(pair)] == titles
    assert [panel.title for panel in replayed(pair, {"e": {twin.id: TRACE, witness.case.id: TRACE}})] == titles


def test_pictures_of_the_stored_witnesses_fit_a_small_screen():
    """A phone of 320 px shows 480 px between its bars. A picture is never shrunk: a wide one scrolls."""
    from pathlib import Path

    found = read_witnesses(Path(__file__).parents[3] / "witnesses")
    assert all(int(drawn(panel).get("height")) <= 480 for witness in found for panel in panels(witness))


@pytest.mark.parametrize("count", [1, 8, 9, 40])
def test_labels_of_event_times_do_not_meet(count):
    events = tuple(Event(f"e{n}", "a", None, 1000 + n) for n in range(count))
    schedule = Schedule((Advance(0, 1000), Deliver(1, events), Advance(2, 2000)))
    image = drawn(Panel("", schedule, Trace(())))
    labels = next(e for e in image if e.get("class") == "small" and e.get("text-anchor") == "end")
    places = sorted(float(text.get("y")) for text in labels)
    assert all(later - earlier >= 13 for earlier, later in pairwise(places))
