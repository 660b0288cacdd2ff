"""The tables of types say in a word what a cell says in a sentence."""

from __future__ import annotations

import pytest

from conformance.judgement.cell import MatrixCell, Verdict
from conformance.judgement.verdict import fold
from conformance.plugins.registry import load_scenarios
from conformance.reports.grid import Grid
from conformance.reports.page.types import WORDS, tables, word
from conformance.results.record import EngineRecord, RunRecord, ScenarioRecord
from conformance.results.results import Results

H, V, U, X = Verdict.HOLDS, Verdict.VIOLATED, Verdict.UNSUPPORTED, Verdict.UNKNOWN


def cell(verdict, reason="", guarantee="g", engine="spark-x", scenario="s", program="p"):
    return MatrixCell(scenario, program, guarantee, "", engine, verdict, reason, cases=5, violations=int(verdict is V))


@pytest.mark.parametrize(
    ("verdict", "reason", "said"),
    [
        (V, "the int cell of key a refuses 'int 7': ValueError", "refused"),
        (V, "a text into an int: it is not refused, and key a reads null", "stored"),
        (V, 'a fraction into an int: key a has {"integer":"1"} stored', "stored"),
        (V, "e1 of the key '1' found an element of the key '2' in its state", "merged"),
        (V, "the double cell of key a gives 0.1 after 0.25 was written", "changed"),
        (V, "the map cell of key a cannot be read after 'map' was written: KeyError", "unreadable"),
        (V, "e1 of the key '1' found an element of the key '1.0' in its state", "merged"),
        (V, "e2 and e1 share the state of 0.0 and -0.0, e5 and e1 do not", "split"),
        (V, "e2 of the key 'NaN' did not find e1 in its state", "split"),
        (U, "the API has no such type", "–"),
        (X, "no case", "?"),
    ],
)
def test_a_cell_in_a_word(verdict, reason, said):
    assert word(fold([cell(verdict, reason)])) == said
    assert said in WORDS


def test_a_table_has_the_engines_that_can_express_one_of_its_rows():
    [scenario] = load_scenarios(["typed-state"])
    guarantees = [g for g in scenario.guarantees if g.program == "values" and not g.promised][:2]
    engines = {"spark-x": H, "beam-y": U, "reference": H}
    environment = {
        name: EngineRecord(shown_as=name, versions={"spark": "4.3.0"} if name == "spark-x" else {}) for name in engines
    }
    cells = [
        cell(verdict, guarantee=g.id, engine=name, scenario=scenario.id, program="values")
        for name, verdict in engines.items()
        for g in guarantees
    ]
    grid = Grid([Results(RunRecord(), environment, {scenario.id: ScenarioRecord.of(scenario)}, cells)])
    [table] = tables(grid)
    assert [column.name for column in table.columns] == ["spark-x"]
    assert [claim for claim, _ in table.rows] == [g.claim for g in guarantees]
    assert all(found[table.columns[0]][0].strip("()") == "✓" for _, found in table.rows)


def test_there_is_no_table_where_nothing_with_types_was_asked():
    [scenario] = load_scenarios(["value-state"])
    environment = {"spark-x": EngineRecord(shown_as="spark-x")}
    run = Results(RunRecord(), environment, {scenario.id: ScenarioRecord.of(scenario)}, [cell(H, scenario=scenario.id)])
    assert not list(tables(Grid([run])))
