"""What the formats of exports share: the file's head, the program's source, the rows, and the test.

An export is one Python file that needs the engine's framework alone. It holds the program of a witness as it stands in its scenario, the
schedule, what the executable specification put out, and what the engine put out.
"""

from __future__ import annotations

import textwrap
from collections.abc import Collection, Container, Iterable
from typing import Any

from conformance.model.export import CannotExport, Exportable, rows
from conformance.model.schedule import Advance, Deliver, Restart, Step
from conformance.plugins.inlined import Inlined

WIDTH = 110

NOTES = {
    "STEPS": "\n# The watermark moves to a time (ms since the epoch), rows arrive: (id, key, value, event time in ms), or the job restarts.\n",
    "EXPECTED": "\n# What comes out, as rows: key, value.\n",
}

RESERVED = frozenset(
    {"CLAIM", "STEPS", "EXPECTED", "OBSERVED", "PROGRAM", "Event", "Timer", "outputs", "compared", "run"}
    | {"before", "behind", "session"}
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
    assert compared(found) == compared(EXPECTED), f"{{CLAIM}}\\n  expected: {{EXPECTED}}\\n  observed: {{found}}, {{same}}"


if __name__ == "__main__":
    {name}()
    print("holds:", CLAIM)
"""


def plan_of(asked: Exportable, there: Container[str]) -> str:
    """The plan of the case, "" for none. Raises CannotExport for a plan that is not ``there``."""
    plan = asked.case.schedule.plan
    if plan and plan not in there:
        raise CannotExport(f"witness {asked.witness} needs the plan {plan}, which exports do not have")
    return plan


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


def file_of(
    asked: Exportable,
    needs: str,
    imports: Iterable[str],
    used: Collection[Any],
    operator: str,
    others: tuple[type[Step], ...] = (),
) -> str:
    """The text of an export.

    Args:
        needs: what to install, for pip.
        imports: lines that ``operator`` needs.
        used: classes and functions whose source ``operator`` needs.
        operator: source that defines ``run()``, which gives the rows that come out. It may use PROGRAM, STEPS and ``SHARED``.
        others: the steps that it takes beside bundles and advances.

    Raises:
        CannotExport: the witness does not fit.
    """
    asked.check_steps(others)
    inlined = Inlined()
    in_order = asked.compared_in_order
    inlined.add(type(asked.program))
    program = list(inlined.definitions)
    if taken := (RESERVED | {each.__name__ for each in used}) & inlined.names:
        raise CannotExport(
            f"witness {asked.witness}: its program defines {min(taken)}, a name that the file needs itself"
        )
    for each in used:
        inlined.add(each)
    versions = ", ".join(f"{name} {version}" for name, version in asked.versions.items())
    head = textwrap.fill(
        f"What this file shows: {asked.message}. Found on {asked.engine} ({versions}) by the scenario {asked.scenario!r} of the project "
        f"conformance, as its witness {asked.witness}. EXPECTED is what that project's executable specification puts out."
        + " The claim is about two schedules; this is the one on which the output is not the expected one."
        * asked.one_of_two
        + f" The claim is about two queries; this is the one with the plan {asked.case.schedule.plan!r} around its operator."
        * bool(asked.case.schedule.plan),
        WIDTH,
    )
    lines = {"import json", "from collections import namedtuple", *imports, *inlined.imports}
    lines -= {"from __future__ import annotations"}
    data = {
        "CLAIM": asked.claim,
        "STEPS": steps(asked),
        "EXPECTED": rows(asked.specified),
        "OBSERVED": rows(asked.seen),
    }
    parts = [
        f'"""{_plain(asked.claim)}\n\n{_plain(head)}\n\nIt needs: pip install {needs}\n"""',
        "from __future__ import annotations\n\n"
        + "\n".join(sorted(lines, key=lambda line: (line.split()[0] == "from", line))),
        "\n".join(f"{NOTES.get(name, '')}{name} = {_listed(value)}" for name, value in data.items()),
        "# The program.\n\n" + program[0],
        *program[1:],
        f"PROGRAM = {type(asked.program).__name__}()",
        "# The program on the engine's own state and timers.\n\n" + SHARED.strip(),
        *inlined.definitions[len(program) :],
        operator.strip(),
        (IN_ORDER if in_order else IN_ANY_ORDER).strip(),
        TEST.format(name=asked.test_name).strip(),
    ]
    return "\n\n\n".join(parts) + "\n"


def _listed(value: Any) -> str:
    """A value as source: each item of a list on a line of its own."""
    if not isinstance(value, list) or not value:
        return repr(value)
    return "[\n" + "".join(f"    {item!r},\n" for item in value) + "]"


def _plain(text: str) -> str:
    """Text that can stand in a docstring."""
    return text.replace("\\", "/").replace('"""', "'''")
