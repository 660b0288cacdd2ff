"""Which reads and firings each law of named lists asks about, and what it says of them: on answers written by hand."""

import pytest
from handmade import run as _run

from conformance.model.values import canonical
from conformance.scenarios.calls.language import parsed, spelled
from conformance.scenarios.state import set_and_map_iteration, several_cells, state_collections, value_state
from conformance.scenarios.time import timer_calls


def told(scenario, claim, *seen):
    """What a guarantee says of one key, whose events do these calls in one bundle: (calls, what the reads gave)."""
    events = [(f"e{n}", "a", 2_000, did) for n, (did, _) in enumerate(seen)]
    emitted = []
    for n, (did, answers) in enumerate(seen):
        left = [*answers]
        gave = [left.pop(0) if call[1] in ("get", "items", "twice") else None for call in parsed(did)]
        emitted.append(("a", {"id": f"e{n}", "at": 2_000, "window": 0, "did": did, "gave": gave}, 1))
    (guarantee,) = (g for g in scenario.guarantees if g.claim.startswith(claim))
    return list(guarantee.predicate(_run([1_000, events, 90_000], *emitted)))


def test_the_lists_of_each_scenario_are_calls_that_are_read_as_they_are_spelled():
    for module in (set_and_map_iteration, several_cells, state_collections, value_state, timer_calls):
        for domain in module.SCENARIO.domain.values():
            assert all(spelled(parsed(text)) == text for text in domain.values)


GET, CLEAR, LIST = "cell get", "cell clear; cell get", 'cell set ["w"]; cell get'
CHANGE, LEND, EXTEND = (
    f"cell {what}; cell get" for what in ('change "changed"', 'lend ["w"] "changed"', 'extend "changed"')
)
W, CHANGED, NOTHING = ["w"], ["w", "changed"], "(nothing)"


@pytest.mark.parametrize(
    ("claim", "written", "against"),
    [
        ("a value cell gives the value last written", "a", "b"),
        ("a null that was written is told from nothing", None, NOTHING),
        ("an empty text, list or object, 0 and false", [], NOTHING),
        ("an empty text, list or object, 0 and false", 0, False),
        ("a value keeps its type", 1, 1.0),
        ("a value keeps its type", True, 1),
        ("a value keeps its type", 2**53 + 1, float(2**53)),
    ],
)
def test_what_was_written_is_held_against_what_is_read_in_that_call_and_later(claim, written, against):
    write = f"cell set {canonical(written)}; cell get"
    assert told(value_state.SCENARIO, claim, (write, [written]), (GET, [written])) == [True, True]
    (found,) = (f for f in told(value_state.SCENARIO, claim, (write, [against]), (CLEAR, [NOTHING])) if f is not True)
    assert found == f"key a: cell get gives {canonical(against)}, not {canonical(written)} after set"
    assert told(value_state.SCENARIO, claim, (CLEAR, ["x"])) == []


@pytest.mark.parametrize(
    ("claim", "seen", "found"),
    [
        ("an empty value cell gives its default", [(GET, [NOTHING]), (LIST, [[]])], [True]),
        ("an empty value cell gives its default", [(GET, [None])], [False]),
        ("a cleared value is gone", [(LIST, [W]), (CLEAR, [W]), (GET, [W])], [False, True]),
        ("a value that is changed after it was read", [(LIST, [W]), (CHANGE, [W]), (GET, [W])], [True, True]),
        ("a value that is changed after it was read", [(LIST, [W]), (CHANGE, [CHANGED]), (GET, [W])], [False, True]),
        ("a value that is changed after it was read", [(LIST, [W]), (CHANGE, [W]), (GET, [CHANGED])], [True, False]),
        ("a value that is changed after it was read", [(LIST, [W]), (CHANGE, [NOTHING])], [True]),
        ("a value that is changed after it was read", [(CHANGE, [NOTHING])], []),
        ("a value that is changed after it was written", [(LEND, [W]), (GET, [CHANGED])], [True, False]),
        (
            "a value that was read, changed and written",
            [(EXTEND, [["changed"]]), (EXTEND, [["changed"]])],
            [True, False],
        ),
    ],
)
def test_a_value_cell(claim, seen, found):
    assert [finding is True for finding in told(value_state.SCENARIO, claim, *seen)] == found


def cells(did, value=NOTHING, bag=(), entries=(), elements=(), total=0):
    gave = [value, [*bag], [[str(n), n] for n in entries], [*map(str, elements)], total]
    return did + several_cells.READS, gave


ONE, ADD_TWO = several_cells.ADD.format(1), several_cells.ADD.format(2)
FIRST = cells(ONE, 1, [1], [1], [1], 1)
OVER = "bag clear; bag add 70; bag add 60"


@pytest.mark.parametrize(
    ("claim", "seen", "found"),
    [
        ("cells that one event changes", [FIRST, cells(ADD_TWO, 2, [1, 2], [1, 2], [1, 2], 3)], [True, True]),
        ("cells that one event changes", [cells(ADD_TWO, 2, [2], [2], [2], 2)], [True]),
        ("cells that one event changes", [cells(ONE, 3, [1], [1], [1], 1)], [False]),
        ("cells that one event changes", [cells(ONE, 1, [1, 1], [1], [1], 1)], [False]),
        ("cells that one event changes", [cells(ONE, 1, [1], [2], [1], 1)], [False]),
        ("cells that one event changes", [cells(ONE, 1, [1], [1], [], 1)], [False]),
        ("cells that one event changes", [FIRST, cells("bag clear", 1, [], [1], [1], 1)], [True]),
        ("clearing one cell leaves", [FIRST, cells("bag clear", 1, [], [1], [1], 1)], [True] * 4),
        ("clearing one cell leaves", [FIRST, cells("bag clear", 1, [], [1], [1], 0)], [True, True, True, False]),
        ("a sum is that of all", [FIRST, cells(several_cells.ADD.format(-3), -3, [1, -3], total=-2)], [True, True]),
        ("a sum is that of all", [FIRST, cells("sum clear", 1), cells(ONE, 1, total=2)], [True, False]),
        ("a cleared sum is 0", [FIRST, cells("sum clear", 1)], [True]),
        ("a cleared sum is 0", [FIRST, cells("sum clear", 1, total=1)], [False]),
        ("a cleared sum is 0", [cells("sum clear")], []),
        ("a bag that is overwritten", [FIRST, cells(OVER, bag=[60, 70]), cells(ONE, bag=[1, 60, 70])], [True, True]),
        ("a bag that is overwritten", [FIRST, cells(OVER, bag=[1, 60, 70])], [False]),
        ("a bag that is overwritten", [FIRST, cells(OVER, bag=[60, 70]), cells("bag clear")], [True]),
        ("a cleared cell starts anew", [FIRST, cells("map clear"), cells(ADD_TWO, 2, entries=[2])], [True, True]),
        ("a cleared cell starts anew", [FIRST, cells("map clear"), cells(ADD_TWO, 2, entries=[1, 2])], [True, False]),
    ],
)
def test_several_cells(claim, seen, found):
    assert [finding is True for finding in told(several_cells.SCENARIO, claim, *seen)] == found


X, Y, EMPTIED = 'bag add "x"; bag get', 'bag add "y"; bag get', "bag clear; bag get"


@pytest.mark.parametrize(
    ("claim", "seen", "found"),
    [
        ("a bag holds every element", [(X, ["x"]), (Y, ["yx"]), (Y, ["xyy"])], [True, True, True]),
        ("a bag holds every element", [(X, ["x"]), (Y, ["y"]), (EMPTIED, ["y"])], [True, False]),
        ("a bag is read in the order", [(X, ["x"]), (Y, ["xy"]), (Y, ["yxy"])], [True, False]),
        ("a bag is read in the order", [(X, ["x"]), (X, ["xx"]), (Y, ["xyy"])], []),
        ("a cleared bag is empty", [(X, ["x"]), (EMPTIED, [""])], [True]),
        ("a cleared bag is empty", [(X, ["x"]), (EMPTIED, ["x"]), (Y, ["xy"])], [False]),
    ],
)
def test_a_bag(claim, seen, found):
    seen = [(did, [[*bag] for bag in answers]) for did, answers in seen]
    assert [finding is True for finding in told(state_collections.SCENARIO, claim, *seen)] == found


def of_map(did, x, entries, names=""):
    """The entry x as it is read by its name, and with all entries."""
    gave = [NOTHING if x is None else x, NOTHING, [[*entry] for entry in entries.items()], [*names]]
    return did + state_collections.READS, gave


PUT, AGAIN, GONE, NONE = (*state_collections.PUTS[:2], 'entries remove "x"', "entries clear; names clear")


@pytest.mark.parametrize(
    ("claim", "seen", "found"),
    [
        ("a map entry has the value", [of_map(PUT, 1, {"x": 1}), of_map(AGAIN, 2, {"x": 2})], [True] * 4),
        (
            "a map entry has the value",
            [of_map(PUT, 1, {"x": 1}), of_map(AGAIN, 1, {"x": 2})],
            [True, True, False, False],
        ),
        ("a map entry has the value", [of_map(PUT, None, {})], [False]),
        ("a map entry has the value", [of_map(PUT, 1, {})], [True, False]),
        ("a removed map entry is gone", [of_map(PUT, 1, {"x": 1}), of_map(GONE, None, {})], [True, True]),
        ("a removed map entry is gone", [of_map(PUT, 1, {"x": 1}), of_map(NONE, None, {"x": 1})], [True, False]),
        (
            "a removed map entry is gone",
            [of_map(PUT, 1, {"x": 1}), of_map(GONE, None, {}), of_map(PUT, 1, {})],
            [True] * 2,
        ),
        ("a set holds an element once", [of_map(PUT, 1, {}, "x"), of_map(AGAIN, 1, {}, "xx")], [True, False]),
        ("a set holds an element once", [of_map(PUT, 1, {}, "x"), of_map(NONE, 1, {}, "x")], [True, False]),
    ],
)
def test_a_map_and_a_set(claim, seen, found):
    assert [finding is True for finding in told(state_collections.SCENARIO, claim, *seen)] == found


A, ABC = set_and_map_iteration.puts(1, "a"), set_and_map_iteration.puts(4, "b", "a", "c")
RID, ALIKE = set_and_map_iteration.removes("a"), set_and_map_iteration.puts(5, "1", "1.0")


def gone_through(did, *entries, again=True, elements=()):
    return f"{did}; entries items; entries twice; names get", [[[*entry] for entry in entries], again, [*elements]]


FULL = gone_through(ABC, ("a", 4), ("b", 4), ("c", 4))


@pytest.mark.parametrize(
    ("claim", "seen", "found"),
    [
        ("going through a map gives every entry", [FULL], [True]),
        ("going through a map gives every entry", [gone_through(ABC, ("a", 4), ("b", 4), ("c", 5))], [True]),
        ("going through a map gives every entry", [gone_through(ABC, ("a", 4), ("b", 4))], [False]),
        ("going through a map gives every entry", [gone_through(A, ("a", 1), ("a", 1))], [False]),
        ("an overwritten entry", [gone_through(A, ("a", 1)), gone_through(A, ("a", 1))], [True]),
        ("an overwritten entry", [FULL, gone_through(A, ("a", 1), ("a", 4), ("b", 4), ("c", 4))], [False]),
        ("an overwritten entry", [FULL, gone_through(f"{RID}; {A}", ("a", 1), ("b", 4), ("c", 4))], []),
        (
            "an entry that was removed and put",
            [FULL, gone_through(f"{RID}; {A}", ("a", 1), ("b", 4), ("c", 4))],
            [True],
        ),
        ("an entry that was removed and put", [FULL, gone_through(RID), gone_through(A, ("a", 4))], [False]),
        ("removing an entry leaves", [FULL, gone_through(RID, ("b", 4), ("c", 4))], [True, True]),
        ("removing an entry leaves", [FULL, gone_through(RID, ("b", 4))], [True, False]),
        ("a map whose entries were all removed", [gone_through(A, ("a", 1)), gone_through(RID)], [True]),
        ("a map whose entries were all removed", [gone_through(A, ("a", 1)), gone_through(RID, ("a", 1))], [False]),
        ("going through a map twice", [gone_through(A, ("a", 1), again=False)], []),
        ("going through a map twice", [gone_through(ABC, *FULL[1][0], again=False)], [False]),
        ("entries whose names look alike", [gone_through(ALIKE, ("1", 5), ("1.0", 5))], [True, True]),
        ("entries whose names look alike", [gone_through(ALIKE, ("1", 5))], [False, True]),
        ("elements of a set that look alike", [gone_through(ALIKE, elements=["1", "1.0"])], [True, True]),
        ("elements of a set that look alike", [gone_through(ALIKE, elements=["1"])], [True, False]),
    ],
)
def test_an_iteration(claim, seen, found):
    assert [finding is True for finding in told(set_and_map_iteration.SCENARIO, claim, *seen)] == found


def fired(claim, calls, *times, end=90_000):
    """What a guarantee says of a timer that fired for these times. ``calls``: those of events 500 ms apart."""
    events = [(f"e{n}", "a", 2_000 + 500 * n, did) for n, did in enumerate(calls)]
    emitted = [("a", {"id": name, "at": at, "window": 0, "did": did, "gave": []}, 1) for name, _, at, did in events]
    emitted += [("a", {"timer": "one ", "fired": time, "window": 0, "did": "", "gave": []}, 2) for time in times]
    (guarantee,) = (g for g in timer_calls.SCENARIO.guarantees if g.claim.startswith(claim))
    return [finding is True for finding in guarantee.predicate(_run([1_000, events, end], *emitted))]


SOON, LATE, OFF = timer_calls.SOON, timer_calls.LATE, timer_calls.OFF


@pytest.mark.parametrize(
    ("claim", "calls", "times", "found"),
    [
        ("a timer that is set and cleared", [f"{SOON}; {OFF}"], [], [True]),
        ("a timer that is set and cleared", [f"{SOON}; {OFF}"], [5_000], [False]),
        ("a timer that is cleared and set", [f"{OFF}; {LATE}"], [11_000], [True]),
        ("a timer that is cleared and set", [f"{OFF}; {LATE}"], [11_000, 11_000], [False]),
        ("a timer that is cleared and set", [f"{OFF}; {LATE}", OFF], [], []),
        ("a timer that is set twice in one call fires once", [f"{LATE}; {SOON}"], [5_000, 11_000], [True]),
        ("a timer that is set twice in one call fires once", [f"{LATE}; {SOON}"], [11_000], [False]),
        ("a timer that is set twice in one call does not", [f"{LATE}; {SOON}"], [5_000, 11_000], [False]),
        ("a timer that is set twice in one call does not", [f"{SOON}; {LATE}"], [11_000], [True]),
        ("a timer that is moved to an earlier", [LATE, SOON], [5_500], [True]),
        ("a timer that is moved to an earlier", [LATE, SOON], [5_500, 11_000], [False]),
        ("a timer that is moved to a later", [LATE, SOON], [5_500], []),
        ("a timer that is moved to a later", [SOON, LATE], [5_000, 11_500], [False]),
        ("a timer that an event clears", [SOON, OFF], [], [True]),
        ("a timer that an event clears", [SOON, OFF], [5_000], [False]),
        ("a timer that an event clears", [OFF], [], []),
    ],
)
def test_calls_on_a_timer(claim, calls, times, found):
    assert fired(claim, calls, *times) == found


def test_a_timer_that_is_not_due_owes_nothing():
    assert fired("a timer that is cleared and set", [f"{OFF}; {LATE}"], end=10_999) == []
