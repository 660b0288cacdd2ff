"""Results in which every text that comes from users' files tries to be something else."""

from conformance.agreement import Agreement, Difference, Grade, specified_for
from conformance.equivalence import Equivalence
from conformance.model import Advance, Case, Deliver, Emission, Event, Schedule, Trace
from conformance.results import Cell, Results, Verdict
from conformance.witnesses import Witness

EVIL = '<script>alert("x")</script> | `](javascript:1) \x07 [red]*'
ODD = f"odd {EVIL}"
"""An engine's name."""

SCHEDULE = Schedule((Advance(0, 1_000), Deliver(1, (Event(EVIL, EVIL, EVIL, 1_000),)), Advance(2, 9_000)))
TRACE = Trace((Emission(EVIL, {EVIL: EVIL}, 1),))


def agreement(left, right, differ, cases=9):
    """Of nine cases, some are the same multiset and no more."""
    grades = [Grade(Equivalence.IDENTICAL, cases - differ, differ), Grade(Equivalence.SAME_MULTISET, cases, 0)]
    case = Case("s", EVIL, SCHEDULE)
    smallest = Difference(case, TRACE, Trace(())) if differ else None
    return Agreement("s", EVIL, left, right, cases, tuple(grades), min(differ, 1), smallest).to_json()


def hostile_results():
    witness = Witness("g", EVIL, Case("s", "p", SCHEDULE), None, "spark-tws", {"spark": EVIL}, EVIL, TRACE, Trace(()))
    cells = [
        Cell(
            "s",
            "p",
            "g",
            "as drawn",
            engine,
            verdict,
            EVIL,
            cases=3,
            clocks=2,
            witness=name,
            notes=(EVIL,),
            coverage={EVIL: 2},
        )
        for engine, verdict, name in [
            ("spark-tws", Verdict.VIOLATED, witness.id),
            ("beam-direct", Verdict.HOLDS, ""),
            ("beam-fnapi", Verdict.UNSUPPORTED, ""),
            (ODD, Verdict.ERROR, ""),
            ("slow", Verdict.UNKNOWN, ""),
        ]
    ]
    entry = {"title": EVIL, "versions": {"x": EVIL}, "lateness": {"global window": EVIL, "fixed windows": EVIL}}
    entry |= {"idiom": EVIL, "packs": {"run": 1, "drawn": 2}}
    feature = {"how": "emulated", "note": EVIL, "evidence": EVIL}
    run = {
        "harness": "0",
        "seed": 1,
        "wanted": 2,
        "cases": 3,
        "cases_digest": "",
        "clocks": 2,
        "partial": True,
        "stored_witnesses": "",
        "options": {},
    }
    return Results(
        run=run,
        environment={
            c.engine: {**entry, "column": c.engine, "features": {EVIL: feature}, "failure": EVIL} for c in cells
        },
        scenarios={
            "s": {
                "name": EVIL,
                "summary": EVIL,
                "guarantees": {"g": {"claim": EVIL, "program": EVIL, "source": EVIL, "quote": EVIL, "url": EVIL}},
            }
        },
        cells=cells,
        agreements=[
            agreement("spark-tws", "beam-direct", 2),
            agreement("spark-tws", specified_for("spark-tws"), 0),
            agreement("spark-tws", "slow", 0, cases=0),
            agreement("beam-direct", specified_for("beam-direct"), 4),
        ],
        witnesses={witness.id: witness.to_json()},
    )
