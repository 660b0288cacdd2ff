"""A violation as a script of Beam: two runs of the user's own function that must answer alike, and what they answer."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from conformance.engines.scripts import others_in, values_of
from conformance.subjects.questions import OTHERS
from conformance.subjects.scripts import filled

if TYPE_CHECKING:
    from conformance.subjects.questions import Pair
    from conformance.subjects.subject import Subject

FNAPI, PRISM = "FnApiRunner", "PrismRunner"

TEMPLATE = Path(__file__).with_name("script_template.py")


def script(subject: Subject, pair: Pair, title: str, file: Path, out: Path, seen: tuple[str, bool]) -> str:
    """The script that the file ``out`` has; ``file`` has the user's function. ``seen``: the release, and whether the
    subject's timers go by the clock."""
    from conformance.engines.beam.runners import prism_binary
    from conformance.engines.beam.subjects.looking import MAIN
    from conformance.engines.beam.subjects.sink import key_of_pairs, output_key
    from conformance.engines.beam.subjects.through import unchanged
    from conformance.model.types import Timestamp

    version, clock = seen
    setup = pair.varied.setup
    told = {name: repr(value) for name in ("where", "bounded") if (value := getattr(setup, name))}
    told |= {"through": unchanged.__name__} if setup.through else {}
    what = setup.where or ("bounded input" if setup.bounded else "delivered otherwise")
    what = "with rows that have other keys" if pair.about == OTHERS.id else what
    what = "behind transforms that change nothing" if setup.through else what
    what = "with rows whose windows have expired" if setup.passed else what
    moments = {
        of: [column.name for column in each.columns if isinstance(column.type, Timestamp)]
        for of, each in subject.inputs.items()
    }
    last = subject.output.key or output_key(subject)
    values = values_of(subject, pair, file, out, what, nulls=True) | {
        "INPUTS": repr(list(subject.inputs)),
        "MOMENTS": repr(moments),
        "TIMES": repr({of: each.time for of, each in subject.inputs.items()}),
        "DELAY": repr(None if subject.delay is None else subject.delay / 1_000),
        "CLOCK": repr(clock),
        "KEY": repr(key_of_pairs(subject)),
        "PRISM_AT": repr(str(prism_binary.find() or "")),
        "NOT_COMPARED": repr(sorted(others_in(subject, pair))),
        "MAIN": repr(MAIN),
        "SETUP": "{" + ", ".join(f"{name!r}: {value}" for name, value in told.items()) + "}",
        "LAST": repr(list(last) if subject.output.mode == "update" else []),
    }
    title = f"""{title}

Run it: python {out.name}
It exits with 1 while the two answers differ. Seen on {version}.
On Prism, an option such as --prism_location=PATH names another binary; where there is none, Beam downloads one."""
    return filled(TEMPLATE, title, values, [unchanged] * setup.through)
