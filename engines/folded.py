"""A program's source for the events of one case: what their values decide is decided, and what none of them reaches is
left out."""

import ast
import copy
import operator
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
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
    of_module = _assigned(trees, of_module=True)
    counts = Counter(name for tree in trees for name in {*bound(tree)} & {*of_module})
    constants = {name: value for name, value in of_module.items() if counts[name] == 1}
    if apart:
        trees = [_Apart(values, constants).visit(tree) for tree in trees]
    return [ast.unparse(_settled(tree, _Folded(values, constants))) for tree in trees]


def with_one_timer(definitions: Iterable[str], event: str) -> list[str]:
    """The definitions with the name and the tag of the one timer that there is, where they are known: for the one event
    of this id."""
    trees = [ast.parse(text) for text in definitions]
    found = {timer for tree in trees for timer in _timers(tree)}
    for name, tag in found if len(found) == 1 else ():
        words = {"timer.name": name, "timer.tag": repr(event) if tag == "event.id" else tag}
        known = {of: ast.parse(word, mode="eval").body for of, word in words.items() if word[0] in "'\""}
        trees = [_Known(known).visit(tree) for tree in trees]
    return folded([ast.unparse(tree) for tree in trees], ())


def _timers(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """The sources of the names and of the tags of the timers that are set."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(ast.Attribute(ast.Name("timers"), "set"), [name, _, *tags], words):
                yield ast.unparse(name), ast.unparse([*tags, *(word.value for word in words), ast.Constant("")][0])


class Texts(ast.NodeTransformer):
    """Makes texts of those that are put together of constants."""

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.AST:
        self.generic_visit(node)
        node.values = [
            part.value if isinstance(part, ast.FormattedValue) and isinstance(part.value, ast.Constant) else part
            for part in node.values
        ]
        texts = [str(part.value) for part in node.values if isinstance(part, ast.Constant)]
        return ast.Constant("".join(texts)) if len(texts) == len(node.values) else node


class _Known(Texts):
    def __init__(self, words: Mapping[str, ast.expr]) -> None:
        self._words = words

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        return self._words.get(ast.unparse(node)) or self.generic_visit(node)


def _settled(tree: Any, change: ast.NodeTransformer) -> Any:
    """What is left of a tree once another change changes nothing."""
    before = ""
    while before != (before := ast.dump(tree)):
        tree = ast.fix_missing_locations(change.visit(tree))
    return tree


def _assigned(body: Iterable[ast.stmt], *, of_module: bool = False) -> dict[str, ast.expr]:
    """The names that statements assign short constants or cells to, one by one or several at once. Those of a module
    may be dictionaries, which nobody changes."""
    found = dict[str, ast.expr]()
    for node in body:
        match node:
            case ast.Assign([ast.Tuple(names)], ast.Tuple(values)) if len(names) == len(values):
                pairs = [*zip(names, values, strict=True)]
            case ast.Assign([name], value):
                pairs = [(name, value)]
            case _:
                continue
        if all(isinstance(name, ast.Name) and _is_short(value, of_module) for name, value in pairs):
            found |= {name.id: value for name, value in pairs if isinstance(name, ast.Name)}
    return found


def _is_short(value: ast.expr, dictionary: bool = False) -> bool:
    match value:
        case ast.Constant():
            return len(repr(value.value)) < SHORT
        case ast.Dict():
            return dictionary and len(ast.unparse(value)) < SHORT
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
            case ast.For(ast.Name(name), ast.Tuple(parts), body, []) if all(map(_is_short, parts)) and not any(
                isinstance(part, ast.Break | ast.Continue) for line in body for part in ast.walk(line)
            ):
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
