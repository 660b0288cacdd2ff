"""A user's DoFn within one that keeps cases apart.

Beam looks at the signatures of ``process`` and of the timer callbacks to see what to hand in, so the DoFn around the
user's has the same parameters with the same defaults; the state specs are the user's own. A TimerSpec takes one
callback (Beam 2.77.0), so timers get specs of their own with the same names.

Each case has an instance of the user's DoFn in each bundle, as its keys would share one if it ran alone: what the
user's code keeps in an attribute from one key to the next is then seen, and no case sees what another one left there.
"""

from __future__ import annotations

import inspect
import itertools
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import apache_beam as beam
from apache_beam.transforms import userstate
from apache_beam.transforms.timeutil import TimeDomain

from conformance.engines.beam.pipelines import sink
from conformance.engines.beam.pipelines.dofn import Emitted, Key, attempts, with_defaults
from conformance.engines.beam.ports.side import BeamPort
from conformance.engines.failing import SENTINEL
from conformance.model.program import Output
from conformance.model.schedule import Event

PARAM = type(beam.DoFn.KeyParam)
HANDED = (
    beam.DoFn.ElementParam,
    beam.DoFn.KeyParam,
    beam.DoFn.TimestampParam,
    beam.DoFn.WindowParam,
    beam.DoFn.PaneInfoParam,
    beam.DoFn.DynamicTimerTagParam,
)
"""What Beam hands to a DoFn beside state and timers. Other defaults are the user's own."""

_BUILT: dict[int, type] = {}
_bundles = itertools.count()


def _rebuild(number: int) -> Any:
    return _BUILT[number]()


class Refused(Exception):
    """A DoFn that cannot be run here; the message says why in one line."""


def build(ref: str, port: BeamPort) -> Any:
    """A DoFn for elements ((program, case, key), (step, event id, value)) that hands them to the user's.

    Raises:
        Refused: the user's DoFn has something that cannot be had here.
    """
    user = port.dofn()
    if not isinstance(user, beam.DoFn):
        raise Refused(f"dofn= made a {type(user).__name__}, not a DoFn")
    _, timers = userstate.get_dofn_specs(user)
    userstate.validate_stateful_dofn(user)
    if driven := sorted(spec.name for spec in timers if spec.time_domain != TimeDomain.WATERMARK):
        raise Refused(f"its timer {driven[0]!r} is of processing time, which the harness does not drive")
    specs = {spec: userstate.TimerSpec(spec.name, spec.time_domain) for spec in timers}
    number = len(_BUILT)

    class PortDoFn(_Around):
        make = staticmethod(port.dofn)

        def __reduce__(self) -> Any:
            return _rebuild, (number,)

        def sentinel(self, step: int) -> None:
            attempts.fail_first(step, number)

    first, given = _parameters(user.process, specs, "process")
    own = {parameter: default for parameter, default in given.items() if default is not beam.DoFn.ElementParam}
    elements = [parameter for parameter in given if parameter not in own]
    times = [parameter for parameter, default in own.items() if default is beam.DoFn.TimestampParam]
    wanted = own if times else {**own, "packed_time": beam.DoFn.TimestampParam}

    def process(self: Any, packed_element: Any, **handed: Any) -> Iterable[Emitted]:
        key, (step, event_id, value) = packed_element
        if key[0] == SENTINEL:
            self.sentinel(step)
            return ()
        sink.note(sink.Kind.HANDED, sink.Handed(number, self.bundle, key, step, event_id))
        time = handed[times[0] if times else "packed_time"]
        event = Event(event_id, key[2], value, time.micros // 1000)

        def call() -> Any:
            element = port.key(key[2]), port.element(event)
            more = _users(handed, own, key, port) | dict.fromkeys(elements, element)
            return self.of(key[1]).process(*([element] if first else []), **more)

        return _emitted(key, step, call, port.emission)

    members: dict[str, Any] = {}
    members["process"] = with_defaults(process, ["self", "packed_element"], wanted)
    for spec, mine in specs.items():
        members |= _callback(user, spec._attached_callback.__name__, mine, specs, port)
    _BUILT[number] = type(type(user).__name__, (PortDoFn,), members)
    return _BUILT[number]()


class _Around(beam.DoFn):
    """Makes and ends the user's DoFns, one a case, in a bundle. Subclasses ``make`` them."""

    make: Callable[[], Any]

    def start_bundle(self) -> None:
        attempts.touched.clear()
        self._users: dict[str, Any] = {}
        self.bundle = next(_bundles)

    def finish_bundle(self) -> None:
        for case, user in self._users.items():
            if any(True for _ in user.finish_bundle() or ()):
                raise Refused(f"[case {case}] its finish_bundle put something out, which belongs to no key")
            user.teardown()

    def of(self, case: str) -> Any:
        """The user's DoFn of a case, which is being called."""
        attempts.touched.add(case)
        if case not in self._users:
            user = self._users[case] = self.make()
            user.setup()
            user.start_bundle()
        return self._users[case]


def _callback(user: Any, name: str, spec: Any, specs: Mapping[Any, Any], port: BeamPort) -> dict[str, Any]:
    """The callback of a timer under the user's name for it."""
    _, given = _parameters(getattr(user, name), specs, name)
    keys = [parameter for parameter, default in given.items() if default is beam.DoFn.KeyParam]
    wanted = given if keys else {**given, "packed_key": beam.DoFn.KeyParam}

    def fired(self: Any, **handed: Any) -> Iterable[Emitted]:
        key = handed[keys[0] if keys else "packed_key"]

        def call() -> Any:
            return getattr(self.of(key[1]), name)(**_users(handed, given, key, port))

        return _emitted(key, None, call, port.emission)

    fired.__name__ = name
    return {name: userstate.on_timer(spec)(with_defaults(fired, ["self"], wanted))}


def _parameters(method: Any, specs: Mapping[Any, Any], name: str) -> tuple[bool, dict[str, Any]]:
    """Whether a method takes the element as its first argument, and its other parameters with their defaults, which
    name our timers instead of the user's."""
    found = list(inspect.signature(method).parameters.values())
    bare = [p for p in found if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    if len(bare) > (name == "process"):
        raise Refused(f"{name} takes {bare[-1].name!r} without a default; side inputs cannot be given here")
    defaults = {p.name: p.default for p in found if p.default is not p.empty}
    given: dict[str, Any] = {}
    for parameter, default in defaults.items():
        if isinstance(default, beam.DoFn.TimerParam):
            given[parameter] = beam.DoFn.TimerParam(specs[default.timer_spec])
        elif isinstance(default, beam.DoFn.StateParam) or any(default is each for each in HANDED):
            given[parameter] = default
        elif isinstance(default, PARAM) or (isinstance(default, type) and issubclass(default, PARAM)):
            raise Refused(f"{name} takes {parameter!r}, a {default!r}, which cannot be given here")
    return bool(bare), given


def _users(handed: Mapping[str, Any], own: Mapping[str, Any], key: Key, port: BeamPort) -> dict[str, Any]:
    """What was handed in, as the user's method is to see it."""
    found = {name: what for name, what in handed.items() if name in own}
    for name in found:
        if own[name] is beam.DoFn.KeyParam:
            found[name] = port.key(key[2])
        elif isinstance(own[name], beam.DoFn.TimerParam):
            found[name] = _Timer(found[name], key)
    return found


class _Timer:
    """Beam's timer for the user's code. It notes for which key the timer was set: Prism may hold the elements of such a
    key (Beam 2.77.0)."""

    def __init__(self, timer: Any, key: Key) -> None:
        self._timer, self._key = timer, key

    def __getattr__(self, name: str) -> Any:
        return getattr(self._timer, name)

    def set(self, *args: Any, **kwargs: Any) -> None:
        self._timer.set(*args, **kwargs)
        sink.note(sink.Kind.TIMER_SET, self._key)


def _emitted(
    key: Key, step: int | None, call: Callable[[], Iterable[Any] | None], emission: Callable[[Any], Any]
) -> Iterator[Emitted]:
    """What a call of the user's code puts out. Its exception ends the case, not the pipeline."""
    program, case, user_key = key
    try:
        for output in call() or ():
            value = emission(output)
            if value is not None:
                yield program, case, user_key, step, Output(json.loads(json.dumps(value)))
    except Exception as error:
        said = f"{type(error).__name__}: {error}".splitlines()[0]
        yield program, case, user_key, step, Output(None, None, said)
