"""Bugs of whose state is whose: that of a key, of a window."""

import copy
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any
from unicodedata import normalize

from conformance.engines.case_run import CaseRun, Scope, TimerId
from conformance.engines.mutants.registry import bug_of, family
from conformance.model.program import Output
from conformance.model.schedule import Event


@bug_of(CaseRun.cells, "all keys share one state")
def state_shared_across_keys(run: CaseRun, scope: Scope) -> Any:
    return CaseRun.cells(run, ("", scope[1]))


@bug_of(CaseRun.scope, "all windows of a key share one state")
def state_shared_across_windows(run: CaseRun, event: Event) -> Scope:
    return CaseRun.scope(run, event)[0], 0


class _KeyChanged(CaseRun):
    """Keeps state by a changed key."""

    change: Callable[[str], str]

    def cells(self, scope: Scope) -> Any:
        return super().cells((self.change(scope[0]), scope[1]))


kept_by = family(__name__, _KeyChanged)


def as_number(key: str) -> str:
    """The number that a text stands for, as text; the text itself where it is none."""
    try:
        return str(float(key))
    except ValueError:
        return key


kept_by("KeysAsNumbers", "keys that are the same number share one state", as_number)
kept_by("KeysTrimmed", "keys that differ in blanks around them share one state", str.strip)
kept_by("KeysCaseFolded", "keys that differ in upper and lower case share one state", str.casefold)
kept_by("KeysNormalised", "keys that are one text in Unicode's normal form share one state", partial(normalize, "NFC"))
kept_by("KeysCutOff", "keys with the same 4,096 characters at the start share one state", lambda key: key[:4_096])
kept_by("KeysEndAtNul", "keys that are the same up to a NUL share one state", lambda key: key.partition("\0")[0])
kept_by("KeysSplit", "keys that are the same up to a slash share one state", lambda key: key.partition("/")[0])


@bug_of(CaseRun.refuses, "elements of the empty key are dropped")
def empty_key_lost(run: CaseRun, event: Event) -> bool:
    return CaseRun.refuses(run, event) or not event.key


@bug_of(CaseRun.emit, "output comes out under the key in Unicode's normal form, without blanks around it")
def keys_come_back_normalised(run: CaseRun, key: str, outputs: list[Output]) -> None:
    CaseRun.emit(run, normalize("NFC", key).strip(), outputs)


@bug_of(CaseRun.fire, "a timer's callback finds the state of the first key that has any")
def timers_see_another_key(run: CaseRun, timer: TimerId, time: int) -> None:
    first = next(iter(run.state), timer[:2])
    mine = run.state.get(timer[:2], {})
    run.state[timer[:2]] = copy.deepcopy(run.state.get(first, {}))
    CaseRun.fire(run, timer, time)
    run.state[timer[:2]] = mine


@bug_of(CaseRun.scope, "an element at the start of a window counts for the window before")
def window_boundary_off_by_one(run: CaseRun, event: Event) -> Scope:
    return CaseRun.scope(run, replace(event, event_time=max(event.event_time - 1, 0)))
