"""Results in which every text that comes from users' files tries to be something else."""

from dataclasses import replace

from conformance.judgement.agreement import Agreement, AgreementGrade, Difference, specified_for
from conformance.judgement.cell import MatrixCell, Verdict
from conformance.model.case import Case
from conformance.model.equivalence import Equivalence
from conformance.model.schedule import Advance, Deliver, Event, Schedule
from conformance.model.trace import Emission, Trace
from conformance.results.record import (
    EngineRecord,
    FeatureRecord,
    GuaranteeRecord,
    LatenessRecord,
    PacksRecord,
    RunRecord,
    ScenarioRecord,
)
from conformance.results.results import Results
from conformance.results.subject import AnswerRecord, SubjectRecord
from conformance.results.witness import Witness

EVIL = '<script>alert("x")</script> | `](javascript:1) \x07 [red]*'
ODD = f"odd {EVIL}"
"""An engine's name."""

SCHEDULE = Schedule((Advance(0, 1_000), Deliver(1, (Event(EVIL, EVIL, EVIL, 1_000),)), Advance(2, 9_000)))
TRACE = Trace((Emission(EVIL, {EVIL: EVIL}, 1),))


def agreement(left, right, differ, cases=9):
    """Of nine cases, some are the same multiset and no more."""
    grades = [
        AgreementGrade(Equivalence.IDENTICAL, cases - differ, differ),
        AgreementGrade(Equivalence.SAME_MULTISET, cases, 0),
    ]
    case = Case("s", EVIL, SCHEDULE)
    smallest = Difference(case, TRACE, Trace(())) if differ else None
    return Agreement("s", EVIL, left, right, cases, tuple(grades), min(differ, 1), smallest)


def hostile_results():
    witness = Witness("g", EVIL, Case("s", "p", SCHEDULE), None, "spark-tws", {"spark": EVIL}, EVIL, TRACE, Trace(()))
    cells = [
        MatrixCell(
            "s",
            "p",
            "g",
            "as drawn",
            engine,
            verdict,
            EVIL,
            cases=3,
            timelines=2,
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
    record = EngineRecord(
        title=EVIL,
        native_operator=EVIL,
        versions={"x": EVIL},
        lateness=LatenessRecord(EVIL, EVIL),
        features={EVIL: FeatureRecord("emulated", EVIL, EVIL)},
        packs=PacksRecord(1, 2),
        failure=EVIL,
    )
    return Results(
        run=RunRecord("0", 1, wanted=2, cases=3, timelines=2, partial=True),
        environment={c.engine: replace(record, shown_as=c.engine) for c in cells},
        scenarios={"s": ScenarioRecord(EVIL, EVIL, {"g": GuaranteeRecord(EVIL, EVIL, EVIL, EVIL, EVIL)})},
        cells=cells,
        agreements=[
            agreement("spark-tws", "beam-direct", 2),
            agreement("spark-tws", specified_for("spark-tws"), 0),
            agreement("spark-tws", "slow", 0, cases=0),
            agreement("beam-direct", specified_for("beam-direct"), 4),
        ],
        witnesses={witness.id: witness},
        subjects=[
            SubjectRecord(
                f"{ODD}-subjects",
                EVIL,
                EVIL,
                {"x": EVIL},
                EVIL,
                (
                    AnswerRecord(EVIL, Verdict.VIOLATED, EVIL, 1, 2, EVIL, EVIL),
                    AnswerRecord("", Verdict.ERROR, why=EVIL),
                ),
            )
        ],
    )
