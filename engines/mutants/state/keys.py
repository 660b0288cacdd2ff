"""Bugs of whose state is whose: that of a key, of a window."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any
from unicodedata import normalize

from conformance.engines.case_run import CaseRun, Scope, TimerId
from conformance.engines.mutants.registry import bug
from conformance.model.program import Output
from conformance.model.schedule import Event


@bug("all keys share one state")
class StateSharedAcrossKeys(CaseRun):
    def cells(self, scope: Scope) -> Any:
        return super().cells(("", scope[1]))


@bug("all windows of a key share one state")
class StateSharedAcrossWindows(CaseRun):
    def scope(self, event: Event) -> Scope:
        return super().scope(event)[0], 0


class _KeyChanged(CaseRun):
    """Keeps state by a changed key."""

    def kept_by(self, key: str) -> str:
        raise NotImplementedError

    def cells(self, scope: Scope) -> Any:
        return super().cells((self.kept_by(scope[0]), scope[1]))


def as_number(key: str) -> str:
    """The number that a text stands for, as text; the text itself where it is none."""
    try:
        return str(float(key))
    except ValueError:
        return key


@bug("keys that are the same number share one state")
class KeysAsNumbers(_KeyChanged):
    def kept_by(self, key: str) -> str:
        return as_number(key)


@bug("keys that differ in blanks around them share one state")
class KeysTrimmed(_KeyChanged):
    def kept_by(self, key: str) -> str:
        return key.strip()


@bug("keys that differ in upper and lower case share one state")
class KeysCaseFolded(_KeyChanged):
    def kept_by(self, key: str) -> str:
        return key.casefold()


@bug("keys that are one text in Unicode's normal form share one state")
class KeysNormalised(_KeyChanged):
    def kept_by(self, key: str) -> str:
        return normalize("NFC", key)


@bug("keys with the same 4,096 characters at the start share one state")
class KeysCutOff(_KeyChanged):
    def kept_by(self, key: str) -> str:
        return key[:4_096]


@bug("keys that are the same up to a NUL share one state")
class KeysEndAtNul(_KeyChanged):
    def kept_by(self, key: str) -> str:
        return key.partition("\0")[0]


@bug("keys that are the same up to a slash share one state")
class KeysSplit(_KeyChanged):
    def kept_by(self, key: str) -> str:
        return key.partition("/")[0]


@bug("elements of the empty key are dropped")
class EmptyKeyLost(CaseRun):
    def refuses(self, event: Event) -> bool:
        return super().refuses(event) or not event.key


@bug("output comes out under the key in Unicode's normal form, without blanks around it")
class KeysComeBackNormalised(CaseRun):
    def emit(self, key: str, outputs: list[Output]) -> None:
        super().emit(normalize("NFC", key).strip(), outputs)


@bug("a timer's callback finds the state of the first key that has any")
class TimersSeeAnotherKey(CaseRun):
    def fire(self, timer: TimerId, time: int) -> None:
        first = next(iter(self.state), timer[:2])
        mine = self.state.get(timer[:2], {})
        self.state[timer[:2]] = copy.deepcopy(self.state.get(first, {}))
        super().fire(timer, time)
        self.state[timer[:2]] = mine


@bug("an element at the start of a window counts for the window before")
class WindowBoundaryOffByOne(CaseRun):
    def scope(self, event: Event) -> Scope:
        return super().scope(replace(event, event_time=max(event.event_time - 1, 0)))
