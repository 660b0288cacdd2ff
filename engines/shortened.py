"""Shorter source for exports: without docstrings, what nobody calls, and imports that nobody uses."""

import ast
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator


def shortened(definitions: Iterable[str], operator: str, called: str) -> list[str]:
    """The definitions that ``operator`` needs of these, each without docstrings and without methods that nobody calls.
    ``called`` names what is called by ``getattr``."""
    trees = [_Plain().visit(ast.parse(text)).body[0] for text in definitions]
    beside = ast.parse(operator)
    while True:
        before = len(trees), sum(len(tree.body) for tree in trees if isinstance(tree, ast.ClassDef))
        used = _attributes([*trees, beside])
        if "getattr" in {name for tree in trees for name in names(tree)}:
            used |= set(re.findall(r"\w+", called))
        for tree in trees:
            if isinstance(tree, ast.ClassDef):
                tree.body = [part for part in tree.body if not _idle(part, used)] or [ast.Pass()]
        by_tree = [names(tree) for tree in (beside, *trees)]
        users = Counter(name for named in by_tree for name in named)
        trees = [
            tree
            for tree, own in zip(trees, by_tree[1:], strict=True)
            if any(users[name] > (name in own) for name in bound(tree))
        ]
        if before == (len(trees), sum(len(tree.body) for tree in trees if isinstance(tree, ast.ClassDef))):
            return [re.sub(r"\n\s*\n", "\n", ast.unparse(tree)) for tree in trees]


def imports(lines: Iterable[str], text: str) -> list[str]:
    """The imports that a text needs of these lines: modules of Python in one line, and a line for each other module."""
    used, plain, of_module = names(ast.parse(text)), set[str](), dict[str, set[str]]()
    for node in ast.parse("\n".join(lines)).body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            for alias in node.names:
                if (alias.asname or alias.name.partition(".")[0]) in used:
                    name = f"{alias.name} as {alias.asname}" if alias.asname else alias.name
                    if isinstance(node, ast.Import):
                        plain.add(f"import {name}")
                    else:
                        of_module.setdefault(str(node.module), set()).add(name)
    own = sorted(line for line in plain if line.removeprefix("import ") in sys.stdlib_module_names)
    return [
        *(["import " + ", ".join(line.removeprefix("import ") for line in own)] if own else []),
        *sorted(plain - {*own}),
        *(f"from {module} import {', '.join(sorted(of_module[module]))}" for module in sorted(of_module)),
    ]


def imported(lines: Iterable[str]) -> set[str]:
    """The names that imports bind."""
    nodes = (node for node in ast.walk(ast.parse("\n".join(lines))) if isinstance(node, ast.alias))
    return {alias.asname or alias.name.partition(".")[0] for alias in nodes}


def joined(parts: Iterable[str]) -> str:
    """Parts of a file, with a blank line between two unless both are a line."""
    text, last = "", ""
    for part in filter(None, (part.strip("\n") for part in parts)):
        text += ("" if not text else "\n" if "\n" not in part + last else "\n\n") + part
        last = part
    return text + "\n"


def names(*trees: ast.AST) -> set[str]:
    """The names that source uses."""
    nodes = (node for tree in trees for node in ast.walk(tree))
    return {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}


def bound(node: ast.stmt) -> Iterator[str]:
    """The names that a statement binds."""
    if isinstance(node, ast.ClassDef | ast.FunctionDef):
        yield node.name
        return
    yield from (part.id for part in ast.walk(node) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store))


def _attributes(trees: Iterable[ast.AST]) -> set[str]:
    return {node.attr for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Attribute)}


def _idle(part: ast.stmt, used: set[str]) -> bool:
    """Whether a part of a class is a method that nobody calls, or one that only refuses what is declared wrong."""
    if not isinstance(part, ast.FunctionDef):
        return False
    if part.name == "__post_init__":
        return all(isinstance(line, ast.If) and isinstance(line.body[-1], ast.Raise) for line in part.body)
    return part.name not in used and not part.name.startswith("__")


class _Plain(ast.NodeTransformer):
    """Leaves out docstrings, caches, which no process hands over, and annotations of variables in functions."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self.generic_visit(node)
        node.decorator_list = [part for part in node.decorator_list if not names(part) & {"cache", "lru_cache"}]
        node.body = [
            ast.Assign([part.target], part.value, lineno=0) if isinstance(part, ast.AnnAssign) and part.value else part
            for part in self._told(node.body)
        ]
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        self.generic_visit(node)
        node.body = self._told(node.body)
        return node

    def _told(self, body: list[ast.stmt]) -> list[ast.stmt]:
        text = body and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant)
        return (body[1:] if text else body) or [ast.Pass()]
