"""A program's calls on its cells, timers and windows, spelled out as an engine's own calls and as sums."""

import ast
import json
from collections.abc import Callable, Mapping
from typing import NamedTuple

from conformance.engines.folded import Texts
from conformance.model.program import Cell, FixedWindows, Program
from conformance.model.types import Type

Calls = Mapping[tuple[Cell | None, str], str]
"""(Kind of cell, or None for timers; method) -> an expression of ``here``, which is the engine's cell or timer, of
the name of the ``cell``, and of the arguments ``a``, ``b`` and ``c``. "get()" is a "get" without a default."""


class EngineCalls(NamedTuple):
    """An engine's calls on cells of JSON and on timers, those on cells of a type, None where exports have none, and
    whether the case has one timer at a time, whose name the engine does not know."""

    plain: Calls
    typed: Callable[[Cell, Type], Calls] | None = None
    one_timer: bool = False


LEFT_OUT: Mapping[tuple[Cell | None, str], tuple[str, ...]] = {
    (Cell.VALUE, "get"): ("None",),
    (Cell.MAP, "get"): ("", "None"),
    (None, "set"): ("", "", "''"),
    (None, "clear"): ("", "''"),
}
"""What the arguments of such calls are where they are left out."""


def spelled_out(definitions: list[str], program: Program, calls: EngineCalls) -> list[str] | None:
    """The definitions with the calls of a program as an engine's own. Calls on timers stay where none has an
    expression. None where a call on a cell has none, or a cell is used in another way."""
    trees = [ast.parse(text) for text in definitions]
    change = _Calls(program, calls)
    found = [ast.unparse(ast.fix_missing_locations(change.visit(tree))) for tree in trees]
    return None if change.fails else found


def without_windows(definitions: list[str]) -> list[str]:
    """The definitions with the sums in the place of what is asked of windows by name."""
    windows = {}
    for text in definitions:
        match ast.parse(text).body[0]:
            case ast.Assign([ast.Name(name)], ast.Call(ast.Name("FixedWindows"), args, words)):
                if all(isinstance(part, ast.Constant) for part in (*args, *(word.value for word in words))):
                    windows[name] = eval(text.partition(" = ")[2], {"FixedWindows": FixedWindows})
    return [ast.unparse(ast.fix_missing_locations(_Windows(windows).visit(ast.parse(text)))) for text in definitions]


class _Calls(ast.NodeTransformer):
    def __init__(self, program: Program, calls: EngineCalls) -> None:
        self._cells, self.fails = program.cells, False
        self._plain, typed = calls.plain, calls.typed or (lambda kind, of: {})
        self._typed = {name: typed(program.cells[name], of) for name, of in program.types.items()}

    def visit_Call(self, node: ast.Call) -> ast.AST:
        kind, name = None, ""
        match node.func:
            case ast.Attribute(ast.Attribute(ast.Name("state"), name) as here, method):
                kind = self._cells.get(name)
            case ast.Attribute(ast.Name("timers") as here, method) if any(of is None for of, _ in self._plain):
                pass
            case _:
                return self.generic_visit(node)
        calls = self._typed.get(name, self._plain)
        if (kind, method) not in calls:
            self.fails = True
            return node
        left_out = zip("abc", LEFT_OUT.get((kind, method), ()), strict=False)
        words = {name: ast.parse(text, mode="eval").body for name, text in left_out if text}
        given = [self.visit(part) for part in (*node.args, *(word.value for word in node.keywords))]
        names = {"here": here, "cell": ast.Constant(name), **words, **dict(zip("abc", given, strict=False))}
        return _filled(calls.get((kind, f"{method}()"), "") * (not given) or calls[kind, method], names)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        self.fails |= isinstance(node.value, ast.Name) and node.value.id == "state"
        return self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        self.fails |= node.id in ("getattr", "vars")
        return node


def _filled(text: str, names: Mapping[str, ast.expr]) -> ast.expr:
    found: ast.expr = _Filled(names).visit(ast.parse(text, mode="eval").body)
    return found


class _Filled(Texts):
    def __init__(self, names: Mapping[str, ast.expr]) -> None:
        self._names = names

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self._names.get(node.id, node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        match node:
            case ast.Call(ast.Attribute(ast.Name("json"), "dumps"), [ast.Constant(value)]):
                return ast.Constant(json.dumps(value))
        return node

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        self.generic_visit(node)
        match node.test:
            case ast.List(given):
                return node.body if given else node.orelse
        return node


class _Windows(ast.NodeTransformer):
    def __init__(self, windows: Mapping[str, FixedWindows]) -> None:
        self._windows = windows

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        match node:
            case ast.Call(ast.Attribute(ast.Name(name), "start" | "expiry" as what), [time]) if name in self._windows:
                size, lateness = self._windows[name].size, self._windows[name].allowed_lateness
                text = f"time - time % {size}" + f" + {size + lateness}" * (what == "expiry")
                return _filled(text, {"time": time})
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        match node:
            case ast.Attribute(ast.Name(name), "size" | "allowed_lateness" as what) if name in self._windows:
                return ast.Constant(getattr(self._windows[name], what))
        return self.generic_visit(node)
