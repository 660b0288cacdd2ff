"""Mutation testing of the oracles, by the operators of Cosmic Ray. See ../trust.md.

Each mutant runs in a fork of a process that has imported everything else, and no file is changed.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import importlib.util
import json
import os
import random
import re
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from importlib.machinery import SourceFileLoader
from pathlib import Path
from typing import NamedTuple

import pytest
from cosmic_ray.ast import ast_nodes, get_ast_from_path
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator, operator_names

ROOT = Path(__file__).parents[2]
SEEDS, WANTED = 3, 2

IDENTITY = re.compile(r"ReplaceComparisonOperator_(?!Is)\w+_Is(Not)?$")
"""Operators left out: whether equal numbers or texts are one object is up to the interpreter."""


class Mutant(NamedTuple):
    operator: str
    line: int
    source: str
    diff: list[str]


class _Meaning(ast.NodeTransformer):
    """Leaves out what does not run: annotations and docstrings."""

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        node.annotation = ast.Constant(None)
        return self.generic_visit(node)

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.annotation = None
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        return self.generic_visit(node)


def _meaning(source: str) -> str:
    return ast.dump(_Meaning().visit(ast.parse(source)))


def mutants(path: Path, lines: set[int] | None = None) -> Iterator[Mutant]:
    """Those that mean something else than the module and than each other; ``lines`` are the ones to change."""
    tree, source = get_ast_from_path(path), path.read_text(encoding="utf-8")
    seen = {_meaning(source)}
    for name in sorted(operator_names()):
        if get_operator(name).arguments() or IDENTITY.search(name):
            continue
        operator = get_operator(name)()
        places = [start for node in ast_nodes(tree) for start, _ in operator.mutation_positions(node)]
        for occurrence, (line, _) in enumerate(places):
            if lines is not None and line not in lines:
                continue
            mutated = mutate_code(source, operator, occurrence)
            try:
                meaning = _meaning(mutated) if mutated else ""
            except SyntaxError:
                continue
            if meaning and meaning not in seen:
                seen.add(meaning)
                changed = difflib.unified_diff(source.splitlines(), mutated.splitlines(), lineterm="", n=0)
                diff = [row for row in changed if row[:1] in "+-" and row[:3] not in ("+++", "---")]
                yield Mutant(name.removeprefix("core/"), line, mutated, diff)


def killed(test: Callable[[], bool], timeout: int) -> bool:
    """Whether a test fails, breaks or takes too long in a process of its own."""
    child = os.fork()
    if child == 0:
        signal.alarm(timeout)
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.dup2(null, 2)
        try:
            os._exit(0 if test() else 1)
        except BaseException:
            os._exit(1)
    return os.waitpid(child, 0)[1] != 0


def by_tests(path: Path, tests: list[str], skip: str) -> Callable[[str], bool]:
    """A test of a mutant's source: these unit tests pass."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    module = ".".join(parts if parts[0] == "conformance" else ("conformance", *parts))
    chosen = ["-k", f"not {skip}"] if skip else []

    def passes(source: str) -> bool:
        class Loader(SourceFileLoader):
            def get_code(self, fullname: str) -> object:
                return compile(source, str(path), "exec", dont_inherit=True)

        class Finder:
            @staticmethod
            def find_spec(name: str, *_: object) -> object:
                if name == module:
                    return importlib.util.spec_from_file_location(name, path, loader=Loader(name, str(path)))
                return None

        sys.meta_path.insert(0, Finder)
        return pytest.main(["-x", "-q", "-p", "no:cacheprovider", "--hypothesis-seed=0", *chosen, *tests]) == 0

    return passes


def predicate_lines(path: Path) -> set[int]:
    """The lines of the functions of a scenario, which are its predicates and their helpers."""
    functions = [node for node in ast.parse(path.read_text()).body if isinstance(node, ast.FunctionDef)]
    return {line for f in functions for line in range(f.body[0].lineno, (f.end_lineno or 0) + 1)}


def by_selftest(path: Path) -> Callable[[str], bool]:
    """A test of a mutant's source: the selftest's demands on its scenario hold, and every mutant engine is caught by
    the guarantees that caught it before. What the engines do does not depend on predicates, so it is computed once."""
    from conformance.execution.packing import packs_of
    from conformance.generation.pool import draw_cases
    from conformance.generation.readings import exercised_by_any_reading
    from conformance.generation.suite import Suite
    from conformance.judgement.evidence import Runs
    from conformance.judgement.reference import reference_traces
    from conformance.model.scenario import Observation, programs_of
    from conformance.plugins.registry import load_engine, load_scenarios, mutant_engine, mutant_ids

    module = importlib.import_module(f"conformance.scenarios.{path.stem}")
    (scenario,) = [s for s in load_scenarios() if s.id == module.SCENARIO.id]
    exercised = exercised_by_any_reading([scenario])
    specified, programs = reference_traces(programs_of([scenario])), programs_of([scenario])
    can = load_engine("reference").capabilities
    checked = [g for g in scenario.guarantees if g.predicate or g.accounting]
    names = {g.id: (g.predicate or g.accounting).__name__ for g in checked}
    reference, engines = [], {}

    def run(engine: str, cases: list) -> Runs:
        runs = Runs()
        for pack in packs_of(cases, can.largest_pack):
            runs.add(pack, load_engine(engine).run(pack, programs))
        return runs

    for seed in range(SEEDS):
        drawn = draw_cases([scenario], WANTED, seed, exercised)
        suite = Suite([scenario], can, drawn, seed, specified).cases
        for program in scenario.programs:
            cases = [case for case in suite if case.program == program]
            reference.append((program, cases, run("reference", cases)))
            for mutant in mutant_ids() if seed == 0 else ():
                runs = run(mutant_engine(mutant), cases)
                unlike = [case for case in cases if runs.traces[case.id] != specified([case])[case.id]]
                engines[mutant, program] = (unlike, runs)

    def against(space: dict[str, object], guarantee: object, cases: list, runs: object) -> tuple[int, bool]:
        """(how often it was put to the test, whether anything speaks against it)."""
        predicate = space[names[guarantee.id]]
        if guarantee.accounting:
            found = [finding for _, run in runs.packs for finding in predicate(run)]
            return len(found), any(isinstance(f, str) for f in found)
        asked = [case for case in cases if not runs.traces[case.id].error]
        found = [finding for case in asked for finding in predicate(Observation(case, runs.traces[case.id]))]
        return len(found), any(isinstance(f, str) for f in found)

    def caught(space: dict[str, object]) -> frozenset[tuple[str, str]]:
        found = set()
        for (mutant, program), (cases, runs) in engines.items():
            for guarantee in checked:
                if guarantee.program == program:
                    try:
                        if against(space, guarantee, cases, runs)[1]:
                            found.add((mutant, guarantee.id))
                    except Exception:
                        pass  # a fault is not a violation
        return frozenset(found)

    baseline = caught(vars(module))

    def passes(source: str) -> bool:
        space: dict[str, object] = {"__name__": module.__name__}
        exec(compile(source, str(path), "exec", dont_inherit=True), space)
        tested = dict.fromkeys(names, 0)
        for program, cases, runs in reference:
            for guarantee in checked:
                if guarantee.program == program:
                    number, accused = against(space, guarantee, cases, runs)
                    if accused:
                        return False
                    tested[guarantee.id] += number
        return all(tested.values()) and caught(space) >= baseline

    assert passes(path.read_text())
    return passes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("module", type=Path, help="the file to mutate; a scenario's predicates are judged by selftest")
    parser.add_argument("tests", nargs="*", help="unit tests; without any, the selftest")
    parser.add_argument("--every", type=int, default=1, help="one mutant in so many, drawn at random with seed 0")
    parser.add_argument("--skip", default="", help="leave out the tests with this in their name")
    parser.add_argument("--timeout", type=int, default=30, help="seconds for a mutant")
    parser.add_argument("--only", type=Path, help="the output of an earlier run: only the survivors of that")
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    path = given.module.resolve()
    lines = predicate_lines(path) if path.parent.name == "scenarios" else None
    all_mutants = list(mutants(path, lines))
    chosen = random.Random(0).sample(all_mutants, len(all_mutants) // given.every)
    chosen.sort(key=lambda m: (m.line, m.operator))
    if given.only:
        survived = [json.loads(row) for row in given.only.read_text().splitlines()]
        wanted = {tuple(row["diff"]) for row in survived if not row["killed"]}
        chosen = [m for m in chosen if tuple(m.diff) in wanted]
    os.chdir(ROOT)
    sys.path.insert(0, str(ROOT))
    os.environ["HYPOTHESIS_STORAGE_DIRECTORY"] = tempfile.mkdtemp()
    import hypothesis.strategies  # noqa: F401  so that no fork imports it anew

    judge = by_tests(path, given.tests, given.skip) if given.tests else by_selftest(path)
    assert not killed(lambda: judge(path.read_text()), 600), "the tests fail on the module as it is"
    with given.out.open("w") as out:
        for mutant in chosen:
            dead = killed(lambda mutant=mutant: judge(mutant.source), given.timeout)
            row = {"line": mutant.line, "operator": mutant.operator, "killed": dead, "diff": mutant.diff}
            print(json.dumps(row), file=out, flush=True)
            if not dead:
                print(f"{given.module}:{mutant.line} {mutant.operator}", *mutant.diff, sep="\n  ", flush=True)
    rows = [json.loads(row) for row in given.out.read_text().splitlines()]
    print(f"{given.module}: {len(all_mutants)} mutants, {len(rows)} run, {sum(r['killed'] for r in rows)} killed")


if __name__ == "__main__":
    main()
