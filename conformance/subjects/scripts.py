"""Scripts that show a violation without this project: templates, which are modules, and functions that stand in them as
they stand here."""

import ast
import sys
from collections.abc import Callable, Iterable, Mapping
from datetime import date, datetime, timedelta
from inspect import getsource
from pathlib import Path
from typing import Any

UNITS_OF_A_MILLISECOND = (1 / 86_400_000, 1 / 3_600_000, 1 / 60_000, 1 / 1_000, 1, 1_000)
"""Days, hours, minutes, seconds, milliseconds and microseconds."""

KNOWN: set[str] = set()
"""In a script: values of the run without other times."""


def earlier_dates(text: str, ms: int) -> str:
    """A text with the dates (ISO 8601) in it so many ms earlier."""
    import re

    def day(found: re.Match[str]) -> str:
        try:
            return (date.fromisoformat(found[0]) - timedelta(days=ms // 86_400_000)).isoformat()
        except (ValueError, OverflowError):  # no calendar has it
            return found[0]

    return re.sub(r"(?<!\d)\d{4}-\d\d-\d\d(?!\d)", day, text)


def back(value: Any, ms: int, first: int, last: int, known: set[str]) -> Any:
    """A value with its times so many ms earlier. A date in a text is a time, too, and so is a number of days, hours,
    minutes, s, ms or µs between two times (ms). What a run without other times has (``known``) is none, unless the
    clock may say it."""
    if isinstance(value, dict):
        return {name: back(each, ms, first, last, known) for name, each in value.items()}
    if isinstance(value, list):
        return [back(each, ms, first, last, known) for each in value]
    if not ms:
        known.add(repr(value))
    if repr(value) in known and not (isinstance(value, date) and abs(value.year - date.today().year) <= 1):
        return value
    if isinstance(value, datetime):
        return value - timedelta(milliseconds=ms)
    if isinstance(value, date):
        return value - timedelta(days=ms // 86_400_000)
    if isinstance(value, str):
        return earlier_dates(value, ms)
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        for unit in UNITS_OF_A_MILLISECOND:
            if (first + ms) * unit <= value <= (last + ms) * unit:
                return value - type(value)(round(ms * unit))
    return value


def forget_modules_in(folder: Path) -> None:
    """Forget the modules of a folder, and those of packages there: who imports them next gets fresh copies."""
    for name, module in [*sys.modules.items()]:
        path = Path(getattr(module, "__file__", None) or "/")
        if folder in (path.parent, path.parent.parent) and name.partition(".")[0] not in ("__main__", "conformance"):
            sys.modules.pop(name, None)


def stops(line: int, code: Any, call: Callable[[], Any]) -> bool:
    """Make a call that stops before a line of a function (its ``code``), as a process does that ends there: what
    catches errors does not see it. Whether the line was reached."""

    def at_line(frame: Any, event: str, _: Any) -> Any:
        if event == "line" and frame.f_lineno == line:
            raise SystemExit
        return at_line

    sys.settrace(lambda called, *_: at_line if called.f_code is code else None)
    try:
        call()
    except SystemExit:
        return True
    finally:
        sys.settrace(None)
    return False


def in_a_script(function: Callable[..., Any]) -> str:
    """The source of a function, without the types of arguments: a script does not import them."""
    tree = ast.parse(getsource(function))
    for written in ast.walk(tree):
        if isinstance(written, ast.FunctionDef):
            written.returns = None
            for argument in written.args.args:
                argument.annotation = None
    return ast.unparse(tree) + "\n\n\n"


def moving_back() -> str:
    """The source of ``back``, and KNOWN, the values that it knows."""
    names = f"from datetime import date, datetime, timedelta\n\n{UNITS_OF_A_MILLISECOND = }\nKNOWN = set()\n\n\n"
    return names + in_a_script(earlier_dates) + in_a_script(back)


def filled(template: Path, title: str, values: Mapping[str, str], functions: Iterable[Callable[..., Any]] = ()) -> str:
    """The text of a script: a template with a docstring of its own, with ``values``, the source of what its names
    stand for, and with ``functions``, which SETUP may name, above it. What the template imports from here stands in
    it."""
    text = template.read_text(encoding="utf-8")
    lines, top = text.splitlines(keepends=True), ast.parse(text).body
    above = {"SETUP": "".join(map(in_a_script, functions))}
    written = dict(values)
    for node in reversed(top):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id in written:
            name = node.targets[0].id
            put = f"{above.get(name, '')}{name} = {written.pop(name)}"
        elif isinstance(node, ast.ImportFrom) and node.module == __name__:
            more = (
                each for each in (forget_modules_in, stops) if each.__name__ in {alias.name for alias in node.names}
            )
            put = moving_back() + "".join(map(in_a_script, more))
        elif node is top[0]:
            put = f'"""{title}\n"""'
        else:
            continue
        assert node.end_lineno is not None
        lines[node.lineno - 1 : node.end_lineno] = [put + "\n"]
    assert not written, written
    return "".join(lines).replace("  # noqa: E402", "")
