"""A program's source for the events of one case: what their values decide is decided, and what none of them reaches is
left out."""

from __future__ import annotations

import ast
import copy
import operator
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from conformance.engines.shortened import bound
from conformance.model.values import Json, canonical

OPERATIONS: Mapping[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
}
ENDS = (ast.Return, ast.Raise, ast.Continue, ast.Break)
SHORT = 20
"""A constant of the module whose source is longer keeps its name."""


def folded(definitions: Iterable[str], values: Collection[Json], *, apart: bool = False) -> list[str]:
    """The definitions as they do for events of these ``values`` alone; ``apart``, with what is done for each of them
    behind a condition of its own."""
    trees = [ast.parse(text).body[0] for text in dict.fromkeys(definitions)]
    of_module = _assigned(trees)
    counts = Counter(name for tree in trees for name in {*bound(tree)} & {*of_module})
    constants = {name: value for name, value in of_module.items() if counts[name] == 1}
    if apart:
        trees = [_Apart(values, constants).visit(tree) for tree in trees]
    return [ast.unparse(_settled(tree, _Folded(values, constants))) for tree in trees]


def _settled(tree: Any, change: ast.NodeTransformer) -> Any:
    """What is left of a tree once another change changes nothing."""
    before = ""
    while before != (before := ast.dump(tree)):
        tree = ast.fix_missing_locations(change.visit(tree))
    return tree


def _assigned(body: Iterable[ast.stmt]) -> dict[str, ast.expr]:
    """The names that statements assign short constants or cells to, one by one or several at once."""
    found = dict[str, ast.expr]()
    for node in body:
        match node:
            case ast.Assign([ast.Tuple(names)], ast.Tuple(values)) if len(names) == len(values):
                pairs = [*zip(names, values, strict=True)]
            case ast.Assign([name], value):
                pairs = [(name, value)]
            case _:
                continue
        if all(isinstance(name, ast.Name) and _is_short(value) for name, value in pairs):
            found |= {name.id: value for name, value in pairs if isinstance(name, ast.Name)}
    return found


def _is_short(value: ast.expr) -> bool:
    match value:
        case ast.Constant():
            return len(repr(value.value)) < SHORT
        case ast.Attribute(ast.Name("state")):
            return True
    return False


class _Replaced(ast.NodeTransformer):
    def __init__(self, names: Mapping[str, ast.expr]) -> None:
        self._names = names

    def visit_Name(self, node: ast.Name) -> ast.expr:
        there = isinstance(node.ctx, ast.Load) and node.id in self._names
        return copy.deepcopy(self._names[node.id]) if there else node


class _Apart(ast.NodeTransformer):
    def __init__(self, values: Collection[Json], constants: Mapping[str, ast.expr]) -> None:
        self._values, self._constants = {canonical(value): value for value in values}.values(), constants

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        if node.name == "on_event":
            alone = [_settled(copy.deepcopy(node), _Folded([value], self._constants)) for value in self._values]
            tests = [ast.parse(f"event.value == {value!r}", mode="eval").body for value in self._values]
            node.body = [ast.If(test, each.body, []) for test, each in zip(tests, alone, strict=True)]
        return node


class _Folded(ast.NodeTransformer):
    def __init__(self, values: Collection[Json], constants: Mapping[str, ast.expr]) -> None:
        self._values, self._constants = values, constants

    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        for name in ("body", "orelse"):
            body = getattr(node, name, None)
            if isinstance(body, list):
                ends = [place for place, part in enumerate(body, 1) if isinstance(part, ENDS)]
                body = [part for part in body[: min(ends, default=None)] if not isinstance(part, ast.Pass)]
                setattr(node, name, body or [ast.Pass()] * (name == "body" and not isinstance(node, ast.Module)))
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        within = [*ast.walk(node)]
        stored = Counter(part.id for part in within if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store))
        stored.update(part.arg for part in within if isinstance(part, ast.arg))
        here = {name: value for name, value in _assigned(node.body).items() if stored[name] == 1}
        known = {name: value for name, value in self._constants.items() if not stored[name]}
        node.body = [part for part in node.body if not {*_assigned([part])} & {*here}]
        return self.generic_visit(_Replaced(known | here).visit(node))

    def visit_If(self, node: ast.If) -> Any:
        self.generic_visit(node)
        if isinstance(node.test, ast.Constant):
            return node.body if node.test.value else node.orelse
        return node

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.test, ast.Constant):
            return node.body if node.test.value else node.orelse
        return node

    def visit_For(self, node: ast.For) -> Any:
        self.generic_visit(node)
        match node:
            case ast.For(ast.Name(name), ast.Tuple(parts), body, []) if all(map(_is_short, parts)):
                return [_Replaced({name: part}).visit(copy.deepcopy(line)) for part in parts for line in body]
        return node

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        match node:
            case ast.Compare(ast.Attribute(ast.Name("event"), "value"), [ast.Eq()], [ast.Constant(value)]):
                found = {other == value and type(other) is type(value) for other in self._values}
                return ast.Constant(found.pop()) if len(found) == 1 else node
            case ast.Compare(ast.Constant(one), [ast.Eq() | ast.NotEq() as compared], [ast.Constant(other)]):
                return ast.Constant(OPERATIONS[type(compared)](one, other))
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        match node:
            case ast.BinOp(left, ast.Add(), ast.Constant(0)):
                return left
            case ast.BinOp(ast.Constant(int(one)), operation, ast.Constant(int(other))) if (
                type(operation) in OPERATIONS
            ):
                return ast.Constant(OPERATIONS[type(operation)](one, other))
        return node

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        self.generic_visit(node)
        match node:
            case ast.UnaryOp(ast.Not(), ast.Constant(value)):
                return ast.Constant(not value)
        return node
