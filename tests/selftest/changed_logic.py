"""Programs whose logic is changed in one place: what an operator that does the job of a program might do wrong.

A mutant of ``engines/mutants`` is an engine that breaks any program in one way. Here the engine is right, and the
program is wrong: a comparison the other way round, a bound off by one, a statement left out or done twice.
"""

from __future__ import annotations

import ast
import copy
import inspect
import sys
import textwrap
from collections.abc import Callable, Iterator
from types import FunctionType

from conformance.model.program import Program

OPPOSITE: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}

Change = Callable[[], None]
"""Changes a tree."""


def changed_programs(program: Program) -> Iterator[tuple[str, Program]]:
    """(what is changed, the program with it) for each change of each method that the program does not have from
    ``Program``."""
    kind = type(program)
    for owner, name, method in _methods(kind):
        source = textwrap.dedent(inspect.getsource(method))
        for number in range(len(list(_changes(ast.parse(source))))):
            tree = ast.parse(source)
            words, change = list(_changes(tree))[number]
            change()
            scope = dict(vars(sys.modules[owner.__module__])) | {OWNER: owner}
            exec(compile(ast.fix_missing_locations(_Super().visit(tree)), f"<{words}>", "exec"), scope)
            mine = copy.copy(program)
            mine.__class__ = type(kind.__name__, (kind,), {name: scope[name], "__module__": kind.__module__})
            yield f"{owner.__name__}.{name}: {words}", mine


def _methods(kind: type) -> Iterator[tuple[type, str, FunctionType]]:
    """(class, name, method) of each method that a call of the program reaches by its name."""
    seen = set(vars(Program))
    seen -= {"on_event", "on_timer", "on_initial"}
    for owner in kind.__mro__:
        if owner in Program.__mro__:
            return
        for name, method in list(vars(owner).items()):
            if isinstance(method, FunctionType) and name not in seen:
                yield owner, name, method
            seen.add(name)


def _changes(tree: ast.AST) -> Iterator[tuple[str, Change]]:
    """(the change in words, the change) for each single change of a method."""
    for node in ast.walk(tree):
        there = f"line {getattr(node, 'lineno', 0)}, "
        for words, change in _of_node(node):
            yield there + words, change
        if isinstance(node, ast.FunctionDef | ast.For | ast.While | ast.If):
            for number, statement in enumerate(node.body):
                if not (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)):
                    text = ast.unparse(statement).splitlines()[0]
                    yield f"{there}without: {text}", _set(node.body, number, ast.Pass())
                    yield f"{there}twice: {text}", _insert(node.body, number, statement)


def _of_node(node: ast.AST) -> Iterator[tuple[str, Change]]:
    text = ast.unparse(node) if isinstance(node, ast.expr) else ""
    if isinstance(node, ast.Compare):
        for number, operator in enumerate(node.ops):
            yield f"opposite: {text}", _set(node.ops, number, OPPOSITE[type(operator)]())
    elif isinstance(node, ast.Constant) and type(node.value) is int:
        for by in (1, -1):
            yield f"{by:+}: {text}", _put(node, "value", node.value + by)
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
        yield f"sign: {text}", _put(node, "op", ast.Sub() if isinstance(node.op, ast.Add) else ast.Add())
        for by in (1, -1):
            yield f"{by:+}: {text}", _put(node, "right", ast.BinOp(node.right, ast.Add(), ast.Constant(by)))
    elif isinstance(node, ast.BoolOp):
        yield f"and, or: {text}", _put(node, "op", ast.Or() if isinstance(node.op, ast.And) else ast.And())
    elif isinstance(node, ast.If | ast.IfExp):
        for always in (True, False):
            yield f"always {always}: {ast.unparse(node.test)}", _put(node, "test", ast.Constant(always))
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in {"min", "max"}:
        yield f"min, max: {text}", _put(node.func, "id", "max" if node.func.id == "min" else "min")


def _put(node: ast.AST, field: str, value: object) -> Change:
    return lambda: setattr(node, field, value)


def _set(body: list, number: int, node: ast.AST) -> Change:
    return lambda: body.__setitem__(number, node)


def _insert(body: list, number: int, node: ast.AST) -> Change:
    return lambda: body.insert(number, copy.deepcopy(node))


OWNER = "owner_of_the_changed_method"


class _Super(ast.NodeTransformer):
    """``super()`` is that of the class which the method was written in."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id == "super" and not node.args:
            node.args = [ast.Name(OWNER, ast.Load()), ast.Name("self", ast.Load())]
        return node
