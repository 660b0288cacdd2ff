"""Checks of an adapter's declarations, and of how it opens and closes."""

import threading
from pathlib import Path

from conformance.model.engine import CannotRun, Capabilities, Engine
from conformance.model.feature import Feature, Support
from conformance.model.lateness import LatenessProfile
from conformance.testing.comparison import short
from conformance.testing.report import AdapterFault, told

GRACE = 2.0
"""Seconds that threads get to end after close()."""


def declarations(engine: Engine) -> None:
    """Raise AdapterFault where the engine's names or capabilities break the protocol."""
    for attribute in ("id", "title"):
        if not isinstance(found := getattr(engine, attribute, None), str) or not found.strip():
            raise AdapterFault(f"{attribute} is {found!r}; give the engine a name in words")
    can = getattr(engine, "capabilities", None)
    if not isinstance(can, Capabilities):
        raise AdapterFault(f"capabilities are {can!r}; make them a conformance.model.Capabilities")
    for feature in Feature:
        support = can.features.get(feature)
        if not isinstance(support, Support) or support.how not in ("native", "emulated", "unsupported"):
            raise AdapterFault(
                f"capabilities say {support!r} of {feature.value}; say NATIVE, emulated(how) or unsupported(reason)"
            )
        if support.how != "native" and not support.note.strip():
            raise AdapterFault(
                f"capabilities call {feature.value} {support.how} without a word; name the emulation, or give the "
                "reason and the version it was seen on"
            )
    if not isinstance(can.lateness, LatenessProfile):
        raise AdapterFault(f"capabilities.lateness is {can.lateness!r}; make it a LatenessProfile")
    for number in ("largest_pack", "parallel"):
        if type(found := getattr(can, number)) is not int or found < 1:
            raise AdapterFault(f"capabilities.{number} is {found!r}; it is a whole number above 0")


def opened(engine: Engine, folder: Path) -> None:
    """Open the engine. Raise AdapterFault if ``open`` raises something other than CannotRun."""
    try:
        engine.open(folder)
    except CannotRun:
        raise
    except Exception as error:
        raise AdapterFault(f"open() raised {told(error)}; raise CannotRun where something is missing") from error


def closed(engine: Engine, before: set[threading.Thread]) -> None:
    """Close the engine twice. Raise AdapterFault if ``close`` fails, or leaves a thread that did not run ``before``."""
    for time in ("", " a second time"):
        try:
            engine.close()
        except Exception as error:
            raise AdapterFault(
                f"close() raised {told(error)} when it was called{time}; let it end what runs, and otherwise do nothing"
            ) from error
    for thread in set(threading.enumerate()) - before:
        if not thread.daemon:
            thread.join(GRACE)
        if not thread.daemon and thread.is_alive():
            raise AdapterFault(
                f"close() left the thread {thread.name!r} running, and no process ends before it; end it, or make "
                "it a daemon"
            )


def environment(engine: Engine) -> None:
    """Raise AdapterFault where ``environment`` does not give names with words."""
    try:
        found = engine.environment()
    except Exception as error:
        raise AdapterFault(f"environment() raised {told(error)}") from error
    if not isinstance(found, dict) or not found:
        raise AdapterFault(f"environment() gave {short(found)}; give the version of the engine at least")
    for name, value in found.items():
        if not isinstance(name, str) or not isinstance(value, str) or not name.strip() or not value.strip():
            raise AdapterFault(f"environment() says {name!r}: {value!r}; give strings that are not empty")


def evidence(engine: Engine) -> None:
    """Raise AdapterFault where ``evidence`` speaks of a feature that the capabilities do not call unsupported."""
    try:
        found = engine.evidence()
    except Exception as error:
        raise AdapterFault(f"evidence() raised {told(error)}") from error
    if not isinstance(found, dict):
        raise AdapterFault(f"evidence() gave {short(found)}; give a dict from Feature to text")
    for feature, text in found.items():
        if not isinstance(feature, Feature) or engine.capabilities.features[feature].how != "unsupported":
            what = feature.value if isinstance(feature, Feature) else repr(feature)
            raise AdapterFault(
                f"evidence() speaks of {what}, which the capabilities do not call unsupported; leave it out"
            )
        if not isinstance(text, str) or not text.strip():
            raise AdapterFault(
                f"evidence() says {text!r} of {feature.value}; say what the engine answered, or leave the feature out"
            )
