"""Results of guarantees of one scenario, by what they say on each engine."""

from conformance.judgement.cell import MatrixCell, Verdict
from conformance.results.record import EngineRecord, GuaranteeRecord, RunRecord, ScenarioRecord
from conformance.results.results import Results

H, V, U = Verdict.HOLDS, Verdict.VIOLATED, Verdict.UNSUPPORTED


def run(verdicts, native=()):
    """Results of guarantees g0, g1, … of one scenario: engine -> a verdict for each."""
    number = max(map(len, verdicts.values()))
    versions = {"spark": "4.3.0", "beam": "2.77.0"}
    environment = {}
    for engine in verdicts:
        name = engine.partition("-")[0]
        of = {name: versions[name]} if name in versions else {"python": "3"}
        environment[engine] = EngineRecord(shown_as=engine, versions=of, native_operator="op" * (engine in native))
    cells = [
        MatrixCell("s", "p", f"g{n}", "as drawn", engine, verdict, "why", cases=5, violations=int(verdict is V))
        for engine, found in verdicts.items()
        for n, verdict in enumerate(found)
    ]
    texts = {f"g{n}": GuaranteeRecord(f"claim {n}", "p") for n in range(number)}
    return Results(RunRecord(), environment, {"s": ScenarioRecord("a scenario", "", texts)}, cells)
