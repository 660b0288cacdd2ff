"""matrix.html: guarantees against engines, one self-contained page that needs neither network nor JavaScript."""

from __future__ import annotations

from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from conformance.guarantees import slug
from conformance.results import Cell, Results
from conformance.witnesses import Witness
from reports.words import (
    MEANINGS,
    SYMBOLS,
    agreed,
    counted,
    coverage_line,
    difference_lines,
    differing,
    inapplicable,
    keeps_promise,
    not_run,
    partly,
    replay_command,
    survived,
    with_reference,
    witness_lines,
)

TEMPLATES = Environment(
    loader=PackageLoader("reports", "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)


def render(results: Results) -> str:
    """The page. Everything in it comes from ``results``."""
    folded = results.folded()
    witnesses = {name: Witness.from_json(data) for name, data in results.witnesses.items()}
    scenarios = [
        {
            "id": scenario,
            **texts,
            "rows": [
                {
                    "id": row[1],
                    **texts["guarantees"][row[1]],
                    "columns": [
                        [_entry(results, cells[engine], witnesses) for engine in engines if engine in cells]
                        for engines in results.columns.values()
                    ],
                }
                for row, cells in folded.items()
                if row[0] == scenario
            ],
        }
        for scenario, texts in results.scenarios.items()
    ]
    totals = [
        {
            "engine": engine,
            **results.environment[engine],
            "counts": counted(cells[engine] for cells in folded.values() if engine in cells),
        }
        for engine in results.engines
    ]
    return TEMPLATES.get_template("matrix.html.j2").render(
        run=results.run,
        engines=results.engines,
        columns=list(results.columns),
        scenarios=scenarios,
        totals=totals,
        survivals=_survivals(results),
        agreements=_agreements(results),
        compared_with=list(dict.fromkeys(a["right"] for a in results.agreements if not with_reference(a))),
        not_run=not_run(results),
        meanings=[(verdict.value, SYMBOLS[verdict], meaning) for verdict, meaning in MEANINGS.items()],
    )


def _survivals(results: Results) -> list[dict[str, Any]]:
    """Rows of the table of equivalences: a program under a perturbation, and what each engine showed."""
    rows: dict[tuple[str, str, str], dict[str, Any]] = {}
    for survival in results.survivals:
        key = (survival["scenario"], survival["program"], survival["perturbation"])
        row = rows.setdefault(key, {**survival, "name": results.scenarios[key[0]]["name"], "engines": {}})
        row["engines"][survival["engine"]] = {
            **survival,
            "word": survived(survival),
            "kept": keeps_promise(survival),
            "partly": partly(survival),
            "apart": inapplicable(survival),
        }
    return list(rows.values())


def _agreements(results: Results) -> dict[str, dict[str, dict[str, dict[str, Any]]]]:
    """Program -> engine -> the other engine, or "" for the reference that reads *late* as the first does -> a cell of
    the table of agreements."""
    programs: dict[str, dict[str, dict[str, dict[str, Any]]]] = {}
    for number, agreement in enumerate(results.agreements, 1):
        program = f"{results.scenarios[agreement['scenario']]['name']} ({agreement['program']})"
        row = programs.setdefault(program, {}).setdefault(agreement["left"], {})
        row["" if with_reference(agreement) else agreement["right"]] = {
            **agreement,
            "anchor": f"agreement-{number}",
            "word": agreed(agreement),
            "differing": differing(agreement),
            "lines": "\n".join(difference_lines(agreement)),
        }
    return programs


def _entry(results: Results, cell: Cell, witnesses: dict[str, Witness]) -> dict[str, Any]:
    witness = witnesses.get(cell.witness)
    return {
        "anchor": "cell-" + "-".join(slug(part) for part in (cell.engine, cell.scenario, cell.guarantee)),
        "cell": cell,
        "idiom": results.environment[cell.engine]["idiom"],
        "symbol": SYMBOLS[cell.verdict],
        "word": cell.verdict.value,
        "parts": [(part, SYMBOLS[part.verdict]) for part in results.of(cell.row, cell.engine)],
        "coverage": coverage_line(cell),
        "witness": "\n".join(witness_lines(witness)) if witness else "",
        "events": len(witness.case.schedule.arrivals) if witness else 0,
        "replay": replay_command(cell.witness) if witness else "",
    }
