"""Bugs of what comes out: when, under which key, how often, and whether it is whole."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from conformance.engines.case_run import CaseRun, TimerId
from conformance.engines.mutants.registry import bug
from conformance.model.program import Output
from conformance.model.schedule import Advance, Deliver
from conformance.model.trace import DRAIN, Emission


def _spoiled(value: Any) -> Any:
    """A value that came back broken."""
    return dict.fromkeys(value) if isinstance(value, dict) else None


class _Emissions(CaseRun):
    """What came out is changed when the case is over."""

    def run(self) -> None:
        super().run()
        self.emissions = self.changed(self.emissions)

    def changed(self, emissions: list[Emission]) -> list[Emission]:
        raise NotImplementedError


@bug("the last output of a case comes out at the end of the stream")
class LastOutputAtTheEndOfTheStream(_Emissions):
    def changed(self, emissions: list[Emission]) -> list[Emission]:
        return [*emissions[:-1], *(replace(e, step=DRAIN) for e in emissions[-1:])]


@bug("what the last advance makes due comes out at the end of the stream")
class LastAdvanceAtTheEndOfTheStream(_Emissions):
    def changed(self, emissions: list[Emission]) -> list[Emission]:
        last = self.case.schedule.steps[-1].id
        return [replace(e, step=DRAIN) if e.step == last else e for e in emissions]


@bug("all output comes out once more at the end of the stream")
class OutputAgainAtTheEndOfTheStream(_Emissions):
    def changed(self, emissions: list[Emission]) -> list[Emission]:
        return [*emissions, *(replace(e, step=DRAIN) for e in emissions)]


@bug("the first output of a case comes out again under a key that no element has")
class OutputUnderAKeyThatIsNone(_Emissions):
    def changed(self, emissions: list[Emission]) -> list[Emission]:
        return [*emissions, *(replace(e, key="\0none") for e in emissions[:1])]


@bug("output of timers comes out under the empty key")
class OutputOfTimersUnderTheEmptyKey(CaseRun):
    def fire(self, timer: TimerId, time: int) -> None:
        kept = len(self.emissions)
        super().fire(timer, time)
        self.emissions[kept:] = [replace(e, key="") for e in self.emissions[kept:]]


@bug("the last output of a case is lost")
class LastOutputLost(_Emissions):
    def changed(self, emissions: list[Emission]) -> list[Emission]:
        return emissions[:-1]


@bug("the first output of each key is lost")
class FirstOutputOfAKeyLost(_Emissions):
    def changed(self, emissions: list[Emission]) -> list[Emission]:
        seen: set[str] = set()
        return [e for e in emissions if e.key in seen or seen.add(e.key)]  # type: ignore[func-returns-value]


@bug("output that is null is lost")
class NullOutputLost(_Emissions):
    def changed(self, emissions: list[Emission]) -> list[Emission]:
        return [e for e in emissions if e.value is not None or e.error]


@bug("nothing comes out")
class NothingComesOut(_Emissions):
    def changed(self, emissions: list[Emission]) -> list[Emission]:
        return []


@bug("equal outputs of a key in a step come out once")
class EqualOutputsCollapse(_Emissions):
    def changed(self, emissions: list[Emission]) -> list[Emission]:
        found: list[Emission] = []
        for emission in emissions:
            if emission not in found:
                found.append(emission)
        return found


@bug("the output of a bundle comes out with the advance after it")
class OutputHeldForAnAdvance(_Emissions):
    def changed(self, emissions: list[Emission]) -> list[Emission]:
        steps = self.case.schedule.steps
        after = {s.id: next((a.id for a in steps if isinstance(a, Advance) and a.id > s.id), s.id) for s in steps}
        bundles = {bundle.id for bundle in self.case.schedule.bundles}
        return [replace(e, step=after[e.step]) if e.step in bundles else e for e in emissions]


@bug("the last output of each key is null")
class LastOutputOfAKeyIsNull(_Emissions):
    def changed(self, emissions: list[Emission]) -> list[Emission]:
        last = {e.key: number for number, e in enumerate(emissions)}
        return [replace(e, value=None) if last[e.key] == number else e for number, e in enumerate(emissions)]


@bug("fields of output whose name begins like another one's are lost")
class FieldsOfOutputLost(_Emissions):
    def changed(self, emissions: list[Emission]) -> list[Emission]:
        def kept(value: Any) -> Any:
            return dict(list(value.items())[:-1]) if isinstance(value, dict) and len(value) > 1 else value

        return [replace(e, value=kept(e.value)) for e in emissions]


@bug("texts in output are cut off after 20 characters")
class TextsInOutputCutOff(_Emissions):
    def changed(self, emissions: list[Emission]) -> list[Emission]:
        def cut(value: Any) -> Any:
            if isinstance(value, dict):
                return {name: cut(field) for name, field in value.items()}
            return value[:20] if isinstance(value, str) else value

        return [replace(e, value=cut(e.value)) for e in emissions]


@bug("numbers in output above 32,767 wrap around")
class NumbersInOutputWrapAround(_Emissions):
    def changed(self, emissions: list[Emission]) -> list[Emission]:
        def wrapped(value: Any) -> Any:
            if isinstance(value, dict):
                return {name: wrapped(field) for name, field in value.items()}
            if isinstance(value, int) and not isinstance(value, bool):
                return (value + 2**15) % 2**16 - 2**15
            return value

        return [replace(e, value=wrapped(e.value)) for e in emissions]


class _AfterARestart(CaseRun):
    """What comes out after the first restart is changed."""

    _has_restarted = False

    def restart(self) -> None:
        super().restart()
        self._has_restarted = True
        self._emitted_by_the_restart = len(self.emissions)

    def run(self) -> None:
        super().run()
        if self._has_restarted:
            self.emissions[self._emitted_by_the_restart :] = self.changed(
                self.emissions[self._emitted_by_the_restart :]
            )

    def changed(self, emissions: list[Emission]) -> list[Emission]:
        raise NotImplementedError


@bug("what comes out after a restart comes out twice")
class OutputAfterARestartTwice(_AfterARestart):
    def changed(self, emissions: list[Emission]) -> list[Emission]:
        return [emission for emission in emissions for _ in range(2)]


@bug("the first output after a restart is lost")
class FirstOutputAfterARestartLost(_AfterARestart):
    def changed(self, emissions: list[Emission]) -> list[Emission]:
        return emissions[1:]


@bug("the last output after a restart is lost, and the others are nulls")
class GarbageAfterARestart(_AfterARestart):
    def changed(self, emissions: list[Emission]) -> list[Emission]:
        return [replace(e, value=_spoiled(e.value)) for e in emissions[:-1]]


@bug("nothing comes out after a restart")
class NothingAfterARestart(_AfterARestart):
    def changed(self, emissions: list[Emission]) -> list[Emission]:
        return []


@bug("output after a restart comes out under the first key of the case")
class OutputAfterARestartUnderOneKey(_AfterARestart):
    def changed(self, emissions: list[Emission]) -> list[Emission]:
        return [replace(e, key=self.case.schedule.arrivals[0].event.key) for e in emissions]


@bug("what comes out after a failure that resumed is broken")
class GarbageAfterAResume(CaseRun):
    _has_resumed = False

    def fail_once(self, bundle: Deliver, resume: bool) -> None:
        super().fail_once(bundle, resume)
        self._has_resumed = self._has_resumed or resume

    def emit(self, key: str, outputs: list[Output]) -> None:
        super().emit(key, [replace(o, value=_spoiled(o.value)) for o in outputs] if self._has_resumed else outputs)


@bug("the output of the bundle that is tried again comes out after the next advance")
class OutputOfARetryHeld(CaseRun):
    _failed_bundle = -1

    def fail_once(self, bundle: Deliver, resume: bool) -> None:
        super().fail_once(bundle, resume)
        self._failed_bundle = bundle.id

    def run(self) -> None:
        super().run()
        after = next((a.id for a in self.case.schedule.advances if a.id > self._failed_bundle), self._failed_bundle)
        self.emissions = [replace(e, step=after) if e.step == self._failed_bundle else e for e in self.emissions]
