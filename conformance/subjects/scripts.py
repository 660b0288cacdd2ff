"""What the scripts of all frameworks have in common, written into each of them as it stands here."""

import ast
from collections.abc import Callable
from datetime import date, datetime, timedelta
from inspect import getsource
from typing import Any


def back(value: object, ms: int, first: int, last: int) -> object:
    """A value with its times so many ms earlier. A number of s, ms or µs between two times (ms) is a time, too."""
    if isinstance(value, datetime):
        return value - timedelta(milliseconds=ms)
    if isinstance(value, date):
        return value - timedelta(days=ms // 86_400_000)
    if isinstance(value, dict):
        return {name: back(each, ms, first, last) for name, each in value.items()}
    if isinstance(value, list):
        return [back(each, ms, first, last) for each in value]
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        for unit in (0.001, 1, 1_000):
            if (first + ms) * unit <= value <= (last + ms) * unit:
                return value - type(value)(ms * unit)
    return value


def in_a_script(function: Callable[..., Any]) -> str:
    """The source of a function, without the types of its arguments: a script does not import them."""
    tree = ast.parse(getsource(function))
    (written,) = tree.body
    assert isinstance(written, ast.FunctionDef)
    written.returns = None
    for argument in written.args.args:
        argument.annotation = None
    return ast.unparse(tree) + "\n\n\n"
