"""What is asked of a subject on Spark, beside what is asked of all: settings, stores, files, plans, Spark Connect."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from conformance.engines.spark.plans.settings import HDFS, ROCKSDB
from conformance.engines.spark.subjects.sinks import ASKS, CACHES
from conformance.engines.spark.subjects.table import MIDWAY
from conformance.subjects import questions
from conformance.subjects.questions import Question, Run
from conformance.subjects.rows import BATCHES, by_turns
from conformance.subjects.setup import Setup

if TYPE_CHECKING:
    from conformance.subjects.questions import Asked

CONNECT = "Spark Connect"
"""Where a run of a question is made; all others are made in a classic session."""


def _other_store(asked: Asked) -> Any:
    in_rocksdb = ROCKSDB.items() <= asked.subject.settings.items()
    yield Run(asked.delivery, Setup(settings=HDFS if in_rocksdb else ROCKSDB))


def _files(asked: Asked) -> Any:
    yield Run(asked.delivery, Setup(files=2))


def _scheduled(asked: Asked) -> Any:
    delivery = (*by_turns(asked.data, BATCHES), *asked.closing)
    yield Run(delivery, Setup(restarts=tuple(range(1, len(delivery))), sparse=True))


def _sink(asked: Asked) -> Any:
    yield Run(asked.delivery, Setup(sink=CACHES))
    yield Run(asked.delivery, Setup(sink=ASKS))


def _retry(asked: Asked) -> Any:
    yield Run(asked.delivery, Setup(retries=True))


def _trigger(asked: Asked) -> Any:
    yield Run(asked.delivery, Setup(goes_on=True))


def _connected(asked: Asked) -> Any:
    yield Run(asked.delivery, Setup(where=CONNECT))
    yield Run(asked.delivery, Setup(where=CONNECT, begun=max(1, (len(asked.delivery) - len(asked.closing)) // 2)))


QUESTIONS = (
    questions.AGAIN,
    questions.ORDER,
    questions.SPLITS,
    questions.EMPTY,
    questions.THROUGH,
    questions.OTHERS,
    questions.RESTART,
    questions.FAILURE,
    MIDWAY,
    Question(
        "scheduled",
        "A query that is started for each micro-batch, and finds no file of an input without rows there, gives the "
        "same answer.",
        _scheduled,
        fair=questions.in_the_same_batches,
    ),
    questions.TIME,
    questions.setting(
        "partitions",
        "State in three partitions, not in two, gives the same answer.",
        {"spark.sql.shuffle.partitions": "3"},
    ),
    Question(
        "store",
        "The other state store (RocksDB, or HDFSBackedStateStore) gives the same answer.",
        _other_store,
        refusable=True,
        layer=True,
    ),
    Question("files", "The rows of a micro-batch in two files, not in one, give the same answer.", _files, layer=True),
    questions.setting(
        "codegen",
        "Operators that Spark interprets, and does not compile, give the same answer.",
        {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"},
    ),
    Question(
        "sink",
        "A sink that caches the rows of a micro-batch, or first asks whether it has any, gets the same answer.",
        _sink,
        layer=True,
    ),
    Question(
        "retry",
        "Tasks that fail once behind their last row, and are tried again within the micro-batch, change nothing.",
        _retry,
        layer=True,
    ),
    Question(
        "trigger",
        "A query that goes on (a trigger by processing time), and does not end with its input, gives the same answer.",
        _trigger,
        layer=True,
    ),
    Question(
        "connect",
        "A query that goes through Spark Connect, or goes on so from the checkpoint of a classic session, gives the "
        "same answer.",
        _connected,
        refusable=True,
    ),
    questions.LATE,
    questions.ADMITTED,
    questions.ONCE,
    questions.STATE,
    questions.BOUNDED,
    questions.NEXT,
)
