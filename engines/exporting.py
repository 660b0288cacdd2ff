"""What the formats of exports share: the file's head, the program's source, the rows, and the test.

An export is one Python file that needs the engine's framework alone. It holds what the program of a witness does for
the events of its case, in the engine's own calls, the schedule, and what the executable specification, or the engine,
put out.
"""

import ast
import builtins
import inspect
import re
import textwrap
from collections import Counter
from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from functools import partial
from typing import Any, NamedTuple

from conformance.engines.folded import folded, with_one_timer
from conformance.engines.shortened import imported, imports, joined, names, shortened
from conformance.engines.spelled_out import EngineCalls, spelled_out, without_windows
from conformance.engines.yielding import yielding
from conformance.model import types
from conformance.model.export import CannotExport, Difference, Exportable, rows
from conformance.model.keys import TypedKey
from conformance.model.program import FixedWindows
from conformance.model.schedule import Advance, Deliver, Restart, Step
from conformance.model.values import Json, canonical
from conformance.plugins.inlined import Inlined

WIDTH = 118

KEY_IMPORTS = ("from datetime import date, datetime, timezone", "from decimal import Decimal")

STEPS_NOTE = "# The watermark moves to a time (ms since the epoch), or rows arrive: (id, key, value, event time in ms)."

RESERVED = frozenset(
    {"STEPS", "EXPECTED", "OBSERVED", "PROGRAM", "outputs", "run", "elements", "write", "handled"}
    | {"before", "behind", "NAMES", "KEYED", "Key", "named", "STORE", "DELAY"}
)

CALLBACKS = {"on_event", "on_timer"}

SHARED = """
def outputs(callback, subject, *given):
    found = []  # rows: key, value, and the event time where the program gives one
    callback(subject, *given, lambda value, *time: found.append([subject.key, value, *time]))
    return found
"""

NAMED = """
def named(key):  # a key that has no name is shown as its value
    told = json.dumps(shown(key), separators=(",", ":"), ensure_ascii=False)
    return NAMES.get(told, told)
"""

CALLED = re.compile(r"\boutputs\(PROGRAM\.(\w+), ")
MOMENT = re.compile(r"\bdatetime\.fromisoformat\('([^']+)'\)")

IN_ANY_ORDER = "sorted(json.dumps(row, sort_keys=True) for row in rows)"
IN_ORDER = "{row[0]: [json.dumps(other, sort_keys=True) for other in rows if other[0] == row[0]] for row in rows}"

TEST = """
def {name}():
    found, compared = run(), lambda rows: {compared}
    assert compared(found) == compared({wanted}), {said}

if __name__ == "__main__":
    {name}()
"""

SAID = 'f"{{__doc__.splitlines()[0]}}\\n  {word}: {{{wanted}}}\\n  observed: {{found}}"'


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
    return put_in(text, {f"{{{name}}}": str(value) for name, value in numbers.items()})


def put_in(text: str, words: Mapping[str, str]) -> str:
    """A text with words in the places that name them."""
    for place, word in words.items():
        text = text.replace(place, word)
    return text


class Source(NamedTuple):
    """What a file has beside the witness.

    Attributes:
        needs: what to install, for pip.
        imports: lines that ``operator`` needs.
        used: classes and functions whose source ``operator`` needs.
        operator: source that defines ``run()``, which gives the rows that come out. It may use PROGRAM, STEPS and
            ``SHARED``.
        calls: what the program's calls are on what ``operator`` hands to it; none where that has the program's methods.
        moment: the engine's own class of moments, of whose instances ``micros`` is the time; "" for ``datetime``.
    """

    needs: str
    imports: Iterable[str]
    used: Collection[Any]
    operator: str
    calls: EngineCalls | None = None
    moment: str = ""


def _add_program(inlined: Inlined, asked: Exportable) -> None:
    for each in asked.uses:
        inlined.add(each)
    if asked.source:
        inlined.definitions.append(asked.source)
    else:
        inlined.add(type(asked.program))


def sets_one_timer(asked: Exportable) -> bool:
    """Whether a case has one timer at a time, and does not ask for its name: one event comes, and each callback sets a
    timer once at most and clears none."""
    inlined, events = Inlined(), asked.case.schedule.arrivals
    with suppress(CannotExport):  # it is said where the file is made
        _add_program(inlined, asked)
    text = folded(inlined.definitions, [arrival.event.value for arrival in events])
    tree = ast.parse("\n".join(with_one_timer(text, events[0].event.id)))
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    found = Counter(node.name for node in functions for part in ast.walk(node) if _calls(part, "timers", "set"))
    asks = [part for part in ast.walk(tree) if _calls(part, "timers", "clear") or _calls(part, "timer", "name", "tag")]
    loops = [part for part in ast.walk(tree) if isinstance(part, ast.For | ast.While | ast.comprehension)]
    again = [part for loop in loops for part in ast.walk(loop) if _calls(part, "timers", "set")]
    return len(events) == 1 and {*found.values()} == {1} and not (found.keys() - CALLBACKS or asks or again)


def _calls(node: ast.AST, of: str, *names: str) -> bool:
    return isinstance(node, ast.Attribute) and node.attr in names and ast.unparse(node.value) == of


def _for_case(definitions: list[str], asked: Exportable, calls: EngineCalls | None) -> list[str]:
    """The definitions as they do for the case, with the calls of its program as the engine's own.

    Raises:
        CannotExport: the program uses a cell otherwise than by its name.
    """
    values = [arrival.event.value for arrival in asked.case.schedule.arrivals]
    for apart in (False, True):
        found = folded(definitions, values, apart=apart)
        if calls and calls.one_timer:
            found = with_one_timer(found, asked.case.schedule.arrivals[0].event.id)
        if calls is None:
            return found
        if (spelled := spelled_out(found, asked.program, calls)) is not None:
            return spelled
    raise CannotExport(
        f"witness {asked.witness}: its program does with a cell what exports for {asked.engine} do not have"
    )


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
    inlined, difference = Inlined(taken=RESERVED | imported([*source.imports, *KEY_IMPORTS])), asked.difference
    if difference is Difference.STEPS and not by_step:
        raise CannotExport(
            f"witness {asked.witness}: only the steps differ in which {asked.engine} put its rows out, and no file "
            "for it shows steps"
        )
    if program:
        _add_program(inlined, asked)
    keys = asked.typed_keys
    for each in (*source.used, *([types.shown] if keys else ())):
        inlined.add(each)
    data = _data(asked)
    key = "named(subject.key)" if keys else "subject.key"
    made = f"PROGRAM = {type(asked.program).__name__}()" if program else ""
    wanted = "OBSERVED" if asked.observed else "EXPECTED"
    test = TEST.format(
        name=asked.test_name,
        compared=IN_ORDER if difference is Difference.ORDER else IN_ANY_ORDER,
        wanted=wanted,
        said=SAID.format(word="until now" if asked.observed else "expected", wanted=wanted),
    )
    definitions, operator = _for_case(without_windows(inlined.definitions), asked, source.calls), source.operator
    if (generators := yielding(definitions, key)) is not None:
        made, definitions = "", generators
        operator = CALLED.sub(rf"{type(asked.program).__name__}().\1(", operator)
    elif program:
        operator = SHARED.replace("subject.key", key) + operator
    parts = [*_parted(NAMED if keys and program else ""), *_parted(operator), *_parted(test)]
    told = repr([rows(asked.seen), rows(asked.specified), data.get("NAMES")])
    if "shown" in inlined.names and "digest" not in told:
        short = _shown(told, source)
        definitions = [short if text.startswith("def shown(") else text for text in definitions]
    definitions = shortened(definitions, "\n\n".join([made, *parts]), repr(data["STEPS"]))
    definitions, parts = _merged(definitions, parts, type(asked.program).__name__)
    constants = [f"{name} = {_listed(value)}" for name, value in data.items()]
    constants += [part for part in parts if re.match(r"[A-Z, ]+ = .+$", part)]
    body = joined(["\n".join(constants), *definitions, made, *(part for part in parts if part not in constants)])
    if source.moment:
        body = MOMENT.sub(partial(_moment, source.moment), body)
    lines = imports((*source.imports, *KEY_IMPORTS, *inlined.imports, "import json"), body)
    fields = [node.annotation for node in ast.walk(ast.parse(body)) if isinstance(node, ast.AnnAssign)]
    later = ["from __future__ import annotations"] * bool(names(*fields) - {*dir(builtins)})
    body = body.replace("STEPS = ", f"{STEPS_NOTE}\nSTEPS = ", 1)
    return (
        f'"""{_plain(asked.claim)}\n\n{_plain(_head(asked, source.needs))}\n"""\n\n'
        + joined(["\n".join([*later, *lines])])
        + "\n"
        + body
    )


def _merged(definitions: list[str], parts: list[str], program: str) -> tuple[list[str], list[str]]:
    """The definitions and the parts of a file with the callbacks of the program in the operator's class, where there is
    one, and the program's class has no other methods."""
    mine = [text for text in definitions if text.startswith(f"class {program}:\n")]
    there = [part for part in parts if part.startswith("class ") and f"{program}()." in part]
    if not (mine and there) or not CALLBACKS.issuperset(re.findall(r"^    def (\w+)", mine[0], re.MULTILINE)):
        return definitions, parts
    whole = "\n".join([there[0].replace(f"{program}().", "self.").rstrip(), *mine[0].splitlines()[1:]])
    return [text for text in definitions if text not in mine], [whole if part in there else part for part in parts]


def _head(asked: Exportable, needs: str) -> str:
    """What a file says of itself."""
    versions = ", ".join(f"{name} {version}" for name, version in asked.versions.items() if "." not in name)
    does = (
        "OBSERVED is what it puts out until now." if asked.observed else "EXPECTED is what its specification puts out."
    )
    stepwise = " A row begins with the number of its step, from 0." * (asked.difference is Difference.STEPS)
    text = (
        f"What this file shows: {asked.message}. Found on {asked.engine} ({versions}) by the scenario "
        f"{asked.scenario!r} of the project conformance, as its witness {asked.witness}. {does}{stepwise}"
        + f" {asked.stands_for}" * bool(asked.stands_for)
        + " The claim is about two schedules; this is the one on which the output is not the expected one."
        * asked.one_of_two
        + _around(asked.case.schedule.plans)
        + f" It needs: pip install {needs}"
    )
    return textwrap.fill(text, WIDTH, break_on_hyphens=False)


def _data(asked: Exportable) -> dict[str, Any]:
    """The constants of a file, by name."""
    told = asked.by_step if asked.difference is Difference.STEPS else rows
    shown_rows = {"OBSERVED": told(asked.seen)} if asked.observed else {"EXPECTED": told(asked.specified)}
    data: dict[str, Any] = {"STEPS": steps(asked), **shown_rows}
    if keys := asked.typed_keys:
        kind, values = keys
        told_as = [{canonical(TypedKey(kind, v).spellings[place]): n for n, v in values.items()} for place in (1, 0)]
        data["NAMES"] = told_as[0] | told_as[1]
    return data


def _parted(text: str) -> list[str]:
    """The statements of source, with the comments in them and before them."""
    return re.split(r"\n\n+(?=\S)", text.strip())


def _around(plans: Sequence[str]) -> str:
    """What the head of a file says of the plans of its query."""
    if not plans:
        return ""
    several, named = "s" * (len(plans) > 1), ", ".join(map(repr, plans))
    return f" The claim is about two queries; this is the one with the plan{several} {named} around its operator."


def _listed(value: Any) -> str:
    """A value as source: the items of a long list in lines of their own."""
    if not isinstance(value, list) or len(value) < 2 or len(repr(value)) < WIDTH:
        return repr(value)
    lines = [""]
    for item in map(repr, value):
        if len(lines[-1]) + len(item) > WIDTH:
            lines.append("")
        lines[-1] += f"{item}, "
    return "[\n" + "".join(f"    {line.strip()}\n" for line in lines if line) + "]"


def _shown(told: str, source: Source) -> str:
    """The source of ``shown`` for the types that are told of, in rows or in JSON. Any other is shown by its name."""
    words = {"Number": "Decimal", "key=canonical": "key=lambda entry: json.dumps(entry, ensure_ascii=False)"}
    if source.moment:
        words |= {"micros(value)": "value.micros", "datetime": source.moment}
    text = "def shown(value):\n"
    for node in ast.parse(inspect.getsource(types._shown)).body[0].body:  # type: ignore[attr-defined]
        match node:
            case ast.If(test, [ast.Return(ast.Tuple([kind, found]))]):
                kinds = {str(each.value) for each in ast.walk(kind) if isinstance(each, ast.Constant)}
                if any(f"'{each}': " in told or f'"{each}":' in told for each in kinds):
                    given = f"{{{ast.unparse(kind)}: {ast.unparse(found)}}}"
                    text += f"    if {ast.unparse(test)}:\n        return {given}\n"
            case ast.If() if "pd." in source.operator:
                text += textwrap.indent(ast.unparse(node), "    ") + "\n"
    return put_in(text, words) + "    return {type(value).__name__: str(value)}"


def _moment(own: str, found: re.Match[str]) -> str:
    return f"{own}(micros={types.micros(datetime.fromisoformat(found[1]))})"


def _plain(text: str) -> str:
    """Text that can stand in a docstring."""
    return text.replace("\\", "/").replace('"""', "'''")
