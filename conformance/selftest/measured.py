"""Measures power: every mutant runs on the very suite of an engine, in this process.

A mutant counts as caught if a case speaks against a guarantee. Nothing runs alone.
"""

from collections.abc import Callable, Iterable

from conformance.model.scenario import Scenario
from conformance.plugins.registry import load_engine
from conformance.run.drawing import batches, drawing_here
from conformance.run.processes import answers, workers
from conformance.selftest.bench import Bench, Found
from conformance.selftest.power import Asked, Power


def powers_of(
    names: Iterable[str],
    scenarios: Iterable[Scenario],
    mutants: Iterable[str],
    asked: Asked,
    progress: Callable[[str], None] = lambda text: None,
    processes: int = 1,
) -> list[Power]:
    """The power of a run on each of the engines with these options: every mutant runs on the suite of that engine, in
    so many processes side by side."""
    names, scenarios, mutants, powers = list(names), list(scenarios), list(mutants), list[Power]()
    for name in names:  # an unknown one is said before any case is drawn
        load_engine(name)
    with workers(drawing_here(scenarios), processes) as draw:
        drawn = list(batches(scenarios, asked.wanted, asked.seed, draw))
    for name in names:
        found, packs, number = dict.fromkeys(mutants, Found()), 0, 0
        for cases in drawn:
            bench = Bench(scenarios, name, cases, asked.seed)
            packs, number = packs + len(bench.packs), number + len(bench.cases)
            left = [mutant for mutant in mutants if not found[mutant].broken]
            for mutant, more in zip(left, answers(bench.found, left, processes), strict=True):
                found[mutant] = more.after(found[mutant])
                progress(f"{name}: mutant {mutant}: {'caught' if more.broken else 'not caught'}")
        caught = {mutant: min(said.broken) for mutant, said in found.items() if said.broken}
        missed = tuple(mutant for mutant, said in found.items() if said.seen and not said.broken)
        hidden = tuple(mutant for mutant, said in found.items() if not said.seen)
        powers.append(Power(name, asked, packs, number, caught, missed, hidden))
    return powers
