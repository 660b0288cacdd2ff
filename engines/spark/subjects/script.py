"""A violation as a script of PySpark: two runs of the user's own function that must answer alike, and what they
answer."""

from __future__ import annotations

from collections.abc import Iterable
from inspect import getsourcefile, unwrap
from pathlib import Path
from typing import TYPE_CHECKING

from conformance.engines.scripts import others_in, path_from, values_of
from conformance.engines.spark.subjects.sinks import ATTEMPT, SINKS, retried, unchanged
from conformance.subjects.questions import OTHERS
from conformance.subjects.rows import rows_in
from conformance.subjects.scripts import filled
from conformance.subjects.setup import PLAIN, SHOWING

if TYPE_CHECKING:
    from conformance.subjects.questions import Pair
    from conformance.subjects.setup import Setup
    from conformance.subjects.subject import Subject

TEMPLATE = Path(__file__).with_name("script_template.py")

JUDGED = {
    "": ("None", "the two answers differ", "THE ANSWERS DIFFER", "the answers are the same"),
    "state": ("LEFT", "state is left of what the watermark has passed", "STATE IS LEFT", "no state is left"),
    "once": ("DROPPED", "rows are dropped that the watermark lets in", "ROWS ARE DROPPED", "no row is dropped"),
}
"""The question that a pair is about -> what is compared, and the words for this."""


def script(
    subject: Subject, pair: Pair, title: str, file: Path, out: Path, seen: tuple[str, bool], elsewhere: str
) -> str:
    """The script that the file ``out`` has; ``file`` has the user's function. ``seen``: the release, and whether the
    file needs a session while it is loaded. ``elsewhere`` is the release that a version before ran in, if it was
    another one."""
    version, early = seen
    setup = pair.varied.setup
    settings = {"spark.sql.session.timeZone": "UTC", "spark.sql.shuffle.partitions": "2", **subject.settings}
    key = subject.own_key
    closing = [row.values[key] for row in rows_in(pair.plain.delivery) if row.closing and key]
    not_compared = others_in(subject, pair).union(closing)
    before = subject.previous
    beside = {"restarts": pair.plain.setup.restarts, "begun": setup.begun}
    compared, fails, violated, held = JUDGED.get(pair.about, JUDGED[""])
    usage = f" PYTHON, where PYTHON is one with {elsewhere}: the first micro-batches run there" if elsewhere else ""
    values = values_of(subject, pair, file, out, _what(pair), nulls=False) | {
        "EARLY": repr(early),
        "PREVIOUS": repr(before and (_beside(before, file, out), before.name)),
        "SCHEMAS": repr({of: each.schema for of, each in subject.inputs.items()}),
        "MODE": repr(subject.output.mode),
        "OUTPUT_KEY": repr(list(subject.output.key)),
        "IGNORED": repr([*subject.output.ignored, *[ATTEMPT] * setup.retries]),
        "KEY": repr(key),
        "OWN_SINK": repr(subject.options.get("sink") is not None),
        "NOT_COMPARED": repr(sorted(not_compared)),
        "SETTINGS": repr(settings),
        "SETUP": _spelled(setup, elsewhere),
        "BESIDE": _setup(f"{name}={value!r}" for name, value in beside.items() if value),
        "COMPARED": compared,
        "VIOLATED": repr(violated),
        "HELD": repr(held),
    }
    title = f"{title}\n\nRun it: python {out.name}{usage}\nIt exits with 1 while {fails}. Seen on {version}."
    functions = [*[unchanged] * setup.through, *[SINKS[setup.sink]] * bool(setup.sink), *[retried] * setup.retries]
    return filled(TEMPLATE, title, values, functions)


def _spelled(setup: Setup, elsewhere: str) -> str:
    """How the second run is made, in the script's own words."""
    names = ("restarts", "fails", "breaks", "settings", "files", "bounded", "sparse", "goes_on")
    told = {name: getattr(setup, name) for name in names}
    words = [f"{name}={value!r}" for name, value in told.items() if value != getattr(PLAIN, name)]
    if setup.through:
        words.append(f"through={unchanged.__name__}")
    if setup.sink or setup.retries:
        words.append(f"sink={_sink(setup)}")
    if setup.begun:
        words += [f"begun={setup.begun}", f"by={'ELSEWHERE' if elsewhere else 'previous'}"]
    return _setup(words)


def _setup(words: Iterable[str]) -> str:
    return f"Setup({', '.join(words)})"


def _sink(setup: Setup) -> str:
    """What is done to a micro-batch, as a function in the script's own words."""
    does = SINKS[setup.sink].__name__
    if not setup.retries:
        return does
    return f"lambda frame: {does}(retried(frame))" if setup.sink else "retried"


def _beside(version: Subject, file: Path, out: Path) -> str:
    """The path of a version's file from the script's folder."""
    own = Path(getsourcefile(unwrap(version.function)) or file)
    return path_from(out, own)


def _what(pair: Pair) -> str:
    """What the second run has that the first has not, in a few words."""
    plain, varied = pair.plain, pair.varied
    setup = varied.setup
    said = (
        (setup.begun, f"the first {setup.begun} micro-batches by the version before"),
        (setup.bounded, "as a batch query"),
        (setup.sparse, "started for each micro-batch, and without a file for an input that has no row there"),
        (setup.restarts, f"restarted before micro-batch {', '.join(map(str, setup.restarts))}"),
        (setup.breaks > 0, f"its sink fails once before line {setup.breaks}, in a micro-batch with rows"),
        (setup.breaks == SHOWING, f"the first micro-batch with rows from {setup.fails} on fails once behind its sink"),
        (setup.fails is not None, f"micro-batch {setup.fails} fails once behind its sink"),
        (setup.settings, ", ".join(f"{name}={value}" for name, value in setup.settings.items())),
        (setup.through, "behind a query that changes no row"),
        (setup.retries, "each task fails once behind its last row, and is tried again"),
        (setup.goes_on, "with a trigger by processing time"),
        (setup.sink, setup.sink),
        (setup.files > 1, f"{setup.files} files a micro-batch"),
        (pair.about == OTHERS.id, "with rows that have other keys"),
        (plain.delivery != varied.delivery, "delivered otherwise"),
    )
    return next((words for is_so, words in said if is_so), "once more")
