"""A program's callbacks as generators of rows, in the place of those that call ``emit``."""

import ast
from typing import Any

SUBJECTS = ("event", "timer")


def yielding(definitions: list[str], key: str) -> list[str] | None:
    """The definitions with what has ``emit`` as its last parameter as a generator: of rows where it has an event or a
    timer, whose ``key`` is an expression of this ``subject``, else of values. None where ``emit`` is not used by
    a statement that calls it with a value or hands it on."""
    trees = [ast.parse(text) for text in definitions]
    functions = [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    change = _Yields(key, {node.name for node in functions if _subject(node)})
    found = [ast.unparse(ast.fix_missing_locations(change.visit(tree))) for tree in trees]
    return None if change.fails else found


def _subject(node: ast.FunctionDef) -> str:
    """What a function that emits is called for, "" where it is not handed over."""
    names = [part.arg for part in node.args.args]
    return next((name for name in SUBJECTS if name in names and names[-1] == "emit"), "")


class _Yields(ast.NodeTransformer):
    def __init__(self, key: str, with_rows: set[str]) -> None:
        self._key, self._with_rows, self._subject, self.fails = key, with_rows, "", False

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        if not node.args.args or node.args.args[-1].arg != "emit":
            return self.generic_visit(node)
        self._subject = _subject(node)
        node.args.args.pop()
        self.generic_visit(node)
        within = [*ast.walk(node)]
        if not any(isinstance(part, ast.Yield | ast.YieldFrom) for part in within):
            self.fails |= any(isinstance(part, ast.Return) for part in within)
            body = [part for part in node.body if not isinstance(part, ast.Pass)]
            node.body = [*body, ast.Return(ast.Tuple([], ast.Load()))]
        return node

    def visit_Expr(self, node: ast.Expr) -> Any:
        match node.value:
            case ast.Call(ast.Name("emit"), [value], []):
                return ast.Expr(ast.Yield(self._row(value)))
            case ast.Call(called, [*given, ast.Name("emit")], []):
                values: ast.expr = ast.Call(called, given, [])
                if isinstance(called, ast.Attribute) and called.attr not in self._with_rows and self._subject:
                    each = ast.comprehension(ast.Name("value", ast.Store()), values, [], 0)
                    values = ast.GeneratorExp(self._row(ast.Name("value", ast.Load())), [each])
                return ast.Expr(ast.YieldFrom(values))
            case ast.Call(called, [*given, ast.Lambda(ast.arguments([], [ast.arg(name)]), body)], []):
                pair = ast.Tuple([ast.Name("_", ast.Store()), ast.Name(name, ast.Store())], ast.Store())
                return ast.For(pair, ast.Call(called, given, []), [ast.Expr(body)], [])
        return self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        self.fails |= node.id == "emit"
        return node

    def _row(self, value: ast.expr) -> ast.expr:
        if not self._subject:
            return value
        return ast.List([ast.parse(self._key.replace("subject", self._subject), mode="eval").body, value], ast.Load())
