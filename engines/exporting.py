"""What the formats of exports share: the file's head, the program's source, the rows, and the test.

An export is one Python file that needs the engine's framework alone. It holds the program of a witness as it stands in
its scenario, the schedule, what the executable specification put out, and what the engine put out.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Collection, Container, Iterable, Sequence
from datetime import date, datetime
from typing import Any, NamedTuple

from conformance.model.export import CannotExport, Difference, Exportable, rows
from conformance.model.keys import TypedKey
from conformance.model.program import FixedWindows
from conformance.model.schedule import Advance, Deliver, Restart, Step
from conformance.model.types import shown
from conformance.model.values import Json, canonical
from conformance.plugins.inlined import Inlined

WIDTH = 110

KEY_IMPORTS = ("from datetime import date, datetime, timezone", "from decimal import Decimal")

NOTES = {
    "KEYS": "\n# What the names of keys stand for, and what each key is shown as.\n",
    "STEPS": "\n# The watermark moves to a time (ms since the epoch), rows arrive: (id, key, value, event time in ms), "
    "or the job restarts.\n",
    "EXPECTED": "\n# What comes out, as rows: key, value.\n",
}

STEP_NOTES = {"EXPECTED": "\n# What comes out, as rows: number of the step in STEPS, from 0, key, value.\n"}

RESERVED = frozenset(
    {"CLAIM", "STEPS", "EXPECTED", "OBSERVED", "PROGRAM", "Event", "Timer", "outputs", "compared", "run"}
    | {"before", "behind", "session", "KEYS", "NAMES", "KEYED", "Key", "named", "typed", "literal", "handed"}
)

SHARED = '''
Event = namedtuple("Event", "id key value event_time")
Timer = namedtuple("Timer", "name tag key time")


def outputs(callback, subject, *given):
    """The rows that a callback of the program emits: key, value, and the event time where it gives one."""
    found = []
    callback(subject, *given, lambda value, *time: found.append([subject.key, value, *time]))
    return found
'''

NAMED = '''
def named(key):
    """The name of a key that was handed over, or what the key is shown as, if no key is."""
    told = canonical(shown(key))
    return NAMES.get(told, told)
'''

IN_ANY_ORDER = '''
def compared(rows):
    """Rows in no order."""
    return sorted(json.dumps(row, sort_keys=True) for row in rows)
'''

IN_ORDER = '''
def compared(rows):
    """The rows of each key, in order."""
    return {row[0]: [json.dumps(other, sort_keys=True) for other in rows if other[0] == row[0]] for row in rows}
'''

TEST = """
def {name}():
    found = run()
    same = "as when this file was written" if found == OBSERVED else "otherwise than when this file was written"
    assert compared(found) == compared(EXPECTED), (
        f"{{CLAIM}}\\n  expected: {{EXPECTED}}\\n  observed: {{found}}, {{same}}"
    )


if __name__ == "__main__":
    {name}()
    print("holds:", CLAIM)
"""

OBSERVED_TEST = """
def {name}():
    found = run()
    assert compared(found) == compared(OBSERVED), f"{{CLAIM}}\\n  until now: {{OBSERVED}}\\n  observed: {{found}}"


if __name__ == "__main__":
    {name}()
    print("as it was:", CLAIM)
"""


def plans_of(asked: Exportable, there: Container[str]) -> tuple[str, ...]:
    """The plans of the case, none for the plain query. Raises CannotExport for a plan that is not ``there``."""
    plans = asked.case.schedule.plans
    if lacking := [plan for plan in plans if plan not in there]:
        raise CannotExport(f"witness {asked.witness} needs the plan {lacking[0]}, which exports do not have")
    return plans


def steps(asked: Exportable) -> list[tuple[str, Any]]:
    """The schedule as rows: ("watermark", ms), ("rows", [(id, key, value, event time in ms)]), or ("restart", None)."""
    found: list[tuple[str, Any]] = []
    for step in asked.case.schedule.steps:
        if isinstance(step, Advance):
            found.append(("watermark", step.watermark))
        elif isinstance(step, Deliver):
            found.append(("rows", [(e.id, e.key, e.value, e.event_time) for e in step.events]))
        elif isinstance(step, Restart):
            found.append(("restart", None))
    return found


def filled(text: str, asked: Exportable) -> str:
    """A text with the numbers that the program depends on in the place of their names in braces: its parameters, and
    the ``size`` and the ``lateness`` of its windows, all in ms."""
    windowing, numbers = asked.program.windowing, dict[str, Json](asked.program.parameters)
    if isinstance(windowing, FixedWindows):
        numbers |= {"size": windowing.size, "lateness": windowing.allowed_lateness}
    for name, value in numbers.items():
        text = text.replace(f"{{{name}}}", str(value))
    return text


class Source(NamedTuple):
    """What a file has beside the witness.

    Attributes:
        needs: what to install, for pip.
        imports: lines that ``operator`` needs.
        used: classes and functions whose source ``operator`` needs.
        operator: source that defines ``run()``, which gives the rows that come out. It may use PROGRAM, STEPS and
            ``SHARED``.
    """

    needs: str
    imports: Iterable[str]
    used: Collection[Any]
    operator: str


def file_of(
    asked: Exportable,
    source: Source,
    others: tuple[type[Step], ...] = (),
    *,
    by_step: bool = False,
    program: bool = True,
) -> str:
    """The text of an export.

    Args:
        others: the steps that it takes beside bundles and advances.
        by_step: whether ``run()`` gives each row behind the number of its step where ``asked.difference`` is the steps.
        program: whether the file has the program. A native operator does a program's job without it.

    Raises:
        CannotExport: the witness does not fit.
    """
    asked.check_steps(others)
    inlined = Inlined()
    difference = asked.difference
    if difference is Difference.STEPS and not by_step:
        raise CannotExport(
            f"witness {asked.witness}: only the steps differ in which {asked.engine} put its rows out, and no file "
            "for it shows steps"
        )
    if program:
        inlined.add(type(asked.program))
    definitions = list(inlined.definitions)
    if taken := RESERVED & inlined.names:
        raise CannotExport(
            f"witness {asked.witness}: its program defines {min(taken)}, a name that the file source.needs itself"
        )
    keys = asked.typed_keys
    for each in (*source.used, *((shown, canonical) if keys else ())):
        inlined.add(each)
    versions = ", ".join(f"{name} {version}" for name, version in asked.versions.items())
    head = textwrap.fill(
        f"What this file shows: {asked.message}. Found on {asked.engine} ({versions}) by the scenario "
        f"{asked.scenario!r} of the project "
        f"conformance, as its witness {asked.witness}. EXPECTED is what that project's executable specification "
        "puts out."
        + " The test passes as long as the engine puts out OBSERVED." * asked.observed
        + f" {asked.stands_for}" * bool(asked.stands_for)
        + " The claim is about two schedules; this is the one on which the output is not the expected one."
        * asked.one_of_two
        + _around(asked.case.schedule.plans),
        WIDTH,
    )
    imports = (*source.imports, *(KEY_IMPORTS if keys else ()))
    lines = {"import json", *["from collections import namedtuple"] * program, *imports, *inlined.imports}
    lines -= {"from __future__ import annotations"}
    told = asked.by_step if difference is Difference.STEPS else rows
    data = {
        "CLAIM": asked.claim,
        "STEPS": steps(asked),
        "EXPECTED": told(asked.specified),
        "OBSERVED": told(asked.seen),
    }
    listed = {name: _listed(value) for name, value in data.items()}
    notes = NOTES | (STEP_NOTES if difference is Difference.STEPS else {})
    if keys:
        kind, values = keys
        names = [{canonical(TypedKey(kind, v).spellings[place]): n for n, v in values.items()} for place in (1, 0)]
        entries = "".join(f"    {name!r}: {_source(value)},\n" for name, value in values.items())
        listed |= {"KEYS": f"{{\n{entries}}}", "NAMES": repr(names[0] | names[1])}
    shared = SHARED.replace("[subject.key,", "[named(subject.key),") + NAMED if keys else SHARED
    parts = [
        f'"""{_plain(asked.claim)}\n\n{_plain(head)}\n\nIt needs: pip install {source.needs}\n"""',
        "from __future__ import annotations\n\n"
        + "\n".join(sorted(lines, key=lambda line: (line.split()[0] == "from", line))),
        "\n".join(f"{notes.get(name, '')}{name} = {value}" for name, value in listed.items()),
        *(_of_program(asked, definitions, shared) if program else ()),
        *inlined.definitions[len(definitions) :],
        source.operator.strip(),
        (IN_ORDER if difference is Difference.ORDER else IN_ANY_ORDER).strip(),
        (OBSERVED_TEST if asked.observed else TEST).format(name=asked.test_name).strip(),
    ]
    return "\n\n\n".join(parts) + "\n"


def _around(plans: Sequence[str]) -> str:
    """What the head of a file says of the plans of its query."""
    if not plans:
        return ""
    several, named = "s" * (len(plans) > 1), ", ".join(map(repr, plans))
    return f" The claim is about two queries; this is the one with the plan{several} {named} around its operator."


def _of_program(asked: Exportable, definitions: list[str], shared: str) -> list[str]:
    return [
        "# The program.\n\n" + definitions[0],
        *definitions[1:],
        f"PROGRAM = {type(asked.program).__name__}()",
        "# The program on the engine's own state and timers.\n\n" + shared.strip(),
    ]


def _listed(value: Any) -> str:
    """A value as source: each item of a list on a line of its own."""
    if not isinstance(value, list) or not value:
        return repr(value)
    return "[\n" + "".join(f"    {item!r},\n" for item in value) + "]"


def _source(value: Any) -> str:
    """The source of a key's value."""
    if isinstance(value, tuple):
        return f"({', '.join(map(_source, value))},)"
    if isinstance(value, float) and (math.isnan(value) or math.isinf(value)):
        return f'float("{value}")'
    if isinstance(value, datetime):
        return f"datetime.fromisoformat({value.isoformat()!r})"
    if isinstance(value, date):
        return f"date.fromisoformat({value.isoformat()!r})"
    return repr(value)


def _plain(text: str) -> str:
    """Text that can stand in a docstring."""
    return text.replace("\\", "/").replace('"""', "'''")
